"""What handlers of several vocabularies need: bodies as they will be recorded, pages, views."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.errors import invalid
from beliefd.protocol.beliefs import ArchivedSession
from beliefd.protocol.operation import Answer
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.offload import HEAVY_BYTES, offload
from beliefd.stores.archives import Archived

T = TypeVar("T")
V = TypeVar("V")
PAGE_BYTES: Final = 4 << 20
"""A page ends with the item that makes it longer than this, however many items were asked for."""
_encode = msgspec.json.Encoder().encode
A = TypeVar("A", bound=Answer)


async def read(call: Call, reading: Callable[[Any, dict[str, str]], T]) -> T:
    """What a function makes of a call's body and path; beside the event loop, if the body is large."""
    return await offload(call.size > HEAVY_BYTES, reading, call.body, call.path, kind="parse")


async def read_as(call: Call, kind: type[T]) -> T:
    """A call's body as it will be recorded, in the form that its operation takes."""
    return await read(call, lambda body, path: convert(bind(as_recorded(body), path), kind))


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


class Room:
    """How much more a page may hold, in bytes."""

    def __init__(self) -> None:
        self._left = PAGE_BYTES

    def is_filled_by(self, view: object) -> bool:
        """Put it on the page; True if it is the last one."""
        return self.is_filled_with(len(_encode(view)))

    def is_filled_with(self, size: int) -> bool:
        self._left -= size
        return self._left <= 0


def filling(views: Iterable[V], names: Sequence[str], after: str | None) -> tuple[list[V], str | None]:
    """As many of the views as a page may hold, one at least, and the name to go on from.

    `names` are theirs; `after` is the name to go on from if all of them fit.
    """
    room, taken = Room(), []
    for view, name in zip(views, names, strict=True):
        taken.append(view)
        if room.is_filled_by(view) and name != names[-1]:
            return taken, name
    return taken, after


async def page_filled(
    names: Sequence[str], view: Callable[[str], Awaitable[V]], after: str | None
) -> tuple[list[V], str | None]:
    """The same where each view has to be waited for: none is made for nothing."""
    room, taken = Room(), []
    for name in names:
        taken.append(made := await view(name))
        if room.is_filled_by(made) and name != names[-1]:
            return taken, name
    return taken, after


def view_of(kind: type[A], one: Any, **rest: Any) -> A:
    """An answer with the members of `one` that it shares, and the rest as told."""
    shared: dict[str, Any] = {
        name: getattr(one, name) for name in kind.__struct_fields__ if name not in rest and hasattr(one, name)
    }
    answer: A = kind(**shared, **rest)
    return answer


def archived_view(stub: Archived) -> ArchivedSession:
    return ArchivedSession(
        session_id=stub.session_id,
        events=stub.head.seq,
        head=stub.head,
        place=stub.place,
        file_sha256=stub.file_sha256,
        archived_at=stub.at,
        archived_by=stub.by,
    )
