"""What every store promises about sessions that are put away; part of `StoreContract`."""

import hashlib
from collections.abc import Awaitable

from beliefd.kernel.canonical import canonical
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.archives import HASHES, Archived, SessionArchived
from beliefd.stores.base import HeadMoved, SavedState, StorageUnavailable, Store, UsedKey
from beliefd.stores.citations import Uncited
from beliefd.testing.appends import CREATED, batch, chain, entry, raises
from beliefd.testing.log_contract import add_all, root_of
from beliefd.testing.promises import Promises, promise

NOT_NOW = (HeadMoved, StorageUnavailable)
LONG = 2 * HASHES + 3


def sealed_chain(session_id: str, length: int) -> list[Sealed]:
    """A ledger that ends with its seal; that is all that a store looks for in it."""
    event_id = f"{session_id}-{length}"
    said = {"delta": {"kind": "session_sealed", "text": "\0é"}, "event_id": event_id, "seq": length}
    record = canonical({**said, "session_id": session_id})
    return [
        *chain(session_id, length - 1),
        Sealed(length, event_id, record, hashlib.sha256(record).hexdigest()),
    ]


def stub_of(entries: list[Sealed], session_id: str = "s") -> Archived:
    return Archived(session_id, head_of(entries[-1]), "/far/away.jsonl", "f" * 64, CREATED, "admin://a", 3)


def _swapped(hashes: list[str]) -> list[str]:
    return [hashes[1], hashes[0], *hashes[2:]]


def _cut(hashes: list[str]) -> list[str]:
    return hashes[:HASHES]


async def prepared(store: Store, session_id: str = "s", length: int = LONG) -> list[Sealed]:
    """A sealed ledger with leaves and hashes: all that it needs to be archived."""
    entries = sealed_chain(session_id, length)
    await store.append(batch(session_id, None, entries))
    await add_all(store)
    await store.keep_hashes(session_id, 1, [one.hash for one in entries])
    return entries


async def put_away(store: Store, session_id: str = "s", length: int = LONG) -> list[Sealed]:
    entries = await prepared(store, session_id, length)
    await store.archive(stub_of(entries, session_id), ())
    while await store.remove_archived(session_id, 20):
        pass
    return entries


