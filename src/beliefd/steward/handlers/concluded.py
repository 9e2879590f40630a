"""What accepted conclusions rested on: read from the ledger when it is asked for, and kept to read on."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.concluded import Resting
from beliefd.ledger.envelope import Sealed, read_links
from beliefd.ledger.replay import Position
from beliefd.protocol.beliefs import RestsOn
from beliefd.protocol.snapshots import conclusions_rest_on
from beliefd.steward.chains import Chains
from beliefd.steward.offload import in_pool
from beliefd.wanted import check_wanted, tell_read

MAX_SESSIONS: Final = 1_000
MAX_CONCLUSIONS: Final = 1_000
"""Of a session that accepted more, the ledger is read anew each time."""


class Known(Struct):
    """What was read of a ledger, up to an event."""

    seq: int
    resting: Resting


class Conclusions:
    """What each conclusion of a session rested on. INVARIANT: a ledger that grows is read on, not again."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._known: dict[str, Known] = {}

    async def resting(self, position: Position, names: Collection[str]) -> dict[str, RestsOn]:
        """Of these accepted conclusions, what the session rested on when it accepted them last."""
        if not names:
            return {}
        session_id, head = position.session.session_id, position.head
        known = self._known.get(session_id)
        if known is None or known.seq > head.seq:
            known = Known(0, Resting())
        # Somebody else may ask at the same moment: each reads into a copy of his own.
        told = replace(known.resting, by_name=dict(known.resting.by_name))
        async for chunk in self._chains.stream(session_id, known.seq, head.seq):
            await in_pool("question", _take, chunk, told)
        self._keep(session_id, Known(head.seq, told))
        if position.due is not None:
            told = replace(told)
            told.unsee()
        return conclusions_rest_on(names, told)

    def _keep(self, session_id: str, known: Known) -> None:
        before = self._known.pop(session_id, None)
        if before is not None and before.seq > known.seq:
            known = before
        if len(known.resting.by_name) > MAX_CONCLUSIONS:
            return
        self._known[session_id] = known
        if len(self._known) > MAX_SESSIONS:
            del self._known[next(iter(self._known))]


def _take(chunk: list[Sealed], told: Resting) -> None:
    check_wanted()
    for link in read_links([one.record for one in chunk]):
        told.take(link.delta)
    tell_read(chunk[-1].seq)
