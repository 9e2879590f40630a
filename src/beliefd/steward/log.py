"""The log of a store: giving leaves to entries, and the roots and proofs that come of it."""

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger import merkle
from beliefd.ledger.checkpoints import refuse_smaller
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.merkle import HASH_BYTES, TILE_WIDTH, BadProof, Range, Tiles
from beliefd.ledger.notes import Checkpoint
from beliefd.ledger.verify import FirstBad
from beliefd.steward.offload import is_heavy, offload
from beliefd.stores.base import Store

AT_ONCE: Final = 4_096
"""So many entries get their leaves in one transaction."""
PAGE: Final = 1_000
LOOK: Final = "; look with `beliefd log check`"
REPAIR: Final = f"{LOOK}, and put it right with `beliefd log rebuild`"


class Log:
    """What a store's tree shows. All of it is computed from few tiles, however long the log is."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def catch_up(self, share: float = 0.0) -> int:
        """Give leaves to everything that has none; how many got one. After each batch it rests `share` times
        as long as that took."""
        added, after = 0, ""
        while page := await self.store.unlogged(after, PAGE):
            added += await self.add(page, share)
            after = page[-1]
        return added

    async def add(self, session_ids: Collection[str], share: float = 0.0) -> int:
        """The same for a few sessions."""
        added, started = 0, time.monotonic()
        while taken := await self.store.add_leaves(session_ids, AT_ONCE):
            added += taken
            await asyncio.sleep(share * (time.monotonic() - started))
            started = time.monotonic()
        return added

    async def root(self, size: int) -> bytes:
        hashes = await self._hashes(merkle.roots(size))
        return hashes[0] if hashes else merkle.EMPTY_ROOT

    async def inclusion(self, index: int, size: int) -> list[bytes]:
        return await self._hashes(merkle.inclusion_ranges(index, size))

    async def consistency(self, first: int, size: int) -> list[bytes]:
        return await self._hashes(merkle.consistency_ranges(first, size))

    async def contradicted(self, session_id: str, entries: Sequence[Sealed]) -> FirstBad | None:
        """The first of these entries, which follow each other, that is not what its leaf is a hash of."""
        first, last = entries[0].seq, entries[-1].seq
        leaves = {
            seq: run.first_leaf + seq - run.first_seq
            for run in await self.store.session_runs(session_id, first, len(entries))
            for seq in range(max(first, run.first_seq), min(last, run.last_seq) + 1)
        }
        tiles = await self.store.tiles({(0, index // TILE_WIDTH) for index in leaves.values()})
        return await offload(is_heavy(list(entries)), _other, entries, leaves, tiles, kind="question")

    async def cut_off(self, session_id: str, seq: int) -> FirstBad | None:
        """That an event is missing in its ledger, if it has a leaf."""
        if (index := await self.store.leaf_of(session_id, seq)) is None:
            return None
        text = f"it is not there, and is leaf {index} of the log: the end of the ledger was cut off"
        return FirstBad(seq, None, f"{text}{LOOK}")

    async def extends(self, kept: Checkpoint) -> bool:
        """Does the log begin with what this checkpoint covers? It must have at least its size."""
        return await self.root(kept.size) == kept.root

    async def refuse_other_history(self, earlier: Checkpoint, size: int) -> None:
        """Raise unless the log of this size continues what was signed earlier."""
        refuse_smaller(earlier, size)
        if not await self.extends(earlier):
            text = f"the log is not the one that was signed at size {earlier.size}"
            raise BeliefdError(Code.SPLIT_VIEW, f"{text}: it was changed, or is another one{REPAIR}")

    async def _hashes(self, ranges: Iterable[Range]) -> list[bytes]:
        wanted = list(ranges)
        tiles = await self.store.tiles(merkle.tiles_for(wanted))
        try:
            return merkle.proof(wanted, tiles)
        except BadProof as error:
            raise BeliefdError(Code.LEDGER_BROKEN, f"the log is damaged: {error}{REPAIR}") from None


def _other(entries: Sequence[Sealed], leaves: Mapping[int, int], tiles: Tiles) -> FirstBad | None:
    for one in entries:
        if (index := leaves.get(one.seq)) is None:
            continue
        number, at = divmod(index, TILE_WIDTH)
        kept = tiles.get((0, number), b"")[at * HASH_BYTES : (at + 1) * HASH_BYTES]
        if kept != merkle.leaf_hash(sha256(one.record).digest()):
            text = f"it is leaf {index} of the log, which has another hash: one of them was changed"
            return FirstBad(one.seq, one.event_id, f"{text}{LOOK}")
    return None