class ArchiveContract(Promises):
    """Ledgers out of the store, and back."""

    @promise
    async def test_an_archived_session_says_where_it_is_and_takes_no_events(self, store: Store) -> None:
        entries = await put_away(store)
        await store.append(batch("t", None, chain("t", 1)))
        stub = stub_of(entries)
        assert await store.archived("s") == stub
        assert (await store.archived("t"), await store.archived("nobody")) == (None, None)
        assert await store.entries("s") == []
        assert [row.session_id for row in await store.sessions(None, 9)] == ["t"]
        assert await store.archives(None, 9) == [stub]
        assert await store.archives("s", 9) == await store.archives(None, 9, ["elsewhere"]) == []
        await self._says_where(store, stub)
        for expected, more in ((stub.head, [entry("s", LONG + 1)]), (None, chain("s", 1))):
            await self._not_now(store.append(batch("s", expected, more)))
        assert await store.entries("s") == []
        assert await store.space_of("s") == "default"

    @promise
    async def test_only_a_sealed_ledger_with_all_hashes_and_leaves_is_archived(self, store: Store) -> None:
        entries = sealed_chain("s", LONG)
        hashes = [one.hash for one in entries]
        await store.append(batch("s", None, entries))
        await store.keep_hashes("s", 1, hashes)
        await self._not_now(store.archive(stub_of(entries), ()))  # its events have no leaves
        await add_all(store)
        for wrong in ([hashes[1], hashes[0], *hashes[2:]], hashes[: HASHES * 2]):
            await store.append(batch(str(len(wrong)), None, sealed_chain(str(len(wrong)), LONG)))
            await add_all(store)
            await store.keep_hashes(str(len(wrong)), 1, wrong)
            await self._not_now(
                store.archive(stub_of(sealed_chain(str(len(wrong)), LONG), str(len(wrong))), ())
            )
        await self._not_now(store.archive(stub_of(entries[:-1]), ()))
        await store.append(batch("open", None, chain("open", 2)))
        await add_all(store)
        await store.keep_hashes("open", 1, [one.hash for one in chain("open", 2)])
        await self._not_now(store.archive(stub_of(chain("open", 2), "open"), ()))
        assert await store.archives(None, 9) == []
        for name in ("s", "open"):
            await self._not_now(store.remove_archived(name, 9), also_none=True)
            assert await store.head(name) is not None
        assert await store.entries("s") == entries
        await store.archive(stub_of(entries), ())

    @promise
    async def test_a_session_comes_back_when_all_its_events_have(self, store: Store) -> None:
        entries = await put_away(store)
        stub = stub_of(entries)
        with raises(StorageUnavailable):
            await store.put_archived("t", entries[:1])
        await self._not_now(store.unarchive("s"), also_none=True)
        await store.put_archived("s", entries[:-1])
        await self._not_now(store.unarchive("s"), also_none=True)
        await self._says_where(store, stub)
        await store.put_archived("s", [entry("s", LONG, "another")])
        await self._not_now(store.unarchive("s"), also_none=True)
        await self._says_where(store, stub)
        while await store.remove_archived("s", 1_000):
            pass
        await store.put_archived("s", entries[:40])
        await store.put_archived("s", entries[30:])
        assert await store.unarchive("s")
        assert not await store.unarchive("s")
        assert await store.entries("s") == entries
        assert await store.head("s") == stub.head
        assert (await store.archived("s"), await store.archives(None, 9)) == (None, [])
        await store.append(batch("s", stub.head, [entry("s", LONG + 1)]))
        assert [row.session_id for row in await store.sessions(None, 9)] == ["s"]

    @promise
    async def test_the_log_and_all_hashes_stay(self, store: Store) -> None:
        entries = await prepared(store)
        before = await root_of(store), await store.leaf_of("s", 5), await store.last_leaf("s", LONG)
        await store.archive(stub_of(entries), ())
        assert await store.remove_archived("s", LONG + 1) == LONG
        assert (await root_of(store), await store.leaf_of("s", 5), await store.last_leaf("s", LONG)) == before
        assert (await store.unlogged("", 9), await store.log_size()) == ([], LONG)
        kept = [bytes.fromhex(one.hash) for one in entries]
        assert await store.archived_hashes("s", 0, LONG + 9) == kept
        assert await store.archived_hashes("s", HASHES - 1, 2) == kept[HASHES - 1 : HASHES + 1]
        assert await store.archived_hashes("s", LONG, 9) == []

    @promise
    async def test_keys_projections_and_cited_content_stay_and_saved_states_go(self, store: Store) -> None:
        entries = sealed_chain("s", 3)
        used = UsedKey("agent://a", "k", "request", "s", 1)
        await store.append(batch("s", None, entries, used_keys=[used], saved_state=SavedState(3, b"state")))
        await add_all(store)
        for name in ("a" * 64, "b" * 64):
            await store.put_content(name, b"bytes", Bringer(id="agent://a", role=Role.AGENT, at=CREATED))
        await store.keep_hashes("s", 1, [one.hash for one in entries])
        await store.archive(stub_of(entries), ["a" * 64, "c" * 64])
        await store.remove_archived("s", 9)
        assert await store.used_key("agent://a", "k") == used
        assert await store.saved_state("s") is None
        assert await store.cited_in_archives(["a" * 64, "b" * 64]) == {"a" * 64}
        names = ["a" * 64, "b" * 64]
        removed = await store.remove_content(names, "9999", Uncited(names))
        assert [one.sha256 for one in removed] == ["b" * 64]
        await store.put_archived("s", entries)
        assert await store.unarchive("s")
        assert await store.cited_in_archives(names) == set()

    async def _says_where(self, store: Store, stub: Archived) -> None:
        found: Archived | None = None
        try:
            await store.head("s")
        except SessionArchived as error:
            found = error.stub
        assert found == stub

    async def _not_now(self, work: Awaitable[object], also_none: bool = False) -> None:
        try:
            outcome = await work
        except NOT_NOW:
            return
        assert also_none, "it was not refused"
        assert not outcome
