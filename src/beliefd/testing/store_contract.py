"""What every store promises of its ledgers, as tests that anybody can run against a store of his own.

`ProjectionContract` is this with all that stores promise besides. Whatever is subclassed, let pytest (or
unittest-like runners that collect `test_*` methods) find the class.
"""

from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.base import (
    Adoption,
    HeadMoved,
    SavedState,
    SessionRow,
    StorageUnavailable,
    Store,
    Token,
    UsedKey,
)
from beliefd.testing.appends import (
    CREATED,
    batch,
    chain,
    entry,
    eventually,
    eventually_hears,
    full_batch,
    race,
    raises,
    same,
)
from beliefd.testing.archive_contract import ArchiveContract
from beliefd.testing.content_contract import ContentContract
from beliefd.testing.head_contract import HeadContract
from beliefd.testing.log_contract import LogContract
from beliefd.testing.promises import promise
from beliefd.testing.settings_contract import SettingsContract

AWKWARD_TEXTS = (
    "plain",
    "NUL \x00 and \x1f \x7f \x85",
    'quote " backslash \\ slash / newline \n tab \t',
    "Grüße, γνῶσις, 信念, ব\u09bf\u09b6\u09cd\u09ac\u09be\u09b8",
    "line \u2028 paragraph \u2029 zero width \u200b bidi \u202e",
    "astral \U0001d11e \U0001f9ea, noncharacter \uffff, e\u0301 and \u00e9",
)
IDS_IN_BYTE_ORDER = ("0", "A", "B", "Z", "_", "a", "a b", "ab", "b", "é", "ﬀ", "\U0001d11e")


