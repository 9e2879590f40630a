"""What every store promises about appends that are made at once; part of `StoreContract`."""

import asyncio

from beliefd.kernel.values import Head
from beliefd.ledger.envelope import head_of
from beliefd.stores.base import Append, HeadMoved, SavedState, Store, UsedKey
from beliefd.testing.appends import batch, chain, entry, full_batch, nothing_of, outcomes_of, race, raises
from beliefd.testing.promises import Promises, promise


class HeadContract(Promises):
    """An append is at the expected head, with keys that nobody has used, and whole; or it is refused."""

    @promise
    async def test_an_append_elsewhere_than_at_the_head_is_refused_whole(self, store: Store) -> None:
        written = chain("s", 3)
        await store.append(batch("s", None, written[:2]))
        wrong = [
            None,
            head_of(written[0]),
            head_of(written[2]),
            Head(seq=2, event_id="s-2", hash="another hash"),
        ]
        for expected in wrong:
            await self._refused(store, full_batch("s", expected, written[2:]))
        await self._refused(store, full_batch("unknown", head_of(written[1]), chain("unknown", 3)[2:]))
        assert await store.entries("s") == written[:2]
        assert await store.head("s") == head_of(written[1])
        assert [row.session_id for row in await store.sessions(None, 10)] == ["s"]
        await store.append(full_batch("s", head_of(written[1]), written[2:]))

    @promise
    async def test_of_many_appends_at_one_head_exactly_one_wins(self, store: Store) -> None:
        await race(store, None)
        await race(store, await store.head("s"))

    @promise
    async def test_appends_handed_over_at_once_are_written_in_their_order(self, store: Store) -> None:
        """Only asked of a store that says so: each expects the head that the one before it leaves."""
        if not store.keeps_order:
            return
        await store.append(batch("s", None, chain("s", 1)))
        written = chain("s", 61)
        works = [
            store.append(batch("s", head_of(written[n - 1]), written[n : n + 3])) for n in range(1, 61, 3)
        ]
        assert await outcomes_of(works) == [None] * 20
        assert await store.entries("s") == written
        # One that is refused takes those behind it along, and nobody else.
        other = chain("t", 1)
        works = [
            store.append(batch("s", head_of(written[3]), [entry("s", 62, "lost")])),
            store.append(batch("s", head_of(entry("s", 62, "lost")), [entry("s", 63, "lost")])),
            store.append(batch("t", None, other)),
        ]
        refused = await outcomes_of(works)
        assert [type(outcome) for outcome in refused] == [HeadMoved, HeadMoved, type(None)]
        assert await store.entries("s") == written
        assert await store.entries("t") == other

    @promise
    async def test_a_used_key_refuses_the_whole_append(self, store: Store) -> None:
        used = UsedKey("agent://a", "key", "request", "s", 1)
        await store.append(batch("s", None, chain("s", 1), used_keys=[used]))
        again = UsedKey("agent://a", "key", "another request", "t", 1)
        fresh = UsedKey("agent://a", "fresh", "request", "t", 1)
        conflicting = batch(
            "t",
            None,
            chain("t", 1),
            policies=[("p", b"policy")],
            used_keys=[fresh, again],
            saved_state=SavedState(1, b"state"),
        )
        with raises(HeadMoved):
            await store.append(conflicting)
        await nothing_of(store, conflicting, keys=[fresh])
        assert await store.used_key("agent://a", "key") == used
        assert await store.head("t") is None
        other = UsedKey("agent://b", "key", "another request", "t", 1)
        await store.append(batch("t", None, chain("t", 1), used_keys=[other]))
        assert await store.used_key("agent://b", "key") == other

    @promise
    async def test_a_key_used_by_many_at_once_is_given_to_one(self, store: Store) -> None:
        sessions = [f"s{n}" for n in range(12)]
        outcomes = await outcomes_of(
            store.append(batch(sid, None, chain(sid, 1), used_keys=[UsedKey("agent://a", "k", "r", sid, 1)]))
            for sid in sessions
        )
        assert sorted(map(str, map(type, outcomes))) == sorted(map(str, [type(None)] + [HeadMoved] * 11))
        winner = sessions[outcomes.index(None)]
        used = await store.used_key("agent://a", "k")
        assert used is not None
        assert used.session_id == winner
        assert [row.session_id for row in await store.sessions(None, 100)] == [winner]

    @promise
    async def test_an_append_whose_caller_went_away_is_whole_or_absent(self, store: Store) -> None:
        for turn in range(20):
            session_id = f"s{turn:02}"
            task = asyncio.ensure_future(store.append(full_batch(session_id, None, chain(session_id, 50))))
            for _ in range(turn):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await store.append(batch("after", None, chain("after", 1)))
        for row in await store.sessions(None, 100):
            whole = chain(row.session_id, 1 if row.session_id == "after" else 50)
            assert await store.entries(row.session_id) == whole
            assert row.head == head_of(whole[-1])

    async def _refused(self, store: Store, refused: Append) -> None:
        with raises(HeadMoved):
            await store.append(refused)
        await nothing_of(store, refused, keys=refused.used_keys)
