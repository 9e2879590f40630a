"""Stores with a plausible defect in how they put sessions away."""

from collections.abc import Collection, Sequence

from beliefd.kernel.values import Head
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.archives import Archived
from beliefd.stores.base import Append, SavedState, SessionRow
from beliefd.stores.citations import Uncited
from beliefd.stores.content import KeptContent
from beliefd.stores.memory import MemoryStore
from beliefd.stores.within import Within


class ForgetsThatItIsElsewhere(MemoryStore):
    async def head(self, session_id: str) -> Head | None:
        entries = self._entries.get(session_id)
        return head_of(entries[-1]) if entries else None


class ListsWhatIsElsewhere(MemoryStore):
    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        stubs = [SessionRow(one.session_id, "", one.head) for one in self._archived.values()]
        return [*stubs, *await super().sessions(after, limit, within)]


class AppendsToWhatIsElsewhere(MemoryStore):
    async def append(self, batch: Append) -> None:
        stub = self._archived.pop(batch.session_id, None)
        await super().append(batch)
        if stub is not None:
            self._archived[batch.session_id] = stub


class ArchivesWhatIsOpen(MemoryStore):
    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        self._archived[stub.session_id], self._cited[stub.session_id] = stub, set(cited)


class RemovesWhatIsHere(MemoryStore):
    async def remove_archived(self, session_id: str, limit: int) -> int:
        removed = len(self._entries[session_id][:limit])
        del self._entries[session_id][:limit]
        return removed


class BringsBackAPart(MemoryStore):
    async def unarchive(self, session_id: str) -> bool:
        return self._archived.pop(session_id, None) is not None


class BelievesWhatComesBack(MemoryStore):
    def _hashes_of(self, entries: Sequence[Sealed]) -> list[bytes]:
        return self._hashes.get(entries[0].event_id.rpartition("-")[0], []) if entries else []


class ForgetsHashes(MemoryStore):
    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        await super().archive(stub, cited)
        self._hashes[stub.session_id] = []


class RemovesWhatArchivesCite(MemoryStore):
    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        self._cited.clear()
        return await super().remove_content(hashes, before, uncited)


class KeepsSavedStatesOfArchives(MemoryStore):
    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        kept: list[SavedState] | None = self._saved_states.get(stub.session_id)
        await super().archive(stub, cited)
        if kept is not None:
            self._saved_states[stub.session_id] = kept