class StoreContract(HeadContract, ContentContract, LogContract, ArchiveContract, SettingsContract):
    """The promises of `beliefd.stores.base.Store`."""

    # -- what was appended is there ----------------------------------------------------------------

    @promise
    async def test_a_new_store_is_empty_and_ready(self, store: Store) -> None:
        await store.ping()
        assert await store.head("s") is None
        assert await store.entries("s") == []
        assert await store.saved_state("s") is None
        assert await store.sessions(None, 10) == []
        assert await store.used_key("agent://a", "key") is None
        assert await store.policy("p") is None
        assert await store.tokens() == []

    @promise
    async def test_records_come_back_byte_for_byte(self, store: Store) -> None:
        written = [entry("s", seq, text) for seq, text in enumerate(AWKWARD_TEXTS, 1)]
        await store.append(batch("s", None, written))
        assert await store.entries("s") == written
        assert await store.head("s") == head_of(written[-1])

    @promise
    async def test_records_of_several_megabytes_come_back_byte_for_byte(self, store: Store) -> None:
        written = [entry("s", 1, "ä\x00" * 1_000_000), entry("s", 2, "x" * 4_000_000), entry("s", 3)]
        await store.append(batch("s", None, written, saved_state=SavedState(3, b"\x00\xff" * 2_000_000)))
        assert same(await store.entries("s"), written)
        assert await store.saved_state("s") == SavedState(3, b"\x00\xff" * 2_000_000)

    @promise
    async def test_everything_in_one_append_is_stored_with_it(self, store: Store) -> None:
        used = UsedKey("agent://a", "key ✓", "request", "s", 1)
        full = batch(
            "s",
            None,
            chain("s", 3),
            policies=[("p", b'{"a":1}'), ("q", b"\x00\xff")],
            used_keys=[used],
            saved_state=SavedState(3, b"state"),
        )
        await store.append(full)
        assert await store.policy("p") == b'{"a":1}'
        assert await store.policy("q") == b"\x00\xff"
        assert await store.used_key("agent://a", "key ✓") == used
        assert await store.saved_state("s") == SavedState(3, b"state")

    @promise
    async def test_the_latest_saved_state_is_given_and_earlier_ones_for_the_past(self, store: Store) -> None:
        first, second = chain("s", 2)
        await store.append(batch("s", None, [first], saved_state=SavedState(1, b"one")))
        await store.append(batch("s", head_of(first), [second], saved_state=SavedState(2, b"two")))
        assert await store.saved_state("s") == SavedState(2, b"two")
        assert await store.saved_state("s", 2) == SavedState(2, b"two")
        assert await store.saved_state("s", 1) == SavedState(1, b"one")
        assert await store.saved_state("s", 0) is None

    @promise
    async def test_a_policy_that_is_known_already_stays_as_it_is(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1), policies=[("p", b"first")]))
        await store.append(batch("t", None, chain("t", 1), policies=[("p", b"first"), ("q", b"second")]))
        assert await store.policy("p") == b"first"
        assert await store.policy("q") == b"second"

    # -- reading -------------------------------------------------------------------------------------

    @promise
    async def test_entries_are_paged_in_order(self, store: Store) -> None:
        written = chain("s", 25)
        await store.append(batch("s", None, written[:10]))
        await store.append(batch("s", head_of(written[9]), written[10:]))
        assert await store.entries("s") == written
        assert await store.entries("s", 20) == written[20:]
        assert await store.entries("s", 5, 7) == written[5:12]
        assert await store.entries("s", 24, 100) == written[24:]
        assert await store.entries("s", 25) == []
        assert await store.entries("s", 0, 0) == []
        assert await store.entries("other") == []

    @promise
    async def test_a_chunk_ends_with_the_entry_that_makes_it_too_long(self, store: Store) -> None:
        written = chain("s", 40, "x" * 1_000)
        await store.append(batch("s", None, written))
        size = len(written[-1].record)
        for limit in (40, 300, None):
            assert (
                await store.entries("s", 0, limit, 3 * size) == written[:4]
            )  # the first are a little shorter
            assert await store.entries("s", 20, limit, 3 * size) == written[20:23]
            assert await store.entries("s", 20, limit, 1) == written[20:21]
            assert await store.entries("s", 39, limit, 1) == written[39:]
            assert await store.entries("s", 40, limit, 1) == []
        assert await store.entries("s", 20, 2, 3 * size) == written[20:22]
        assert await store.entries("s", 20, 0, 3 * size) == []

    @promise
    async def test_long_ledgers_are_never_held_as_a_whole(self, store: Store) -> None:
        written = chain("s", 20, "x" * (1 << 20))
        await store.append(batch("s", None, written))
        chunks = [chunk async for chunk in store.stream("s")]
        assert same([one for chunk in chunks for one in chunk], written)
        assert max(map(len, chunks)) <= 5
        for after in (0, 3):
            taken: list[list[bytes]] = []
            await store.replay("s", after, 20, taken.append)
            assert same([one for chunk in taken for one in chunk], [one.record for one in written[after:]])
            assert max(map(len, taken)) <= 5

    @promise
    async def test_a_stream_is_the_entries_in_chunks_and_none_is_empty(self, store: Store) -> None:
        written = chain("s", 5_000)
        await store.append(batch("s", None, written))
        chunks = [chunk async for chunk in store.stream("s", 3)]
        assert same([one for chunk in chunks for one in chunk], written[3:])
        assert all(chunks)
        assert [chunk async for chunk in store.stream("s", 5_000)] == []
        assert [chunk async for chunk in store.stream("other")] == []

    @promise
    async def test_a_replay_hands_out_the_records_between_two_places(self, store: Store) -> None:
        written = chain("s", 1_200)
        await store.append(batch("s", None, written))
        await store.append(batch("other", None, chain("other", 3)))
        for after, upto in ((0, 1_200), (0, 1), (3, 700), (1_000, 1_100), (1_199, 1_200), (1_200, 1_200)):
            taken: list[list[bytes]] = []
            await store.replay("s", after, upto, taken.append)
            wanted = [entry.record for entry in written[after:upto]]
            assert same([one for chunk in taken for one in chunk], wanted)
            assert all(taken)

        def choke(_: list[bytes]) -> None:
            raise ZeroDivisionError

        for after, upto in ((0, 1_200), (5, 10)):
            with raises(ZeroDivisionError):
                await store.replay("s", after, upto, choke)

    @promise
    async def test_an_event_is_found_in_its_own_session_only(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 3)))
        shared = Sealed(1, "s-2", b"{}", "another hash")
        await store.append(batch("t", None, [shared]))
        assert await store.seq_of("s", "s-2") == 2
        assert await store.seq_of("t", "s-2") == 1
        assert await store.seq_of("t", "s-3") is None
        assert await store.seq_of("s", "nothing") is None
        assert await store.seq_of("nowhere", "s-1") is None

    @promise
    async def test_sessions_are_paged_in_the_order_of_their_bytes(self, store: Store) -> None:
        for session_id in reversed(IDS_IN_BYTE_ORDER):
            await store.append(batch(session_id, None, chain(session_id, 1), created_at=f"at {session_id}"))
        moved = chain("a", 2)[1]
        await store.append(batch("a", head_of(chain("a", 1)[0]), [moved], created_at="later"))
        rows = await store.sessions(None, 100)
        assert [row.session_id for row in rows] == list(IDS_IN_BYTE_ORDER)
        assert SessionRow("a", "at a", head_of(moved)) in rows
        assert await store.sessions("B", 3) == rows[3:6]
        assert await store.sessions("aa", 2) == rows[7:9]
        assert await store.sessions(IDS_IN_BYTE_ORDER[-1], 5) == []

    @promise
    async def test_ids_that_nobody_could_have_stored_name_nothing(self, store: Store) -> None:
        await store.append(batch("s", None, chain("s", 1)))
        for odd in ("\x00", "s\x00", "\ud800", "s" * 1_000_000, "' OR 1=1 --", "%", ""):
            assert await store.head(odd) is None
            assert await store.entries(odd) == []
            assert await store.seq_of("s", odd) is None
            assert await store.used_key(odd, odd) is None

    # -- notices, end --------------------------------------------------------------------------------

    @promise
    async def test_listeners_hear_of_appends_until_they_unsubscribe(self, store: Store) -> None:
        heard: list[str] = []
        alone: list[str] = []
        unsubscribe = store.subscribe(heard.append)
        store.subscribe(alone.append)
        await store.append(batch("s", None, chain("s", 1)))
        await eventually(lambda: "s" in heard and "s" in alone)
        unsubscribe()
        unsubscribe()
        heard.clear()
        await store.append(batch("t", None, chain("t", 1)))
        await eventually(lambda: "t" in alone)
        assert heard == []

    @promise
    async def test_a_closed_store_refuses_appends(self, store: Store) -> None:
        unsubscribe = store.subscribe(lambda _: None)
        await store.close()
        with raises(StorageUnavailable):
            await store.append(batch("s", None, chain("s", 1)))
        unsubscribe()
        await store.close()


