"""Whether there is room for a command in the state of its session, during one turn."""

from collections.abc import Sequence
from typing import Final

from beliefd.kernel.commands import Command
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal
from beliefd.ledger.envelope import Sealed
from beliefd.steward.offload import in_pool
from beliefd.steward.write.positions import Positions, pack
from beliefd.steward.write.room import SHARES, fills, session_is_full, share_is_full
from beliefd.steward.write.sizes import Size, part_of, tally, weighed

SLACK: Final = 64
"""A state is weighed anew once it may have grown by so many-th part of what it may have."""


class Room:
    """INVARIANT: the state of one session, and what one principal makes of it, are bounded."""

    def __init__(self, session_id: str, positions: Positions, limit: int) -> None:
        self._session_id = session_id
        self._positions = positions
        self._limit = limit
        self._known: Size | None = None
        self._counted = 0
        """So many entries of the turn are in what is known."""

    async def refuse_if_full(
        self, session: Session | None, command: Command, who: Principal, seq: int, entries: Sequence[Sealed]
    ) -> None:
        """`entries` are what the turn has come to so far, after event `seq`."""
        if session is None or not fills(command, who):
            return
        share = self._limit // SHARES
        size = await self._size(session, share, entries)
        if size > self._limit:
            raise session_is_full(size, self._limit)
        if size <= share:
            return
        counts = await self._positions.authors.of(self._session_id, seq)
        tally(counts, [entry.record for entry in entries])
        if (own := part_of(size, counts, who.id)) > share:
            raise share_is_full(who, own, share)

    async def _size(self, session: Session, enough: int, entries: Sequence[Sealed]) -> int:
        """How large the state is, exactly enough to turn somebody away if it has more than `enough`."""
        known = self._known or self._positions.sizes.of(self._session_id)
        if known is not None:
            known = known.grown(sum(len(entry.record) for entry in entries[self._counted :]))
        if known is None or (known.bytes > enough and known.is_stale(self._limit // SLACK)):
            known = weighed(len((await in_pool("fold", pack, session, 0)).state))
            if not entries and self._positions.cached(self._session_id) is not None:
                self._positions.sizes.put(self._session_id, known)
        self._known, self._counted = known, len(entries)
        return known.bytes if known.weighed is None or known.bytes <= enough else known.weighed
