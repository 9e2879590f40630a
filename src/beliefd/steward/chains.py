"""What is known of chains, and entries that were checked against it.

A chain is followed from its beginning once per process. After that, what a reader asks for is hashed as it is
read, on to the next mark: so nothing that was changed since is given out. Nothing that was learned here is
written down: a file with hashes could be changed together with the ledger.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, cast
from weakref import WeakValueDictionary

from msgspec import Struct

from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.ledger.envelope import (
    UNREADABLE,
    Entry,
    LedgerBroken,
    Sealed,
    declaration,
    head_of,
    read,
    read_places,
)
from beliefd.ledger.marks import Marks
from beliefd.ledger.replay import Position, Walk, are_linked, fold
from beliefd.steward.offload import HEAVY_BYTES, offload
from beliefd.stores.base import CHUNK_BYTES, Store

MAX_SESSIONS: Final = 100_000
MAX_MARKS: Final = 1 << 20
"""Some 40 MB. What is forgotten is followed again when it is needed."""
CHECKED_AT_ONCE: Final = 4
MAX_BROKEN: Final = 10_000
CHUNK: Final = 1_000


class Broken(Struct, frozen=True):
    """What is wrong with a ledger, and the head and rows in which that was seen."""

    error: LedgerBroken
    seen: tuple[object, ...]

    def afresh(self) -> LedgerBroken:
        """What is raised keeps the frames that it passed, and the bodies in them: each caller has its own."""
        return _afresh(self.error)


async def _never(_: str) -> bool:
    return False


class Chains:
    """Marks of all chains that were followed here, and the verdict on those that do not hold."""

    def __init__(
        self,
        store: Store,
        on_broken: Callable[[str], None] = lambda _: None,
        is_imported: Callable[[str], Awaitable[bool]] = _never,
    ) -> None:
        self.store = store
        self._on_broken = on_broken
        self._is_imported = is_imported
        self._looked_at: set[str] = set()
        self._known: OrderedDict[str, Marks] = OrderedDict()
        self._marks = 0
        self._following: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(CHECKED_AT_ONCE)
        self._broken: dict[str, Broken] = {}
        self.scrubbed = 0
        """Entries that were followed only to see whether they hold."""

    @property
    def broken(self) -> Mapping[str, Broken]:
        """By session, what was found broken and not found whole since."""
        return self._broken

    # -- what is known -----------------------------------------------------------------------------

    def known(self, session_id: str) -> Marks:
        return self._known.get(session_id) or Marks()

    def grown(self, session_id: str, entries: Sequence[Sealed]) -> None:
        """Entries were written here, after what is known: the next ones of the chain."""
        marks = self._known.get(session_id)
        if marks is None or entries[0].seq != marks.seq + 1:
            if entries[0].seq != 1:
                return  # they are followed when somebody reads them
            marks = Marks()
            self.learn(session_id, marks)
            self._looked_at.add(session_id)  # its row was written with it
        before = marks.count
        marks.extend([one.hash for one in entries], [one.record for one in entries])
        self._marks += marks.count - before

    def learn(self, session_id: str, marks: Marks) -> None:
        """A chain was followed from what is known of it, or from its beginning."""
        known = self._known.get(session_id)
        before = 0 if known is None else known.count
        if known is None or not known.join(marks):
            if marks.start[0]:
                return  # what it went on from is not known any more
            self.forget(session_id)
            known, before = marks, 0
            self._known[session_id] = marks
        self._known.move_to_end(session_id)
        self._marks += known.count - before
        while len(self._known) > 1 and (len(self._known) > MAX_SESSIONS or self._marks > MAX_MARKS):
            self._marks -= self._known.popitem(last=False)[1].count

    def forget(self, session_id: str) -> None:
        self._looked_at.discard(session_id)
        if (marks := self._known.pop(session_id, None)) is not None:
            self._marks -= marks.count

    async def reached(self, session_id: str) -> Head | None:
        """The head of a session, after its chain was followed up to there."""
        head = await self._head(session_id)
        if head is None or self.known(session_id).end == (head.seq, head.hash):
            return head
        lock = self._following.setdefault(session_id, asyncio.Lock())
        async with lock:  # many who ask at once wait for the one who follows it
            head = await self._head(session_id)
            if head is not None and self.known(session_id).end != (head.seq, head.hash):
                await self.refuse_if_broken(session_id)
                await self._follow(session_id, head)
        return head

    async def _head(self, session_id: str) -> Head | None:
        try:
            return await self.store.head(session_id)
        except LedgerBroken as error:
            await self.condemn(session_id, error)
            raise

    async def _follow(self, session_id: str, head: Head) -> None:
        for marks in (self.known(session_id), Marks()):
            walk = Walk(Marks(*marks.end))
            try:
                await self.store.replay(session_id, marks.seq, head.seq, walk.take)
            except LedgerBroken:
                pass
            else:
                if walk.marks.end == (head.seq, head.hash) and await self._has_its_rows(session_id):
                    self.learn(session_id, walk.marks)
                    return
            # A backup may have been restored under us: then what is known here never happened there.
            self.forget(session_id)
            if not marks.seq:
                break
        raise await self.condemned(session_id)

    async def _has_its_rows(self, session_id: str) -> bool:
        try:
            await self.check_rows(session_id)
        except LedgerBroken:
            return False
        return True

    async def check_rows(self, session_id: str) -> None:
        """Look once, for each that is followed, at what its rows say beside the records.

        INVARIANT: a session is in the space that its first event names. Who imports one says in which. Rights
        and lists go by its row. And what is written next is linked to an event whose row says what it is.
        """
        if session_id in self._looked_at or (head := await self.store.head(session_id)) is None:
            return
        first = await self.store.entries(session_id, 0, 1)
        last = await self.store.entries(session_id, head.seq - 1, 1)
        if not first or not last:
            raise LedgerBroken(head.seq, head.event_id, "it is not the head that was promised")
        if head_of(last[0]) != head or _entry(last[0]).event_id != head.event_id:
            raise LedgerBroken(head.seq, head.event_id, "its row says otherwise than its bytes")
        said, declared = await self.store.space_of(session_id), _declared_space(first[0])
        # The server's own ledger may be older than its space.
        fits = said == declared or (session_id == SYSTEM and said == SYSTEM)
        if not fits and not await self._is_imported(session_id):
            # INVARIANT: whoever may read what its row says learns nothing of the space that it is from.
            raise LedgerBroken(1, None, "its row says that it is in another space than it began in")
        if len(self._looked_at) >= MAX_SESSIONS:
            self._looked_at.clear()
        self._looked_at.add(session_id)

    # -- what does not hold ------------------------------------------------------------------------

    async def condemned(self, session_id: str) -> LedgerBroken:
        """Find the first event of a broken ledger that does not hold, and remember it.

        Whole entries, one after the other, say more precisely than a walk what is wrong, and where.
        """
        head: Head | None = None
        error: LedgerBroken | None = None
        position: Position | None = None
        try:
            head = await self.store.head(session_id)
            async for chunk in self.store.stream(session_id):
                within = [one for one in chunk if head is not None and one.seq <= head.seq]
                position = await offload(is_long(within), fold, within, position)
                if len(within) < len(chunk):
                    break
            if position is not None and head is not None and position.head.hash == head.hash:
                await self.check_rows(session_id)
        except LedgerBroken as broken:
            error = broken
        if error is None:
            seq, event_id = (0, None) if head is None else (head.seq, head.event_id)
            error = LedgerBroken(seq, event_id, "it is not the head that was promised")
            if position is None or position.head == head:
                return error  # it was put right since: whoever comes next will see
        await self.condemn(session_id, error)
        return error

    async def condemn(self, session_id: str, error: LedgerBroken) -> None:
        """From now on nothing is read from this ledger and nothing is added to it, until it is changed."""
        self.forget(session_id)
        if session_id in self._broken or len(self._broken) < MAX_BROKEN:
            self._broken[session_id] = Broken(_afresh(error), await self._rows_around(session_id, error.seq))
        self._on_broken(session_id)

    def acquit(self, session_id: str) -> bool:
        """It was followed and holds; True if it did not before."""
        return self._broken.pop(session_id, None) is not None

    async def refuse_if_broken(self, session_id: str) -> None:
        """Raise what is wrong with a ledger, as long as the wrong rows are still there.

        To find that out again by hashing all of it would let anybody keep the server busy.
        """
        broken = self._broken.get(session_id)
        if broken is None:
            return
        if await self._rows_around(session_id, broken.error.seq) == broken.seen:
            raise broken.afresh()
        self.acquit(session_id)

    async def _rows_around(self, session_id: str, seq: int) -> tuple[object, ...]:
        try:
            entries = await self.store.entries(session_id, max(seq - 2, 0), 2)
            rows = [(one.seq, one.event_id, one.hash, sha256(one.record).digest()) for one in entries]
            return (await self.store.head(session_id), await self.store.space_of(session_id), *rows)
        except LedgerBroken as error:  # the rows cannot even be read
            return (str(error),)

    # -- entries that were checked -----------------------------------------------------------------

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        """What the store has, if it is on the chain. Raises LedgerBroken if it is not."""
        for _ in range(2):
            await self.reached(session_id)
            marks = self.known(session_id)
            if limit == 0 or after >= marks.seq:
                return []
            async with self._room:  # before anything is read: those who wait hold nothing
                found = await self.store.entries(session_id, after, limit, max_bytes)
                # What is past the end came since, or was put there by somebody who left the head as it was.
                found = [one for one in found if one.seq <= marks.seq]
                if found and await self._hold(session_id, marks, after, found):
                    return found
            self.forget(session_id)
        raise LedgerBroken(after + 1, None, "its row says otherwise than its bytes")

    async def stream(
        self, session_id: str, after: int = 0, upto: int | None = None
    ) -> AsyncIterator[list[Sealed]]:
        """The same in chunks, each of which was checked before it is handed out."""
        while upto is None or after < upto:
            limit = CHUNK if upto is None else min(CHUNK, upto - after)
            if not (chunk := await self.entries(session_id, after, limit, CHUNK_BYTES)):
                return
            yield chunk
            after = chunk[-1].seq

    async def seq_of(self, session_id: str, event_id: str) -> int | None:
        """Where an event stands. INVARIANT: an index is believed if the chain has that event there."""
        seq = await self.store.seq_of(session_id, event_id)
        if seq is None:
            return None
        at = await self.entries(session_id, seq - 1, 1) if seq > 0 else []
        if at and at[0].event_id == event_id:
            return seq
        return await self.search(session_id, event_id)

    async def search(self, session_id: str, event_id: str) -> int | None:
        """The same without any index, by looking at all that is there."""
        async for chunk in self.stream(session_id):
            for one in chunk:
                if one.event_id == event_id:
                    return one.seq
        return None

    async def _hold(self, session_id: str, marks: Marks, after: int, found: list[Sealed]) -> bool:
        end, promised = marks.next_to(found[-1].seq)
        rest: list[bytes] = []
        if end > found[-1].seq:
            await self.store.replay(session_id, found[-1].seq, end, rest.extend)
        # The page may be one entry, and what leads from it to the next mark far more.
        heavy = is_long(found) or sum(map(len, rest)) > HEAVY_BYTES
        return await offload(heavy, _lead_to, promised, after, found, rest)


def _afresh(error: LedgerBroken) -> LedgerBroken:
    return LedgerBroken(error.seq, error.event_id, error.reason)


def _entry(sealed: Sealed) -> Entry:
    try:
        return read(sealed.record)
    except UNREADABLE as error:
        raise LedgerBroken(sealed.seq, sealed.event_id, f"it cannot be read: {error}") from None


def _declared_space(first: Sealed) -> str:
    try:
        return declaration(_entry(first)).space or DEFAULT_SPACE
    except UNREADABLE as error:
        raise LedgerBroken(1, first.event_id, f"it declares nothing: {error}") from None


def _lead_to(promised: str, after: int, found: list[Sealed], rest: list[bytes]) -> bool:
    """Does the chain lead from these entries over the rest to the hash that was promised?

    INVARIANT: that a part follows what comes before it says nothing for it; what comes after it does.
    """
    records = [*(one.record for one in found), *rest]
    hashes = [sha256(record).hexdigest() for record in records]
    try:
        places = read_places(records)
    except UNREADABLE:
        return False
    said = [(one.seq, one.event_id, hash_) for one, hash_ in zip(places, hashes, strict=True)]
    return (
        hashes[-1] == promised
        and are_linked(places, hashes, after, places[0].prev_hash)
        and said[: len(found)] == [(one.seq, one.event_id, one.hash) for one in found]
    )


def is_long(entries: Sequence[Sealed]) -> bool:
    return sum(len(one.record) for one in entries) > HEAVY_BYTES


class _Checked:
    """A store whose entries, and where they stand, come from its chains; all else is as the store has it."""

    def __init__(self, chains: Chains) -> None:
        self._store = chains.store
        self.entries = chains.entries
        self.stream = chains.stream
        self.seq_of = chains.seq_of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def checked(chains: Chains) -> Store:
    """The store for all who read: INVARIANT: what they are given was checked against the chain."""
    return cast(Store, _Checked(chains))
