"""What every store promises about the log; part of `StoreContract`."""

import asyncio
from itertools import pairwise

from beliefd.ledger import merkle
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.ledger.merkle import leaf_hash
from beliefd.stores.base import Store
from beliefd.stores.log import KeptCheckpoint, Leaf, Run
from beliefd.testing.appends import CREATED, batch, chain, entry
from beliefd.testing.promises import Promises, promise


async def add_all(store: Store, limit: int = 100) -> int:
    """Give leaves to all that has none."""
    added = 0
    while waiting := await store.unlogged("", limit):
        found = await store.add_leaves(waiting, limit)
        if not found:
            break
        added += found
    return added


async def root_of(store: Store) -> bytes:
    size = await store.log_size()
    return merkle.root(size, await store.tiles(merkle.tiles_for(merkle.roots(size))))


async def leaves_of(store: Store, sessions: dict[str, list[Sealed]]) -> list[str]:
    """The hashes of all entries, in the order of their leaves."""
    found: dict[int, str] = {}
    for name, entries in sessions.items():
        for one in entries:
            index = await store.leaf_of(name, one.seq)
            assert index is not None
            assert index not in found
            found[index] = one.hash
    assert sorted(found) == list(range(len(found)))
    return [found[index] for index in range(len(found))]


def root_over(hashes: list[str]) -> bytes:
    leaves = [leaf_hash(bytes.fromhex(one)) for one in hashes]
    tiles = merkle.grown(0, {}, leaves)
    return merkle.root(len(leaves), tiles)


class LogContract(Promises):
    """Leaves, tiles and checkpoints."""

    @promise
    async def test_every_entry_gets_one_leaf_and_the_tiles_give_the_root_over_all(self, store: Store) -> None:
        assert (await store.log_size(), await root_of(store)) == (0, merkle.EMPTY_ROOT)
        sessions = {name: chain(name, length) for name, length in (("a", 300), ("é", 2), ("b", 1))}
        for name, entries in sessions.items():
            await store.append(batch(name, None, entries))
        assert await store.unlogged("", 10) == ["a", "b", "é"]
        assert await store.unlogged("a", 1) == ["b"]
        assert await store.leaf_of("a", 1) is None
        assert await add_all(store) == 303
        assert await store.unlogged("", 10) == []
        assert await store.add_leaves(["a", "b", "nobody"], 10) == 0
        more = [entry("b", 2), entry("b", 3)]
        await store.append(batch("b", head_of(sessions["b"][-1]), more))
        sessions["b"] += more
        assert await add_all(store) == 2
        assert await store.log_size() == 305
        assert await root_of(store) == root_over(await leaves_of(store, sessions))
        for seq in (0, 4):
            assert await store.leaf_of("b", seq) is None

    @promise
    async def test_leaves_stand_in_runs_and_the_last_one_of_a_session_is_found_by_size(
        self, store: Store
    ) -> None:
        first = chain("s", 3)
        await store.append(batch("s", None, first))
        await add_all(store)
        await store.append(batch("t", None, chain("t", 2)))
        await add_all(store)
        await store.append(batch("s", head_of(first[-1]), [entry("s", 4)]))
        await add_all(store)
        runs = [Run(0, "s", 1, 3), Run(3, "t", 1, 2), Run(5, "s", 4, 1)]
        assert await store.runs(0, 10) == runs
        assert await store.runs(1, 1) == runs[1:2]
        assert await store.session_runs("s", 2, 10) == [runs[0], runs[2]]
        assert await store.session_runs("s", 3, 1) == runs[:1]
        assert await store.session_runs("s", 4, 10) == runs[2:]
        assert await store.session_runs("nobody", 1, 10) == []
        told = {size: await store.last_leaf("s", size) for size in range(7)}
        assert told == {
            0: None,
            1: Leaf(1, 0),
            2: Leaf(2, 1),
            3: Leaf(3, 2),
            4: Leaf(3, 2),
            5: Leaf(3, 2),
            6: Leaf(4, 5),
        }
        assert await store.last_leaf("t", 3) is None

    @promise
    async def test_who_gives_leaves_at_the_same_time_gives_each_entry_one(self, store: Store) -> None:
        sessions = {f"s{number}": chain(f"s{number}", 5) for number in range(20)}
        for name, entries in sessions.items():
            await store.append(batch(name, None, entries))
        added = await asyncio.gather(*(store.add_leaves(list(sessions), 7) for _ in range(20)))
        assert sum(added) == 100
        assert await store.log_size() == 100
        assert await root_of(store) == root_over(await leaves_of(store, sessions))
        for one, following in pairwise(await store.runs(0, 100)):
            assert following.first_leaf == one.first_leaf + one.length

    @promise
    async def test_tiles_are_put_right_only_if_the_log_has_not_grown(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 3)))
        await add_all(store)
        whole = await root_of(store)
        kept = await store.tiles([(0, 0)])
        assert await store.put_tiles(3, {(0, 0): bytes(96)})
        assert await root_of(store) != whole
        assert not await store.put_tiles(2, kept)
        assert await store.put_tiles(3, kept)
        assert await root_of(store) == whole
        assert await store.tiles([(0, 1), (5, 0)]) == {}

    @promise
    async def test_checkpoints_are_kept_the_newest_first_and_gain_signatures(self, store: Store) -> None:
        assert await store.checkpoints(5) == []
        one = KeptCheckpoint(1, "log é\n1\nroot\n\nsignature\n", CREATED)
        two = KeptCheckpoint(2, "log é\n2\nroot\n\nsignature\n", CREATED)
        assert await store.keep_checkpoint(one)
        assert await store.keep_checkpoint(two)
        assert await store.checkpoints(5) == [two, one]
        signed = KeptCheckpoint(1, f"{one.note}another\n", CREATED)
        assert not await store.keep_checkpoint(signed)
        assert not await store.keep_checkpoint(signed, two.note)
        assert await store.keep_checkpoint(signed, one.note)
        assert not await store.keep_checkpoint(one, one.note)
        assert await store.checkpoints(5) == [two, signed]
        assert await store.checkpoints(1) == [two]
        assert await store.checkpoints(5, size=1) == [signed]