class DurableStoreContract(StoreContract):
    """And of stores whose data outlives them: every `open` within a test opens the same data."""

    @promise
    async def test_everything_is_there_after_reopening(self, store: Store) -> None:
        full = full_batch("s", None, [entry("s", seq, text) for seq, text in enumerate(AWKWARD_TEXTS, 1)])
        token = Token("aa", "alice", "approver", "MODIFY", "hash", CREATED)
        await store.append(full)
        await store.add_token(token)
        adoption = Adoption("hash", b"policy", CREATED, "admin://a")
        await store.adopt(adoption)
        await store.close()
        again = await self.open()
        try:
            assert await again.entries("s") == full.entries
            assert await again.sessions(None, 9) == [SessionRow("s", CREATED, head_of(full.entries[-1]))]
            assert await again.saved_state("s") == full.saved_state
            assert await again.policy("s policy") == b"policy"
            assert await again.used_key("agent://a", "s key") == full.used_keys[0]
            assert await again.tokens() == [token]
            assert await again.adopted() == adoption
            with raises(HeadMoved):
                await again.append(full)
        finally:
            await again.close()

    @promise
    async def test_two_stores_on_the_same_data_agree_on_one_order(self, store: Store) -> None:
        other = await self.open()
        try:
            await race(store, None, other)
            for _ in range(5):
                await race(store, await store.head("s"), other)
            assert await store.entries("s") == await other.entries("s")
            assert await store.head("s") == await other.head("s")
        finally:
            await other.close()

    @promise
    async def test_listeners_hear_of_appends_through_another_store(self, store: Store) -> None:
        other = await self.open()
        try:
            heard: list[str] = []
            store.subscribe(heard.append)
            await eventually_hears(heard, other)
        finally:
            await other.close()
