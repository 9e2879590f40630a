"""A store in a dict: for tests and throw-away sessions. Nothing survives the process."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.base import (
    CHUNK_BYTES,
    Adoption,
    Append,
    CalibrationRow,
    HeadMoved,
    Listener,
    SavedState,
    SessionRow,
    SpaceRow,
    StorageUnavailable,
    Token,
    UsedKey,
    bounded,
)
from beliefd.stores.citations import Uncited
from beliefd.stores.content import UNLIMITED, KeptContent, Quota
from beliefd.stores.listeners import Listeners
from beliefd.stores.memory.archives import MemoryArchives
from beliefd.stores.memory.content import MemoryContent
from beliefd.stores.memory.graph import MemoryGraph
from beliefd.stores.memory.inbox import MemoryInbox
from beliefd.stores.memory.tokens import MemoryTokens
from beliefd.stores.projections import ERASED, GRAPH, INBOX, TOKENS, InboxRow, Row
from beliefd.stores.within import Within


class MemoryStore(MemoryArchives):
    """Every method runs without awaiting, so the event loop itself is the lock."""

    keeps_order = True

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[tuple[str, str], int] = {}
        self._created: dict[str, str] = {}
        self._space_of: dict[str, str] = {}
        self._open: dict[str, str] = {}
        self._spaces: dict[str, SpaceRow] = {}
        self._used_keys: dict[tuple[str, str], UsedKey] = {}
        self._policies: dict[str, bytes] = {}
        self._content = MemoryContent()
        self._calibrations: dict[str, dict[int, CalibrationRow]] = {}
        self._tokens = MemoryTokens()
        self._inbox = MemoryInbox()
        self._told: set[str] = set()
        self._graph = MemoryGraph()
        self._projections: dict[str, Any] = {
            INBOX: self._inbox,
            GRAPH: self._graph,
            TOKENS: self._tokens,
            ERASED: self._content.erased,
        }
        self._adopted: list[Adoption] = []
        self._leases: dict[str, tuple[str, float]] = {}
        self._shared: dict[str, bytes] = {}
        self._listeners = Listeners()
        self._closed = False

    async def append(self, batch: Append) -> None:
        if self._closed:
            raise StorageUnavailable("the store is closed")
        if batch.session_id in self._archived or await self.head(batch.session_id) != batch.expected:
            raise HeadMoved(batch.session_id)
        if any((used.principal, used.key) in self._used_keys for used in batch.used_keys):
            raise HeadMoved(batch.session_id)
        if not self._content.by_hash.keys() >= set(batch.rests_on):
            raise HeadMoved(batch.session_id)
        for name, rows in batch.projected.items():
            self._projections[name].check(rows)
        for name, rows in batch.projected.items():
            self._projections[name].put(rows)
        self._created.setdefault(batch.session_id, batch.created_at)
        self._space_of.setdefault(batch.session_id, batch.space)
        if batch.expected is None:
            self._open[batch.session_id] = batch.declared_by
        if batch.ends:
            self._open.pop(batch.session_id, None)
        self._entries.setdefault(batch.session_id, []).extend(batch.entries)
        for entry in batch.entries:
            self._places[batch.session_id, entry.event_id] = entry.seq
        self._policies.update(batch.policies)
        for used in batch.used_keys:
            self._used_keys[used.principal, used.key] = used
        if batch.saved_state is not None:
            self._saved_states.setdefault(batch.session_id, []).append(batch.saved_state)
        self._listeners.tell(batch.session_id)

    async def head(self, session_id: str) -> Head | None:
        if (stub := self._archived.get(session_id)) is not None:
            raise SessionArchived(stub)
        entries = self._entries.get(session_id)
        return head_of(entries[-1]) if entries else None

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        return self._chunk(session_id, after, limit, max_bytes)

    def _chunk(
        self, session_id: str, after: int, limit: int | None, max_bytes: int | None = CHUNK_BYTES
    ) -> list[Sealed]:
        held = self._entries.get(session_id, [])
        end = len(held) if limit is None else min(len(held), after + limit)
        found = (held[place] for place in range(after, end))
        return bounded(found, max_bytes, lambda entry: len(entry.record))

    async def stream(self, session_id: str, after: int = 0) -> AsyncIterator[list[Sealed]]:
        while chunk := self._chunk(session_id, after, None):
            yield chunk
            after = chunk[-1].seq

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        while chunk := self._chunk(session_id, after, max(upto - after, 0)):
            take([entry.record for entry in chunk])
            after += len(chunk)

    async def seq_of(self, session_id: str, event_id: str) -> int | None:
        return self._places.get((session_id, event_id))

    async def saved_state(self, session_id: str, upto: int | None = None) -> SavedState | None:
        kept = self._saved_states.get(session_id, [])
        return next((one for one in reversed(kept) if upto is None or one.seq <= upto), None)

    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        seen = self._seen(within)
        here = self._entries.keys() - self._archived.keys()
        ids = sorted(sid for sid in here if (after is None or sid > after) and seen(sid))[:limit]
        return [SessionRow(sid, self._created[sid], head_of(self._entries[sid][-1])) for sid in ids]

    async def archives(self, after: str | None, limit: int, within: Within = None) -> list[Archived]:
        seen = self._seen(within)
        known = (self._archived[sid] for sid in sorted(self._archived) if sid > (after or "") and seen(sid))
        return [stub for stub, _ in zip(known, range(limit), strict=False)]

    def _seen(self, within: Within) -> Callable[[str], bool]:
        """Is a session in one of these spaces?"""
        return lambda sid: within is None or self._space_of.get(sid) in within

    async def space_of(self, session_id: str) -> str | None:
        return self._space_of.get(session_id)

    async def open_sessions(self, principal: str) -> int:
        return sum(who == principal for who in self._open.values())

    async def add_space(self, row: SpaceRow) -> bool:
        return self._spaces.setdefault(row.name, row) is row

    async def spaces(self) -> list[SpaceRow]:
        return [self._spaces[name] for name in sorted(self._spaces)]

    async def used_key(self, principal: str, key: str) -> UsedKey | None:
        return self._used_keys.get((principal, key))

    async def policy(self, policy_hash: str) -> bytes | None:
        return self._policies.get(policy_hash)

    async def adopt(self, adoption: Adoption) -> None:
        self._adopted.append(adoption)

    async def adopted(self, policy_hash: str | None = None) -> Adoption | None:
        found = (one for one in reversed(self._adopted) if policy_hash in (None, one.policy_hash))
        return next(found, None)

    async def inbox(
        self, status: str | None, after: str | None, limit: int, within: Within = None
    ) -> list[InboxRow]:
        known, seen = self._inbox.by_id, self._seen(within)
        rows = (known[name] for name in sorted(known) if after is None or name > after)
        return [row for row in rows if status in (None, row.status) and seen(row.session_id)][:limit]

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        return self._inbox.by_id.get(approval_id)

    async def inbox_count(self, principal: str, status: str) -> int:
        return sum(row.principal == principal and row.status == status for row in self._inbox.rows)

    async def inbox_due(self, now: str, limit: int) -> list[InboxRow]:
        rows = self._inbox.rows
        return [row for row in rows if row.expires_at is not None and row.expires_at <= now][:limit]

    async def inbox_untold(self, limit: int) -> list[InboxRow]:
        rows = await self.inbox("pending", None, len(self._inbox.by_id))
        return [row for row in rows if row.approval_id not in self._told][:limit]

    async def inbox_told(self, approval_id: str) -> None:
        self._told.add(approval_id)

    async def inbox_settled(self, limit: int) -> list[InboxRow]:
        rows = (self._inbox.by_id.get(name) for name in sorted(self._told))
        return [row for row in rows if row is not None and row.status != "pending"][:limit]

    async def inbox_forgotten(self, approval_id: str) -> None:
        self._told.discard(approval_id)

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        now = time.monotonic()
        other, until = self._leases.get(name, (holder, now))
        if other != holder and until >= now:
            return False
        self._leases[name] = (holder, now + seconds)
        return True

    async def end_lease(self, name: str, holder: str) -> None:
        if self._leases.get(name, ("", 0.0))[0] == holder:
            del self._leases[name]

    async def share(self, name: str, secret: bytes, *, anew: bool = False) -> bytes:
        if anew or name not in self._shared:
            self._shared[name] = secret
        return self._shared[name]

    async def shared(self, name: str) -> bytes | None:
        return self._shared.get(name)

    async def node_ids(
        self, kind: str, statuses: Sequence[str], after: str | None, limit: int, within: Within = None
    ) -> list[str]:
        return self._graph.node_ids(kind, statuses, after, limit, self._seen(within))

    async def nodes(
        self, kind: str, claim_ids: Sequence[str], limit: int, within: Within = None
    ) -> list[NodeRow]:
        return self._graph.nodes(kind, claim_ids, limit, self._seen(within))

    async def any_node(self, kind: str) -> bool:
        return self._graph.any_node(kind)

    async def links(self, relation: str, second_id: str) -> list[LinkRow]:
        return self._graph.links(relation, second_id)

    async def projected(self, name: str, session_id: str) -> set[Row]:
        return {row for row in self._projections[name].rows if row.session_id == session_id}

    async def replace_projection(
        self, session_id: str, expected: Head | None, name: str, rows: Iterable[Row]
    ) -> bool:
        if await self.head(session_id) != expected:
            raise HeadMoved(session_id)
        wanted = set(rows)
        if await self.projected(name, session_id) == wanted:
            return False
        self._projections[name].replace(session_id, wanted)
        return True

    async def strays(self, name: str) -> list[str]:
        return sorted({row.session_id for row in self._projections[name].rows} - self._entries.keys())

    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        self._content.put(sha256, content, bringer, quota, space)

    async def bringers(self, sha256: str, within: Within = None) -> list[Bringer]:
        return self._content.bringers(sha256, within)

    async def content(self, sha256: str, within: Within = None) -> bytes | None:
        return self._content.content(sha256, within)

    async def kept_content(self, hashes: Collection[str], within: Within = None) -> set[str]:
        return {name for name in hashes if self._content.content(name, within) is not None}

    async def erased(self, hashes: Collection[str]) -> set[str]:
        return self._content.erased.among(hashes)

    async def sweep(self) -> bool:
        return True

    async def about_content(self, sha256: str, within: Within = None) -> KeptContent | None:
        return self._content.about(sha256, within)

    async def content_before(self, before: str, after: str | None, limit: int) -> list[KeptContent]:
        return self._content.before(before, after or "")[:limit]

    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        here = self._entries.keys() - self._archived.keys()
        heads = [(name, self._entries[name][-1].seq) for name in sorted(here)]
        for session_id, known, seq in uncited.unread(heads):
            uncited.take(entry.record for entry in self._entries[session_id][known:seq])
            uncited.read_upto[session_id] = seq
        kept = await self.cited_in_archives(hashes)
        return self._content.remove((uncited.left & set(hashes)) - kept, before)

    async def add_calibration(self, row: CalibrationRow) -> bool:
        versions = self._calibrations.setdefault(row.name, {})
        return versions.setdefault(row.version, row) is row

    async def calibrations(self) -> list[tuple[str, int]]:
        return sorted((name, version) for name, kept in self._calibrations.items() for version in kept)

    async def calibration(self, name: str, version: int | None = None) -> CalibrationRow | None:
        versions = self._calibrations.get(name, {})
        return versions.get(version or max(versions, default=0))

    async def add_token(self, token: Token) -> None:
        self._tokens.put((token,))

    async def tokens(self) -> list[Token]:
        return sorted(self._tokens.by_id.values(), key=lambda token: token.token_id)

    async def revoke_token(self, token_id: str, at: str) -> bool:
        token = self._tokens.by_id.get(token_id)
        if token is None or token.revoked_at is not None:
            return False
        self._tokens.put((replace(token, revoked_at=at),))
        return True

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._listeners.add(listener)

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        self._closed = True
        self._listeners.clear()
