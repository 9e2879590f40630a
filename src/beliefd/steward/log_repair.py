"""The log compared with the ledgers that it is over, and its tiles built anew from them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from typing import Final

from msgspec import Struct

from beliefd.ledger.merkle import Place, edge, grown, leaf_hash
from beliefd.ledger.notes import BadNote, read_checkpoint, read_note
from beliefd.steward.log import Log
from beliefd.stores.base import Store
from beliefd.stores.log import Run

RUNS: Final = 500
ENTRIES: Final = 2_000
TRIES: Final = 10
Progress = Callable[[int], None]
Rest = Callable[[], Awaitable[None]]


async def _at_once() -> None:
    """Nobody waits for the machine meanwhile."""


class Looked(Struct):
    """What is wrong with a log: leaves that lead to no entry, tiles that are not over the leaves, signed
    checkpoints that are of another log."""

    size: int
    root: str = ""
    missing: list[int] = []
    tiles: dict[Place, bytes] = {}
    checkpoints: list[int] = []

    @property
    def ok(self) -> bool:
        return not (self.missing or self.tiles or self.checkpoints)

    @property
    def complaints(self) -> list[str]:
        """What is wrong, in words; the first of each kind."""
        told = [f"leaf {index} leads to no event" for index in self.missing[:20]]
        told += [
            f"tile {height}/{number} is not over its leaves" for height, number in sorted(self.tiles)[:20]
        ]
        return told + [f"the checkpoint of size {size} is of another log" for size in self.checkpoints[:20]]


async def look(store: Store, report: Progress = lambda _: None, rest: Rest = _at_once) -> Looked:
    """Hash all entries in the order of their leaves, and compare what comes of it with what is stored."""
    found = Looked(await store.log_size())
    known: dict[Place, bytes] = {}
    at = 0
    async for leaves in _leaves(store, found):
        changed = grown(at, {place: known[place] for place in edge(at)}, leaves)
        at += len(leaves)
        kept = set(edge(at))
        await _compare(store, found, {place: tile for place, tile in changed.items() if place not in kept})
        known = {place: changed.get(place) or known[place] for place in kept}
        report(at)
        await rest()
    await _compare(store, found, known)
    if not found.tiles and not found.missing:
        tree = Log(store)
        found.root = (await tree.root(found.size)).hex()
        await _compare_checkpoints(store, tree, found)
    return found


async def rebuild(store: Store, report: Progress = lambda _: None) -> Looked:
    """Put tiles right that are not; what was wrong. Servers may go on meanwhile."""
    for _ in range(TRIES):
        found = await look(store, report)
        if not found.tiles or await store.put_tiles(found.size, found.tiles):
            break
    return found


async def _leaves(store: Store, found: Looked) -> AsyncIterator[list[bytes]]:
    """The hashes of leaves in order. What is not there counts as a leaf that no entry has."""
    at = 0
    while at < found.size:
        runs = [run for run in await store.runs(at, RUNS) if run.first_leaf < found.size]
        for run in runs or [Run(found.size, "", 0, 0)]:
            if run.first_leaf > at:
                found.missing.append(at)
                yield [leaf_hash(b"")] * (run.first_leaf - at)
            async for hashes in _run(store, run, found):
                yield hashes
            at = run.first_leaf + run.length


async def _run(store: Store, run: Run, found: Looked) -> AsyncIterator[list[bytes]]:
    after, last = run.first_seq - 1, run.last_seq
    while after < last:
        chunk = await store.entries(run.session_id, after, min(ENTRIES, last - after))
        hashes = [leaf_hash(sha256(one.record).digest()) for one in chunk]
        if not chunk or await store.archived(run.session_id) is not None:
            kept = await store.archived_hashes(run.session_id, after, min(ENTRIES, last - after))
            hashes = [leaf_hash(one) for one in kept]
        elif chunk[-1].seq != after + len(chunk):
            hashes = []
        if not hashes:
            found.missing.append(run.first_leaf + after + 1 - run.first_seq)
            hashes = [leaf_hash(b"")] * (last - after)
        yield hashes
        after += len(hashes)


async def _compare(store: Store, found: Looked, tiles: dict[Place, bytes]) -> None:
    stored = await store.tiles(tiles)
    found.tiles |= {place: tile for place, tile in tiles.items() if stored.get(place) != tile}


async def _compare_checkpoints(store: Store, tree: Log, found: Looked) -> None:
    origin = None
    for kept in await store.checkpoints(RUNS):
        try:
            checkpoint = read_checkpoint(read_note(kept.note))
        except BadNote:
            found.checkpoints.append(kept.size)
            continue
        origin = origin or checkpoint.origin
        if checkpoint.origin != origin:
            continue  # of a log that ended
        if kept.size > found.size or not await tree.extends(checkpoint):
            found.checkpoints.append(kept.size)
