"""What handlers of several vocabularies need: bodies as they will be recorded, and pages."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.errors import invalid
from beliefd.steward.call import Call

T = TypeVar("T")


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
    cursor, limit, wanted = call.query["cursor"], call.query["limit"], call.query["claim_id"]
    found = sorted(
        (
            one
            for one in items
            if (wanted is None or claim(one) == wanted) and (cursor is None or name(one) > cursor)
        ),
        key=name,
    )
    return found[:limit], name(found[limit - 1]) if len(found) > limit else None
