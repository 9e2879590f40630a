"""Where a session stands: from memory if fresh, else from a checked saved state and the rest."""

import asyncio
from collections import OrderedDict
from contextlib import nullcontext
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.evolve import begin
from beliefd.kernel.state import Session
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head
from beliefd.ledger.envelope import UNREADABLE, LedgerBroken, Sealed, declaration, head_of, read
from beliefd.ledger.replay import Folding, Position, fold
from beliefd.ledger.state_hash import SURVIVORS_HASH, state_document, state_of
from beliefd.steward.chains import Chains
from beliefd.steward.failures import not_found
from beliefd.steward.offload import HEAVY_BYTES, is_heavy, offload
from beliefd.steward.write.sizes import Authors, Size, Sizes, weighed
from beliefd.stores.archives import SessionArchived
from beliefd.stores.base import SavedState, Store

MAX_SESSIONS = 10_000
MAX_HYPOTHESES = 5_000_000
MAX_BYTES = 256 * 1024 * 1024
"""Of the states that are kept, as they would be saved; in memory they take several times that."""
LARGE: Final = 8 * 1024 * 1024
LARGE_AT_ONCE: Final = 2
"""So many states known to be large are loaded at once: each takes several times its size."""


class Positions:
    """An LRU of positions, bounded by sessions, by hypotheses and by bytes. Only a cache: the store is the
    truth.

    INVARIANT: every state here was folded from a chain that was followed from its beginning in this process.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: OrderedDict[str, Position] = OrderedDict()
        self._weight = 0
        self.chains = Chains(store, self._forget, self._is_imported)
        self.sizes = Sizes()
        self.authors = Authors(store)
        self._loading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(LARGE_AT_ONCE)

    @property
    def bytes(self) -> int:
        return self.sizes.bytes

    def __len__(self) -> int:
        return len(self._cache)

    def cached(self, session_id: str) -> Position | None:
        position = self._cache.get(session_id)
        if position is not None:
            self._cache.move_to_end(session_id)
        return position

    def keep(self, position: Position, grown: int = 0, whole: int | None = None) -> None:
        """Remember where a session stands. `grown` is how many bytes of records it has moved on by, which is
        at least what its state has grown by: from what is known here, or from a state of the size `whole`.
        """
        session_id = position.session.session_id
        if session_id in self.chains.broken:
            return  # it was decided before that came to light; nothing more is decided on it
        known = self._cache.get(session_id)
        if known is None:
            self._weight += len(position.session.beliefs.survivors.universe)
        elif known.head.seq > position.head.seq:
            return  # a slow reader does not take back what a writer has put here since
        self._cache[session_id] = position
        self.sizes.put(session_id, self._size(position, grown, whole))
        while self._is_full and (name := self._unused(session_id)) is not None:
            dropped = self._cache.pop(name)
            self._weight -= len(dropped.session.beliefs.survivors.universe)
            self.sizes.drop(name)

    @property
    def _is_full(self) -> bool:
        return len(self._cache) > MAX_SESSIONS or self._weight > MAX_HYPOTHESES or self.bytes > MAX_BYTES

    def _unused(self, kept: str) -> str | None:
        """Which one goes first. The server's own stays: it is asked whenever another is loaded."""
        return next((name for name in self._cache if name not in (kept, SYSTEM)), None)

    def _size(self, position: Position, grown: int, whole: int | None) -> Size:
        if whole is not None:
            return weighed(whole).grown(grown)
        before = self.sizes.of(position.session.session_id)
        if before is not None:
            return before.grown(grown)
        if grown > 0 and position.head.seq == 1:
            return Size(grown)
        return weighed(len(pack(position.session, 0).state))  # a small one, dropped while it was written

    @property
    def limit(self) -> int:
        return MAX_BYTES

    async def fresh(self, session_id: str) -> Position | None:
        """The position at the store's head."""
        known = self.cached(session_id)
        head = await self._head(session_id)
        if known is not None and known.head == head:
            return known
        return await self.reload(session_id)

    async def _head(self, session_id: str) -> Head | None:
        try:
            return await self._store.head(session_id)
        except SessionArchived:
            self.forget(session_id)  # by another process: what is known here is of no use
            raise

    def forget(self, session_id: str) -> None:
        self._forget(session_id)
        self.chains.forget(session_id)

    async def reload(self, session_id: str) -> Position | None:
        """Fold what the store holds past what is known here; who asks meanwhile waits for that."""
        async with self._loading.setdefault(session_id, asyncio.Lock()):
            return await self._reload(session_id)

    async def _reload(self, session_id: str) -> Position | None:
        start = self.cached(session_id)
        head = await self._head(session_id)
        if start is not None and head is not None:
            try:
                return await self._folded(session_id, start, head)
            except LedgerBroken:
                # It is broken, or somebody restored a backup: what is known here never happened there.
                self.forget(session_id)
        elif head is None:
            self._forget(session_id)
            return None
        return await self._load(session_id)

    async def _load(self, session_id: str) -> Position | None:
        """Fold a session that is not known here, from its saved state or its beginning to its head."""
        await self.chains.refuse_if_broken(session_id)
        size = self.sizes.of(session_id)
        is_large = session_id != SYSTEM and size is not None and size.bytes > LARGE
        async with self._room if is_large else nullcontext():
            start, whole = await self._from_saved_state(session_id)
            head = await self._store.head(session_id)
            if head is None:
                return None
            try:
                return await self._folded(session_id, start, head, whole)
            except LedgerBroken:
                raise await self.chains.condemned(session_id) from None

    async def _folded(
        self, session_id: str, start: Position | None, head: Head, whole: int | None = None
    ) -> Position:
        """Fold from `start` to the head, and keep it. A state from the store had the size `whole`."""
        folding = Folding(start)
        after = 0 if start is None else start.head.seq
        await self._store.replay(session_id, after, head.seq, folding.take)
        if folding.position is None or folding.position.head != head:
            raise LedgerBroken(head.seq, head.event_id, "it is not the head that was promised")
        await self.chains.check_rows(session_id)
        self.chains.learn(session_id, folding.marks)
        position = await self._marked(folding.position)
        grown = folding.read
        if whole is not None and grown > whole:  # records may be far longer than what they leave behind
            packed = await offload(grown > HEAVY_BYTES, pack, position.session, 0)
            grown, whole = 0, len(packed.state)
        self.keep(position, grown, whole)
        return position

    async def _is_imported(self, session_id: str) -> bool:
        own = None if session_id == SYSTEM else await self.fresh(SYSTEM)
        return own is not None and session_id in own.session.system.imported

    async def _marked(self, position: Position) -> Position:
        """The position with what the server's own ledger knows of where it came from.

        An import is said there before it is stored, so whoever finds the session finds that, too.
        """
        session = position.session
        if session.session_id == SYSTEM or (own := await self.fresh(SYSTEM)) is None:
            return position
        foreign = own.session.system.imported.get(session.session_id)
        return replace(position, due=None if foreign == session.transfers.foreign else foreign)

    def _forget(self, session_id: str) -> None:
        if (position := self._cache.pop(session_id, None)) is not None:
            self._weight -= len(position.session.beliefs.survivors.universe)
        self.sizes.forget(session_id)

    async def at(self, session_id: str, seq: int) -> Position | None:
        """The position right after event `seq`, folded from the saved state before it."""
        known = self.cached(session_id)
        if known is not None and known.head.seq == seq:
            return known
        position, _ = await self._from_saved_state(session_id, seq)
        after = 0 if position is None else position.head.seq
        async for chunk in self.chains.stream(session_id, after, seq):
            position = await offload(is_heavy(chunk), fold, chunk, position)
        return None if position is None else await self._marked(position)

    async def as_of(self, session_id: str, at: int | None) -> Position:
        """The newest position; or the one right after event `at`, which must have happened."""
        position = await self.existing(session_id)
        if at is None or at == position.head.seq:
            return position
        if not 1 <= at <= position.head.seq:
            raise invalid(f"`at` must be between 1 and {position.head.seq}", "at")
        return await self.at(session_id, at) or position

    async def existing(self, session_id: str) -> Position:
        position = await self.fresh(session_id)
        if position is None:
            raise session_not_found(session_id)
        return position

    async def _from_saved_state(
        self, session_id: str, upto: int | None = None
    ) -> tuple[Position | None, int]:
        """The newest, and how large it is.

        INVARIANT: a saved state counts if an entry vouches for it to which the chain was followed.
        """
        saved = await self._store.saved_state(session_id, upto)
        if saved is None or saved.seq < 1:
            return None, 0
        first = await self.chains.entries(session_id, 0, 1)
        at = await self.chains.entries(session_id, saved.seq - 1, 1)
        if not first or not at:
            return None, 0
        size = len(saved.state)
        position = await offload(is_heavy(first) or size > HEAVY_BYTES, _restored, saved, first[0], at[0])
        return position, 0 if position is None else size


