"""A whole store into another: every ledger verified before and after, everything beside them the same."""

from collections.abc import AsyncIterator, Callable
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.handlers.ledger import verify_session
from beliefd.stores.base import Foreign, SessionRow, Store
from beliefd.stores.moving import Moved, copy_all, refuse_foreign
from beliefd.stores.opening import open_target

PAGE: Final = 500
PASSES: Final = 5
"""So often a source that grows meanwhile is gone through; then somebody must stop what writes to it."""
Progress = Callable[[int], None]


class Verdict:
    """How many ledgers and events were found to hold, on either side."""

    def __init__(self) -> None:
        self.sessions = 0
        self.events = 0


async def verify_all(store: Store, side: str) -> Verdict:
    """Every ledger of a store: hashes, links and decisions; the first that does not hold is named."""
    verdict = Verdict()
    async for row in _sessions(store):
        answer = await verify_session(store, row.session_id)
        if answer.first_bad is not None:
            bad = answer.first_bad
            raise BeliefdError(
                Code.LEDGER_BROKEN,
                f"in the {side}, session `{row.session_id}` does not hold: event {bad.seq}: {bad.reason};"
                " nothing more was moved",
            )
        verdict.sessions += 1
        verdict.events += answer.checked
    return verdict


async def move(source: Store, target: Store, progress: Progress = lambda _: None) -> tuple[Moved, Verdict]:
    """Verify the source, copy, go through it again until nothing is left to do, verify the target.

    INVARIANT: when it returns, every row of every table was seen to be the same on both sides.
    """
    await verify_all(source, "source")
    try:
        await refuse_foreign(source, target)
        moved = await copy_all(source, target, progress)
        for _ in range(PASSES):
            again = await copy_all(source, target)
            if again.nothing:
                return moved, await verify_all(target, "target")
    except Foreign as error:
        raise _somebody_elses(error) from None
    raise BeliefdError(
        Code.CONFLICT, "the source changes while it is read: stop what writes to it, and run this again"
    )


async def opened_target(name: str) -> Store:
    """What everything is to be moved into, if nobody else keeps anything there."""
    try:
        return await open_target(name)
    except Foreign as error:
        raise _somebody_elses(error) from None


def _somebody_elses(error: Foreign) -> BeliefdError:
    return BeliefdError(
        Code.CONFLICT, f"the target is not empty, and not of this source: {error}; take an empty one"
    )


async def _sessions(store: Store) -> AsyncIterator[SessionRow]:
    after: str | None = None
    while rows := await store.sessions(after, PAGE):
        for row in rows:
            yield row
        after = rows[-1].session_id
