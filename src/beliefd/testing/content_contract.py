"""What every store promises about content; part of `StoreContract`."""

import asyncio
from typing import Final

from msgspec.structs import replace

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role
from beliefd.ledger.envelope import head_of
from beliefd.stores.base import HeadMoved, Store
from beliefd.stores.citations import Uncited
from beliefd.stores.content import ContentErased, KeptContent, Quota, QuotaExceeded
from beliefd.stores.projections import ERASED, ErasedRow
from beliefd.testing.appends import CREATED, batch, chain, entry, raises
from beliefd.testing.promises import Promises, promise

LATER: Final = "2026-01-02T00:00:00.000000Z"
AT_LAST: Final = "2026-01-03T00:00:00.000000Z"
ANN: Final = Bringer(id="human://ann", role=Role.APPROVER, at=CREATED)
BOT: Final = Bringer(id="agent://bot", role=Role.AGENT, at=CREATED)


def named(n: int) -> str:
    """A hash, as far as a store can tell."""
    return f"{n:064x}"


class ContentContract(Promises):
    """Content: kept once, within bounds, and removed only if nobody cites it."""

    @promise
    async def test_evidence_is_kept_once_and_known_by_its_hash(self, store: Store) -> None:
        first, second, unknown = "a" * 64, "b" * 64, "c" * 64
        await store.put_content(first, b"\x00\xff", ANN)
        await store.put_content(first, b"\x00\xff", replace(ANN, at=LATER))
        await store.put_content(first, b"\x00\xff", BOT)
        await store.put_content(second, b"", BOT)
        assert await store.bringers(first) == [BOT, ANN], "each since he brought it first"
        assert await store.bringers(unknown) == []
        assert await store.content(first) == b"\x00\xff"
        assert await store.content(second) == b""
        assert await store.content(unknown) is None
        assert await store.kept_content([first, second, unknown]) == {first, second}
        assert await store.kept_content([unknown, "'", "\n", ""]) == set()
        assert await store.kept_content([]) == set()

    @promise
    async def test_what_is_known_of_content_is_its_size_and_when_it_was_last_brought(
        self, store: Store
    ) -> None:
        assert await store.about_content(named(1)) is None
        await store.put_content(named(1), b"12345", replace(ANN, at=LATER))
        await store.put_content(named(1), b"12345", BOT)
        await store.put_content(named(2), b"", ANN)
        first, second = KeptContent(named(1), 5, LATER), KeptContent(named(2), 0, CREATED)
        assert await store.about_content(named(1)) == first, "what comes late does not make it older"
        assert await store.content_before(AT_LAST, None, 10) == [first, second]
        assert await store.content_before(AT_LAST, None, 1) == [first]
        assert await store.content_before(AT_LAST, named(1), 10) == [second]
        assert await store.content_before(LATER, None, 10) == [second]

    @promise
    async def test_content_counts_for_each_who_brought_it_and_only_once(self, store: Store) -> None:
        quota = Quota(items=2, bytes=10)
        for _ in range(3):
            await store.put_content(named(1), b"1234", ANN, quota)
        await store.put_content(named(1), b"1234", replace(ANN, role=Role.ADMIN), quota)
        await store.put_content(named(2), b"123456", ANN, quota)
        await store.put_content(named(1), b"1234", BOT, quota)
        await self._over(store, named(3), b"", ANN, quota)
        await self._over(store, named(3), b"1234567", BOT, quota)
        await store.put_content(named(3), b"123456", BOT, quota)
        await store.put_content(named(2), b"123456", ANN, quota)

    @promise
    async def test_of_many_that_come_at_once_no_more_are_kept_than_may_be(self, store: Store) -> None:
        quota = Quota(items=5)
        outcomes = await asyncio.gather(
            *(store.put_content(named(n), b"x", ANN, quota) for n in range(20)), return_exceptions=True
        )
        assert [type(one) for one in outcomes if one is not None] == [QuotaExceeded] * 15
        assert len(await store.content_before(LATER, None, 100)) == 5

    @promise
    async def test_only_what_no_record_mentions_is_removed(self, store: Store) -> None:
        for n in range(10, 16):
            await store.put_content(named(n), b"1234", ANN)
        await store.put_content(named(15), b"1234", replace(BOT, at=LATER))
        first = entry("s", 1, f"sha256:{named(10)}")
        await store.append(batch("s", None, [first]))
        await store.append(batch("t", None, [entry("t", 1, f"{named(11).upper()}, 1{named(12)}")]))
        uncited = Uncited(named(n) for n in range(10, 17))
        asked = [named(n) for n in range(10, 17) if n != 14]
        assert await store.remove_content(asked, LATER, uncited) == [KeptContent(named(13), 4, CREATED)]
        assert uncited.left == {named(n) for n in range(13, 17)}
        assert await store.content(named(13)) is None
        assert await store.about_content(named(13)) is None
        assert await store.bringers(named(13)) == []
        kept = {named(n) for n in (10, 11, 12, 14, 15)}
        assert await store.kept_content([named(n) for n in range(10, 17)]) == kept
        await store.put_content(named(13), b"1234", ANN, Quota(items=6, bytes=24))
        await self._over(store, named(16), b"", ANN, Quota(items=6))

    @promise
    async def test_what_was_cited_since_the_ledgers_were_read_is_not_removed(self, store: Store) -> None:
        await store.put_content(named(10), b"1234", ANN)
        long = chain("s", 700)
        await store.append(batch("s", None, long))
        uncited = Uncited([named(10)])
        uncited.read_upto["s"] = 1
        await store.append(batch("s", head_of(long[-1]), [entry("s", 701, named(10))]))
        assert await store.remove_content([named(10)], LATER, uncited) == []
        assert uncited.read_upto == {"s": 701}
        assert await store.content(named(10)) == b"1234"

    @promise
    async def test_an_append_that_rests_on_content_which_is_gone_is_refused_whole(self, store: Store) -> None:
        await store.put_content(named(10), b"1234", ANN)
        first, second = entry("s", 1), entry("s", 2)
        gone = [named(10), named(11)]
        with raises(HeadMoved):
            await store.append(batch("s", None, [first], rests_on=gone))
        assert await store.head("s") is None
        await store.append(batch("s", None, [first], rests_on=[named(10)]))
        outcomes = await asyncio.gather(
            store.append(batch("s", head_of(first), [second], rests_on=gone)),
            store.append(batch("t", None, [entry("t", 1)], rests_on=[named(10)])),
            return_exceptions=True,
        )
        assert [type(one) for one in outcomes] == [HeadMoved, type(None)]
        assert await store.entries("s") == [first]

    @promise
    async def test_what_a_session_had_erased_goes_with_its_event_and_is_not_taken_again(
        self, store: Store
    ) -> None:
        quota, first = Quota(items=2, bytes=8), entry("s", 1)
        for n in (10, 11):
            await store.put_content(named(n), b"1234", ANN, quota)
        await store.put_content(named(10), b"1234", BOT, quota, "lab")
        await store.append(batch("s", None, [first]))
        gone = ErasedRow("s", named(10), "e2")
        with raises(HeadMoved):
            await store.append(batch("s", None, [entry("s", 1)], projected={ERASED: [gone]}))
        assert await store.content(named(10)) == b"1234", "what is not written erases nothing"
        await store.append(batch("s", head_of(first), [entry("s", 2)], projected={ERASED: [gone]}))
        assert await store.content(named(10)) is None
        assert await store.about_content(named(10)) is None
        assert await store.bringers(named(10)) == []
        assert await store.erased([named(10), named(11), named(12)]) == {named(10)}
        assert await store.projected(ERASED, "s") == {gone}
        with raises(ContentErased):
            await store.put_content(named(10), b"1234", ANN)
        assert await store.kept_content([named(10), named(11)]) == {named(11)}
        assert await store.sweep()
        await store.put_content(named(12), b"1234", ANN, quota)
        await self._over(store, named(13), b"", ANN, quota)

    async def _over(self, store: Store, sha256: str, content: bytes, bringer: Bringer, quota: Quota) -> None:
        """INVARIANT: what is too much leaves nothing behind."""
        known, brought = await store.about_content(sha256), await store.bringers(sha256)
        with raises(QuotaExceeded):
            await store.put_content(sha256, content, bringer, quota)
        assert await store.about_content(sha256) == known
        assert await store.bringers(sha256) == brought
