"""What handlers of several vocabularies need: bodies as they will be recorded, pages, views."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.errors import invalid
from beliefd.protocol.operation import Answer
from beliefd.steward.call import Call

T = TypeVar("T")
A = TypeVar("A", bound=Answer)


def as_recorded(body: Any) -> Any:
    """A body as it will stand in the ledger, in copies of our own.

    INVARIANT: what is judged is what is recorded; no Python value and no later change by its owner tells them
    apart.
    """
    try:
        return msgspec.json.decode(canonical(body))
    except NotCanonical as error:
        raise invalid(error.message, error.path) from None


def page(
    items: Iterable[T],
    call: Call,
    name: Callable[[T], str],
    claim: Callable[[T], str] = lambda one: str(getattr(one, "claim_id")),  # noqa: B009
) -> tuple[list[T], str | None]:
    """The asked-for page of items, by name, and the cursor of the next one."""
    cursor, wanted = call.query["cursor"], call.query.get("claim_id")
    found = sorted(
        (
            one
            for one in items
            if (wanted is None or claim(one) == wanted) and (cursor is None or name(one) > cursor)
        ),
        key=name,
    )
    return cut(found, call.query["limit"], name)


def cut(found: list[T], limit: int, name: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The first so many, and the name of the last of them if there are more."""
    return found[:limit], name(found[limit - 1]) if len(found) > limit else None


def view_of(kind: type[A], one: Any, **rest: Any) -> A:
    """An answer with the members of `one` that it shares, and the rest as told."""
    shared: dict[str, Any] = {
        name: getattr(one, name) for name in kind.__struct_fields__ if name not in rest and hasattr(one, name)
    }
    answer: A = kind(**shared, **rest)
    return answer
