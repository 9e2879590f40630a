"""Content that no ledger mentions: found, and removed, while others go on writing.

All ledgers are read once per round, in chunks, and then what was written meanwhile. Content is removed in
transactions that no append can overtake and that read the very last records themselves. What somebody looks
at to decide something, and what is removed before the decision is written, is looked for again: the append
that rests on it is refused (`Append.rests_on`).
"""

from collections.abc import Callable
from typing import Final

from beliefd.steward.projections.rebuilding import all_sessions
from beliefd.stores.base import Store
from beliefd.stores.citations import Uncited
from beliefd.stores.content import KeptContent

ROUND: Final = 100_000
"""So many hashes are looked for at once: what is held in memory does not grow with what is stored."""
AT_ONCE: Final = 500
"""So many are removed in one transaction: appends wait for it."""
FEW: Final = 1_000
"""So many records can be read while appends wait."""
MOST_PASSES: Final = 10
Progress = Callable[[int], None]
"""Called with the number of records that were read since the last call."""


async def collect(
    store: Store, before: str, *, dry_run: bool = False, progress: Progress = lambda _: None
) -> list[KeptContent]:
    """Remove what was last brought before a time and is cited by no record, and say what that was.

    A dry run removes nothing, and says what it would have removed.
    """
    found: list[KeptContent] = []
    after: str | None = None
    while candidates := await store.content_before(before, after, ROUND):
        after = candidates[-1].sha256
        uncited = Uncited(one.sha256 for one in candidates)
        await read_ledgers(store, uncited, progress)
        uncited.left -= await store.cited_in_archives(uncited.left)
        left = [one for one in candidates if one.sha256 in uncited.left]
        found += left if dry_run else await _remove(store, left, before, uncited)
    return found


async def read_ledgers(store: Store, uncited: Uncited, progress: Progress) -> None:
    """Read all records, and then those that came meanwhile, until few are left."""
    for _ in range(MOST_PASSES):
        if not uncited.left or await _read_on(store, uncited, progress) <= FEW:
            return


async def _read_on(store: Store, uncited: Uncited, progress: Progress) -> int:
    count = 0

    def take(records: list[bytes]) -> None:
        nonlocal count
        uncited.take(records)
        count += len(records)
        progress(len(records))

    async for row in all_sessions(store):
        for session_id, known, seq in uncited.unread([(row.session_id, row.head.seq)]):
            await store.replay(session_id, known, seq, take)
            uncited.read_upto[session_id] = seq
    return count


async def _remove(store: Store, left: list[KeptContent], before: str, uncited: Uncited) -> list[KeptContent]:
    removed: list[KeptContent] = []
    for start in range(0, len(left), AT_ONCE):
        hashes = [one.sha256 for one in left[start : start + AT_ONCE]]
        removed += await store.remove_content(hashes, before, uncited)
    return removed
