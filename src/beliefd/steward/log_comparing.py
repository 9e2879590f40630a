"""New leaves compared with the stored events, before a checkpoint is signed over them.

Compared are the events that got a leaf since the checkpoint before, and of each session among them the event
that comes right before: what somebody put in the place of an older one is so found when it is built upon. An
old session that nobody adds to is not looked at, and neither are archived ones: the scrub does that.
"""

from collections.abc import Sequence
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.verify import FirstBad
from beliefd.steward.log import LOOK, Log
from beliefd.stores.base import CHUNK_BYTES
from beliefd.stores.log import Run

RUNS: Final = 2_000
"""So many are taken together: a session that grew often since has one reading, and not one per run."""
ENTRIES: Final = 2_000


async def refuse_contradicted(tree: Log, first: int, size: int) -> None:
    """Raise unless the events that are the leaves from `first` to `size` are there, as they were logged.

    INVARIANT: what a checkpoint newly covers, it covers as it is stored.
    """
    at = first
    while at < size:
        runs = [run for run in await tree.store.runs(at, RUNS) if run.first_leaf < size]
        at = await _refuse_gaps(runs, at)
        for session_id, (seq, last) in _spans(runs).items():
            bad = await _contradicted(tree, session_id, max(seq - 2, 0), last)
            if bad is not None:
                where = f"event {bad.seq} ({bad.event_id or 'missing'}) of session {session_id}"
                raise BeliefdError(Code.LEDGER_BROKEN, f"no checkpoint is signed: {where}: {bad.reason}")


async def _refuse_gaps(runs: Sequence[Run], at: int) -> int:
    """Where these end, if they follow each other."""
    for run in runs:
        if run.first_leaf != at:
            break
        at += run.length
    else:
        if runs:
            return at
    text = f"no checkpoint is signed: leaf {at} of the log leads to no event{LOOK}"
    raise BeliefdError(Code.LEDGER_BROKEN, text)


def _spans(runs: Sequence[Run]) -> dict[str, tuple[int, int]]:
    """By session, its first and last event in these; a session has its leaves in order."""
    spans: dict[str, tuple[int, int]] = {}
    for run in runs:
        first, _ = spans.get(run.session_id, (run.first_seq, 0))
        spans[run.session_id] = first, run.last_seq
    return spans


async def _contradicted(tree: Log, session_id: str, after: int, last: int) -> FirstBad | None:
    while after < last:
        chunk = await tree.store.entries(session_id, after, min(ENTRIES, last - after), CHUNK_BYTES)
        if not chunk or chunk[-1].seq != after + len(chunk):
            if await tree.store.archived(session_id) is not None:
                return None
            there = {one.seq for one in chunk}
            return await tree.cut_off(
                session_id, next(seq for seq in range(after + 1, last + 1) if seq not in there)
            )
        if (bad := await tree.contradicted(session_id, chunk)) is not None:
            return bad
        after = chunk[-1].seq
    return None
