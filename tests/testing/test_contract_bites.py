"""The contract is worth something: stores with a plausible defect do not pass it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import (
    Adoption,
    Append,
    CalibrationRow,
    HeadMoved,
    Listener,
    SavedState,
    SessionRow,
    Store,
)
from beliefd.stores.citations import Uncited
from beliefd.stores.content import UNLIMITED, KeptContent, Quota, QuotaExceeded
from beliefd.stores.memory import MemoryStore
from beliefd.stores.projections import Row
from beliefd.stores.within import Within
from beliefd.testing.projection_contract import ProjectionContract
from tests.testing import archive_defects, space_defects


class IgnoresTheExpectedHead(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(replace(batch, expected=await self.head(batch.session_id)))


class SaysItKeepsTheOrder(MemoryStore):
    async def append(self, batch: Append) -> None:
        for _ in range(batch.entries[0].seq % 7):
            await asyncio.sleep(0)
        await super().append(batch)


class KnowsAllEvidence(MemoryStore):
    async def kept_content(self, hashes: Collection[str], within: Within = None) -> set[str]:
        return set(hashes)


class KeepsTheFirstPolicy(MemoryStore):
    async def adopt(self, adoption: Adoption) -> None:
        await super().adopt(await self.adopted() or adoption)


class WritesKeysBeforeTheHeadIsChecked(MemoryStore):
    async def append(self, batch: Append) -> None:
        if not any((used.principal, used.key) in self._used_keys for used in batch.used_keys):
            self._used_keys.update({(used.principal, used.key): used for used in batch.used_keys})
            batch = replace(batch, used_keys=())
        await super().append(batch)


class WritesPoliciesOfRefusedAppends(MemoryStore):
    async def append(self, batch: Append) -> None:
        self._policies.update(batch.policies)
        await super().append(batch)


class WritesHalfOfARefusedAppend(MemoryStore):
    async def append(self, batch: Append) -> None:
        try:
            await super().append(batch)
        except HeadMoved:
            self._entries.setdefault(batch.session_id, []).append(batch.entries[0])
            raise


class LetsKeysBeUsedTwice(MemoryStore):
    async def append(self, batch: Append) -> None:
        self._used_keys.clear()
        await super().append(batch)


class ForgetsWhoseKeyItIs(MemoryStore):
    async def append(self, batch: Append) -> None:
        if any(key == used.key for used in batch.used_keys for _, key in self._used_keys):
            raise HeadMoved(batch.session_id)
        await super().append(batch)


class TidiesRecordsUp(MemoryStore):
    async def append(self, batch: Append) -> None:
        tidy = [replace(one, record=json.dumps(json.loads(one.record)).encode()) for one in batch.entries]
        await super().append(replace(batch, entries=tidy))


class CutsLongRecords(MemoryStore):
    async def append(self, batch: Append) -> None:
        cut = [replace(one, record=one.record[:1_000_000]) for one in batch.entries]
        await super().append(replace(batch, entries=cut))


class FindsEventsOfOtherSessions(MemoryStore):
    async def seq_of(self, session_id: str, event_id: str) -> int | None:
        return next((seq for (_, known), seq in self._places.items() if known == event_id), None)


class OrdersSessionsLikeAPhoneBook(MemoryStore):
    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        rows = sorted(await super().sessions(None, 1000, within), key=lambda row: row.session_id.casefold())
        return [row for row in rows if after is None or row.session_id > after][:limit]


class ListsSessionsFromAndIncludingTheCursor(MemoryStore):
    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        rows = await super().sessions(None, 1000, within)
        return [row for row in rows if after is None or row.session_id >= after][:limit]


class PagesFromAndIncludingTheCursor(MemoryStore):
    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        return await super().entries(session_id, max(after - 1, 0), limit, max_bytes)


class HoldsLongLedgersAsAWhole(MemoryStore):
    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        return await super().entries(session_id, after, limit)


class StreamsAnEmptyChunkAtTheEnd(MemoryStore):
    async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
        async for chunk in super().stream(session_id, after):
            yield chunk
        yield []


class ReplaysPastTheEnd(MemoryStore):
    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        await super().replay(session_id, after, upto + 1, take)


class KeepsTheFirstSavedState(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(batch)
        del self._saved_states.get(batch.session_id, [])[1:]


class KeepsTheLastSavedState(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(batch)
        del self._saved_states.get(batch.session_id, [])[:-1]


class LosesSavedStates(MemoryStore):
    async def saved_state(self, session_id: str, upto: int | None = None) -> SavedState | None:
        return None


class RevokesAgain(MemoryStore):
    async def revoke_token(self, token_id: str, at: str) -> bool:
        await super().revoke_token(token_id, at)
        return token_id in self._tokens.by_id


class OverwritesCalibrations(MemoryStore):
    async def add_calibration(self, row: CalibrationRow) -> bool:
        self._calibrations.setdefault(row.name, {})[row.version] = row
        return True


class GivesTheFirstCalibration(MemoryStore):
    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        return next(iter(self._calibrations.get(name, {}).values()), None)


class TellsNobody(MemoryStore):
    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return lambda: None


class TellsForEver(MemoryStore):
    def subscribe(self, listener: Listener) -> Callable[[], None]:
        super().subscribe(listener)
        return lambda: None


class TakesAppendsWhenClosed(MemoryStore):
    async def close(self) -> None:
        return None


class WritesRowsBeforeTheHeadIsChecked(MemoryStore):
    async def append(self, batch: Append) -> None:
        for name, rows in batch.projected.items():
            self._projections[name].put(rows)
        await super().append(batch)


class ReplacesRowsAtAnyHead(MemoryStore):
    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        return await super().replace_projection(session_id, await self.head(session_id), name, rows)


class ReplacesRowsOfAllSessions(MemoryStore):
    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        changed = await super().replace_projection(session_id, expected, name, rows)
        if changed and name == "inbox":
            self._inbox.by_id = {row.approval_id: row for row in await self.projected(name, session_id)}  # type: ignore[attr-defined,misc]
        return changed


class AddsRowsInsteadOfReplacingThem(MemoryStore):
    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        kept = await self.projected(name, session_id)
        return await super().replace_projection(session_id, expected, name, kept | set(rows))


class TellsAgainWhatWasRebuilt(MemoryStore):
    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        self._told.clear()
        return await super().replace_projection(session_id, expected, name, rows)


class KnowsNoStrays(MemoryStore):
    async def strays(self, name: str) -> list[str]:
        return []


class LooksAtTheQuotaBeforeItWrites(MemoryStore):
    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        room = self._content._items[bringer.id] < quota.items
        await asyncio.sleep(0)
        enough = replace(quota, items=1000) if room else quota
        await super().put_content(sha256, content, bringer, enough, space)


class CountsWhatWasBroughtTwice(MemoryStore):
    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        await super().put_content(sha256, content, bringer, quota, space)
        self._content._items[bringer.id] += 1


class KeepsWhatIsTooMuch(MemoryStore):
    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        try:
            await super().put_content(sha256, content, bringer, quota, space)
        except QuotaExceeded:
            await super().put_content(sha256, content, bringer, space=space)
            raise


class RemovesWhatWasCitedSince(MemoryStore):
    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        left = set(uncited.left)
        await super().remove_content([], before, uncited)
        return self._content.remove(left & set(hashes), before)


class RemovesWhatIsYoung(MemoryStore):
    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        return await super().remove_content(hashes, "9", uncited)


class CountsWhatWasRemoved(MemoryStore):
    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        counted = self._content._items.copy()
        removed = await super().remove_content(hashes, before, uncited)
        self._content._items = counted
        return removed


class RestsOnNothing(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(replace(batch, rests_on=()))


DEFECTS = [
    kind
    for module in (globals(), vars(space_defects), vars(archive_defects))
    for kind in dict(module).values()
    if isinstance(kind, type) and MemoryStore in kind.__bases__
]


def failures(kind: type[MemoryStore]) -> list[str]:
    """The promises that a store of this kind breaks."""

    class Contract(ProjectionContract):
        async def open(self) -> Store:
            return kind()

    broken: list[str] = []
    for name in dir(Contract):
        if name.startswith("test_"):
            check: Callable[[], Any] = partial(getattr(Contract, name), Contract())
            try:
                check()
            except Exception:
                broken.append(name)
    return broken


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beliefd.testing.appends.PATIENCE_SECONDS", 0.2)


def test_a_sound_store_breaks_no_promise() -> None:
    assert failures(MemoryStore) == []


@pytest.mark.parametrize("kind", DEFECTS, ids=lambda kind: kind.__name__)
def test_a_defect_breaks_a_promise(kind: type[MemoryStore]) -> None:
    assert failures(kind) != []
