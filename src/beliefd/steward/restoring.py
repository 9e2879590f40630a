"""A copy of a store as it was at an earlier time, and the word of it in the server's own ledger."""

from pathlib import Path

from beliefd.kernel.state import has_ended
from beliefd.kernel.system.commands import RestoreStore
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head
from beliefd.ledger.replay import Position, fold
from beliefd.steward import log_repair
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.projections.rebuilding import rebuild, remove_strays
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.stores.opening import open_store
from beliefd.stores.sqlite.cutting import Cut, cut, reopen


async def cut_to(path: Path, at: str) -> Cut:
    """Leave out of a file that nobody uses what came after `at`, and build anew what is derived.

    INVARIANT: the server's own ledger stays whole. It says which tokens were revoked and which ledgers came
    from elsewhere: without its end, the one would be valid again, and the other authority.
    """
    done, shortened = cut(path, at, SYSTEM)
    store = await open_store(str(path))
    try:
        for session_id in shortened:
            await rebuild(store, session_id)
        await remove_strays(store)
        await log_repair.rebuild(store)
        ended = [session_id for session_id, had_ended in shortened.items() if had_ended]
        again = [session_id for session_id in ended if not await _has_ended(store, session_id)]
    finally:
        await store.close()
    reopen(path, again)
    return done


async def _has_ended(store: Store, session_id: str) -> bool:
    position: Position | None = None
    async for chunk in store.stream(session_id, 0):
        position = fold(chunk, position)
    return position is not None and has_ended(position.session)


async def note_restored(store: Store, seen: Head | None, at: str, left_out: int) -> None:
    """Have on record that the store was put back to `at`; `seen` is what was known of its own ledger."""
    system = bootstrap(store).system
    await system.begin()
    head = await store.head(SYSTEM)
    if head is None:
        raise StorageUnavailable("the server's own ledger cannot be begun")
    command = RestoreStore(seen=seen or head, found=head.seq, at=at, left_out=left_out)
    await system.record(command, LOCAL_OPERATOR)