def _restored(saved: SavedState, first: Sealed, sealed: Sealed) -> Position | None:
    try:
        declared, vouching = read(first.record), read(sealed.record)
        begun = begin(declared.session_id, declaration(declared))
    except UNREADABLE:
        return None  # folding from the beginning will say what is wrong
    session = unpack(saved, begun, vouching.state_hash)
    return None if session is None else Position(session, head_of(sealed))


def pack(session: Session, seq: int) -> SavedState:
    document = state_document(session)
    return SavedState(
        seq, msgspec.msgpack.encode({"document": document, "bitmap": session.beliefs.survivors.to_bytes()})
    )


def unpack(saved: SavedState, begun: Session, state_hash: str | None) -> Session | None:
    """The cached state, or None if it is not exactly the state that the chain vouches for."""
    try:
        packed: dict[str, Any] = msgspec.msgpack.decode(saved.state)
        document = packed["document"]
        survivors = Survivors.from_bytes(begun.beliefs.survivors.universe, packed["bitmap"])
        if digest(document) != state_hash or document[SURVIVORS_HASH] != survivors.digest:
            return None
        return state_of(document, begun, survivors)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None


async def existing_head(store: Store, session_id: str) -> Head:
    head = await store.head(session_id)
    if head is None:
        raise session_not_found(session_id)
    return head


def session_not_found(session_id: str) -> BeliefdError:
    return not_found(Code.SESSION_NOT_FOUND, "session", session_id)
