"""Ledgers of sealed sessions out of the store, and back.

A ledger leaves in steps, and is whole on one side at least after each of them: somebody has written it to a
file and says its hash, which must be that of the export as it is now; its events have leaves in the log; the
hash of each is kept; the server's own ledger says where it goes; the stub is written, and from then on the
session is archived; its events are removed. What was killed after that is finished by the next one. It comes
back event by event behind the stub, each compared with the hash that was kept, and is there when all are.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.commands import ArchiveLedger, UnarchiveLedger
from beliefd.kernel.system.events import LedgerArchived
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head, Principal
from beliefd.ledger.envelope import LedgerBroken, Sealed, head_of, read
from beliefd.ledger.marks import Marks
from beliefd.ledger.replay import Position, Walk
from beliefd.ledger.transfer import BadExport, Header, entry_lines, header_line, read_entry, read_header
from beliefd.steward.environment import Environment
from beliefd.steward.handlers.ledger import DecidedUnder, kept_parts
from beliefd.steward.log import Log
from beliefd.steward.offload import in_pool
from beliefd.steward.write.positions import Positions, session_not_found
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.archives import HASHES, Archived
from beliefd.stores.base import HeadMoved, StorageUnavailable, Store
from beliefd.stores.citations import mentioned_in
from beliefd.stores.within import Within

CHUNK: Final = HASHES * 32
"""So many events come back in one transaction."""
AT_ONCE: Final = 5_000
"""So many are removed in one."""


async def exported(
    store: Store, positions: Positions, session_id: str, with_parts: bool = False, within: Within = None
) -> AsyncIterator[list[bytes]]:
    """The lines of a ledger, the header first, some at a time; checked before the first of them is given."""
    chains, under = positions.chains, DecidedUnder(store)
    head, last = await chains.reached(session_id), None
    parts: dict[str, bytes] = {}
    if head is None:
        raise session_not_found(session_id)
    async for entries in chains.stream(session_id, 0, head.seq):
        await under.take(entries)
        if with_parts:
            parts |= await kept_parts(under, entries, within)
        last = head_of(entries[-1])
    # INVARIANT: what is given out can be verified where it comes in.
    if last != head:
        raise LedgerBroken(head.seq, head.event_id, "it is not the head that was promised")
    if under.missing:
        text = f"policy `{min(under.missing)}`, which it was decided under, is not in the store"
        raise LedgerBroken(head.seq, head.event_id, text)
    yield [header_line(session_id, head, under.documents, parts)]
    # It is read twice, so that it need not be held: the header says which policies there are.
    async for entries in chains.stream(session_id, 0, head.seq):
        yield list(entry_lines(entries))


class Archiving(Struct, frozen=True):
    """INVARIANT: a ledger is in the store, or it was in a file whose hash somebody named who has read it."""

    store: Store
    positions: Positions
    tree: Log
    system: SystemLedger
    environment: Environment

    async def archive(self, session_id: str, place: str, sha256: str, by: Principal) -> Archived:
        known = await self.store.archived(session_id)
        if known is not None:  # killed, or asked twice
            if known.file_sha256 != sha256:
                text = f"session `{session_id}` is archived already, in a file with another hash"
                raise BeliefdError(Code.CONFLICT, text, {"path": "$.sha256", "place": known.place})
            await self._remove(session_id)
            return known
        position = await self.positions.existing(session_id)
        self._refuse_unsealed(position)
        await self.tree.add([session_id])
        await self._refuse_other_file(session_id, sha256)
        cited = await self._keep_hashes(session_id, position.head)
        stub = await self._said(position.head, session_id, place, sha256, by)
        try:
            await self.store.archive(stub, cited)
        except HeadMoved:
            text = "the session has changed meanwhile; export it again"
            raise BeliefdError(Code.CONFLICT, text, {"path": "$.session_id"}) from None
        self.positions.forget(session_id)
        await self._remove(session_id)
        return stub

    def _refuse_unsealed(self, position: Position) -> None:
        if position.session.transfers.seal is None or position.due is not None:
            text = f"session `{position.session.session_id}` is not sealed; seal it first, then export it"
            raise BeliefdError(Code.CONFLICT, text, {"path": "$.session_id"})

    async def _refuse_other_file(self, session_id: str, sha256: str) -> None:
        digest = hashlib.sha256()
        async for lines in exported(self.store, self.positions, session_id):
            await in_pool("question", digest.update, b"".join(lines))
        if digest.hexdigest() != sha256:
            text = (
                f"the ledger as it is exported now has the hash `{digest.hexdigest()}`, and the file"
                f" `{sha256}`: export it again, and say the hash of what was written"
            )
            raise BeliefdError(Code.ARCHIVE_INVALID, text, {"path": "$.sha256"})

    async def _keep_hashes(self, session_id: str, head: Head) -> set[str]:
        """Keep the hash of each event, and find out which content they mention."""
        cited: set[str] = set()
        after = 0
        while after < head.seq:
            chunk: list[Sealed] = []
            while len(chunk) < CHUNK and after + len(chunk) < head.seq:
                more = await self.store.entries(session_id, after + len(chunk), CHUNK - len(chunk), 4 << 20)
                if not more:
                    raise LedgerBroken(after + len(chunk) + 1, None, "it is not there")
                chunk += more
            await self.store.keep_hashes(session_id, after + 1, [one.hash for one in chunk])
            found = await in_pool("question", mentioned_in, [one.record for one in chunk])
            cited |= await self.store.kept_content(found)
            after += len(chunk)
        return cited

    async def _said(self, head: Head, session_id: str, place: str, sha256: str, by: Principal) -> Archived:
        # INVARIANT: where a ledger went is on record before it is gone.
        command = ArchiveLedger(session_id=session_id, head=head, file_sha256=sha256, place=place)
        noted = (await self.system.record(command, by)).head.seq
        return Archived(session_id, head, place, sha256, self.environment.now(), by.id, noted)

    async def _remove(self, session_id: str) -> None:
        while await self.store.remove_archived(session_id, AT_ONCE):
            pass

    # -- and back ------------------------------------------------------------------------------------

    async def bring_back(
        self, session_id: str, lines: Iterable[bytes], by: Principal, place: str = ""
    ) -> Archived:
        """Put an archived ledger back from the lines of its file. Nothing changes if they are not its."""
        stub = await self._stub(session_id)
        try:
            await self._put_back(stub, iter(lines))
            command = UnarchiveLedger(session_id=session_id, head=stub.head, place=place or stub.place)
            await self.system.record(command, by)
            if not await self.store.unarchive(session_id):
                raise StorageUnavailable("it is not known whether it was written: try it again")
        except BaseException:
            if await self.store.archived(session_id) is not None:
                await self._remove(session_id)
            raise
        return stub

    async def _stub(self, session_id: str) -> Archived:
        stub = await self.store.archived(session_id)
        if stub is None:
            await self.positions.existing(session_id)
            raise BeliefdError(Code.CONFLICT, f"session `{session_id}` is not archived: it is here")
        # INVARIANT: a row is believed if the server's own ledger says the same.
        at = await self.positions.chains.entries(SYSTEM, stub.noted - 1, 1)
        said = read(at[0].record).delta if at else None
        if not isinstance(said, LedgerArchived) or (said.session_id, said.head, said.file_sha256) != (
            session_id,
            stub.head,
            stub.file_sha256,
        ):
            text = "its row in the store is not what the server's own ledger says of it"
            raise BeliefdError(Code.LEDGER_BROKEN, f"session `{session_id}`: {text}")
        return stub

    async def _put_back(self, stub: Archived, lines: Iterator[bytes]) -> None:
        name, head = stub.session_id, stub.head
        header = _header(next(lines, b""))
        if header.session_id != name:
            raise _not_it(f"it is the ledger of session `{header.session_id}`, not of `{name}`")
        if header.head != head:
            raise _not_it(f"it ends with event {header.head.seq}, hash {header.head.hash}, not with its seal")
        walk, at = Walk(Marks()), 0
        while at < head.seq:
            chunk = await in_pool("question", _entries, list(islice(lines, CHUNK)), at)
            if not chunk:
                raise _not_it(f"it is cut: event {at + 1} of {head.seq} is missing")
            kept = await self.store.archived_hashes(name, at, len(chunk))
            for one, hash_ in zip(chunk, [*kept, *[b""] * len(chunk)], strict=False):
                if hashlib.sha256(one.record).digest() != hash_:
                    raise _not_it(f"event {one.seq} is damaged: its hash is another than was kept of it")
            try:
                await in_pool("question", walk.take, [one.record for one in chunk])
            except LedgerBroken as error:
                raise _not_it(str(error)) from None
            await self.store.put_archived(name, chunk)
            at += len(chunk)
        if walk.marks.end != (head.seq, head.hash) or next(lines, b"").strip():
            raise _not_it(f"it does not end with event {head.seq}, hash {head.hash}")


def _entries(lines: list[bytes], after: int) -> list[Sealed]:
    found = [_read_entry(line, after + number) for number, line in enumerate(lines, 1) if line.strip()]
    for number, one in enumerate(found, after + 1):
        if one.seq != number:
            raise _not_it(f"event {number} is missing: event {one.seq} stands in its place")
    return found


def _read_entry(line: bytes, seq: int) -> Sealed:
    try:
        return read_entry(line, seq + 1)
    except BadExport as error:
        raise _not_it(f"event {seq} cannot be read: {error}") from None


def _header(line: bytes) -> Header:
    try:
        return read_header(line)
    except BadExport as error:
        raise _not_it(f"it is no exported ledger: {error}") from None


def _not_it(why: str) -> BeliefdError:
    return BeliefdError(Code.ARCHIVE_INVALID, f"the archive is refused, and nothing was put back: {why}")
