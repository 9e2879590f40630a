"""Archived sessions in memory."""

import json
from collections.abc import Collection, Sequence

from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.archives import Archived
from beliefd.stores.base import HeadMoved, SavedState, StorageUnavailable
from beliefd.stores.memory.log import MemoryLog


class MemoryArchives(MemoryLog):
    """That part of the store; every method runs without awaiting."""

    def __init__(self) -> None:
        super().__init__()
        self._archived: dict[str, Archived] = {}
        self._hashes: dict[str, list[bytes]] = {}
        self._cited: dict[str, set[str]] = {}
        self._saved_states: dict[str, list[SavedState]] = {}

    async def keep_hashes(self, session_id: str, first_seq: int, hashes: Sequence[str]) -> None:
        if session_id in self._archived:
            raise StorageUnavailable("nothing was written: the session is archived")
        held = self._hashes.setdefault(session_id, [])
        held[first_seq - 1 :] = [bytes.fromhex(one) for one in hashes]

    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        name, entries = stub.session_id, self._entries.get(stub.session_id, [])
        if name in self._archived or not entries or head_of(entries[-1]) != stub.head:
            raise HeadMoved(name)
        if self._covered(name) != stub.head.seq or self._hashes_of(entries) != self._hashes.get(name):
            raise HeadMoved(name)
        if json.loads(entries[-1].record).get("delta", {}).get("kind") != "session_sealed":
            raise HeadMoved(name)
        self._archived[name], self._cited[name] = stub, set(cited)
        self._saved_states.pop(name, None)

    def _hashes_of(self, entries: Sequence[Sealed]) -> list[bytes]:
        return [bytes.fromhex(one.hash) for one in entries]

    async def remove_archived(self, session_id: str, limit: int) -> int:
        if session_id not in self._archived:
            raise StorageUnavailable("nothing was removed: the session is not archived")
        held = self._entries[session_id]
        count = min(limit, len(held))
        del held[:count]
        return count

    async def put_archived(self, session_id: str, entries: Sequence[Sealed]) -> None:
        if session_id not in self._archived:
            raise StorageUnavailable("nothing was written: the session is not archived")
        held = {one.seq: one for one in self._entries[session_id]}
        self._entries[session_id] = [
            one for _, one in sorted({**{one.seq: one for one in entries}, **held}.items())
        ]

    async def unarchive(self, session_id: str) -> bool:
        held = self._entries.get(session_id, [])
        if session_id not in self._archived or self._hashes_of(held) != self._hashes[session_id]:
            return False
        for known in (self._archived, self._hashes, self._cited):
            known.pop(session_id, None)
        return True

    async def archived(self, session_id: str) -> Archived | None:
        return self._archived.get(session_id)

    async def archived_hashes(self, session_id: str, after: int, limit: int) -> list[bytes]:
        return self._hashes.get(session_id, [])[after : after + limit]

    async def cited_in_archives(self, hashes: Collection[str]) -> set[str]:
        return set(hashes) & set().union(*self._cited.values())
