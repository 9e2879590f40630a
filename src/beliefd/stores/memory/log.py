"""The log in memory."""

from collections.abc import Collection, Mapping

from beliefd.ledger.envelope import Sealed
from beliefd.ledger.merkle import Place, edge, grown, leaf_hash
from beliefd.stores.log import KeptCheckpoint, Leaf, Run, runs_of


class MemoryLog:
    """That part of the store; every method runs without awaiting."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Sealed]] = {}
        self._size = 0
        self._runs: list[Run] = []
        self._runs_of: dict[str, list[Run]] = {}
        self._tiles: dict[Place, bytes] = {}
        self._checkpoints: dict[str, KeptCheckpoint] = {}

    async def log_size(self) -> int:
        return self._size

    async def unlogged(self, after: str, limit: int) -> list[str]:
        waiting = (
            name
            for name in sorted(self._entries)
            if name > after and self._covered(name) < len(self._entries[name])
        )
        return [name for name, _ in zip(waiting, range(limit), strict=False)]

    def _covered(self, session_id: str) -> int:
        runs = self._runs_of.get(session_id)
        return runs[-1].last_seq if runs else 0

    async def add_leaves(self, session_ids: Collection[str], limit: int) -> int:
        rows = [
            (name, one.seq, one.hash)
            for name in sorted(set(session_ids) & self._entries.keys())
            for one in self._entries[name][self._covered(name) :]
        ][:limit]
        runs, hashes = runs_of(self._size, rows)
        tiles = {place: self._tiles[place] for place in edge(self._size)}
        self._tiles |= grown(self._size, tiles, [leaf_hash(one) for one in hashes])
        self._size += len(hashes)
        self._runs += runs
        for run in runs:
            self._runs_of.setdefault(run.session_id, []).append(run)
        return len(hashes)

    async def tiles(self, places: Collection[Place]) -> dict[Place, bytes]:
        return {place: self._tiles[place] for place in places if place in self._tiles}

    async def put_tiles(self, size: int, tiles: Mapping[Place, bytes]) -> bool:
        if size != self._size:
            return False
        self._tiles |= tiles
        return True

    async def leaf_of(self, session_id: str, seq: int) -> int | None:
        runs = self._runs_of.get(session_id, [])
        found = (run for run in runs if run.first_seq <= seq <= run.last_seq)
        return next((run.first_leaf + seq - run.first_seq for run in found), None)

    async def last_leaf(self, session_id: str, size: int) -> Leaf | None:
        earlier = [run for run in self._runs_of.get(session_id, []) if run.first_leaf < size]
        if not earlier:
            return None
        index = min(earlier[-1].first_leaf + earlier[-1].length, size) - 1
        return Leaf(earlier[-1].first_seq + index - earlier[-1].first_leaf, index)

    async def session_runs(self, session_id: str, seq: int, limit: int) -> list[Run]:
        return [run for run in self._runs_of.get(session_id, []) if run.last_seq >= seq][:limit]

    async def runs(self, first_leaf: int, limit: int) -> list[Run]:
        return [run for run in self._runs if run.first_leaf >= first_leaf][:limit]

    async def keep_checkpoint(self, kept: KeptCheckpoint, before: str | None = None) -> bool:
        text = kept.note.partition("\n\n")[0]
        held = self._checkpoints.get(text)
        if (None if held is None else held.note) != before:
            return False
        self._checkpoints[text] = kept
        return True

    async def checkpoints(self, limit: int, size: int | None = None) -> list[KeptCheckpoint]:
        kept = reversed(self._checkpoints.values())
        return [one for one in kept if size in (None, one.size)][:limit]
