"""Archived sessions in a database. Its triggers say what may be removed when; nobody has to be believed."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from beliefd.kernel.values import Head
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.merkle import HASH_BYTES
from beliefd.stores.archives import HASHES, Archived
from beliefd.stores.base import HeadMoved, StorageUnavailable
from beliefd.stores.sql.database import Database, Steps, as_bytes
from beliefd.stores.within import Within

_STUB: Final = (
    "SELECT session_id, head_seq, head_event_id, head_hash, place, file_sha256, archived_at, archived_by,"
    " noted FROM archives"
)
# The row is locked, whoever appends waits, and finds that it cannot any more.
_HELD: Final = (
    "UPDATE sessions SET ended = ended WHERE session_id = $1 AND head_seq = $2 AND head_hash = $3"
    " AND archived = 0 RETURNING session_id"
)
_COVERED: Final = (
    "SELECT first_seq + length - 1 FROM log_runs WHERE session_id = $1 ORDER BY first_seq DESC LIMIT 1"
)
_PUT_STUB: Final = (
    "INSERT INTO archives (session_id, head_seq, head_event_id, head_hash, place, file_sha256, archived_at,"
    " archived_by, noted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
)
_THERE: Final = "SELECT seq FROM audit_events WHERE session_id = $1 AND seq >= $2 AND seq <= $3"
AT_ONCE: Final = 200
"""So many rows one statement takes."""
_REMOVE: Final = (
    "DELETE FROM audit_events WHERE session_id = $1 AND seq IN ("
    "SELECT seq FROM audit_events WHERE session_id = $1 ORDER BY seq LIMIT $2) RETURNING seq"
)


class Archives(Database):
    """That part of the store."""

    async def keep_hashes(self, session_id: str, first_seq: int, hashes: Sequence[str]) -> None:
        await self._together(_keeping(session_id, first_seq, hashes))

    async def archive(self, stub: Archived, cited: Collection[str]) -> None:
        await self._together(self._archiving(stub, cited))

    def _archiving(self, stub: Archived, cited: Collection[str]) -> Steps[None]:
        name, head = stub.session_id, stub.head
        if not (yield _HELD, name, head.seq, head.hash):
            raise HeadMoved(name)
        covered = yield _COVERED, name
        if not covered or covered[0][0] != head.seq:
            raise HeadMoved(name)
        among = self.AMONG.replace("$1", "$2")
        yield ("DELETE FROM archived_content WHERE session_id = $1", name)
        yield (
            f"INSERT INTO archived_content (session_id, sha256) SELECT $1, sha256 FROM content"  # noqa: S608
            f" WHERE sha256 {among}",
            name,
            self._list(cited),
        )
        yield (
            *(_PUT_STUB, name, head.seq, head.event_id, head.hash),
            *(stub.place, stub.file_sha256, stub.at, stub.by, stub.noted),
        )
        yield ("DELETE FROM snapshots WHERE session_id = $1", name)

    async def remove_archived(self, session_id: str, limit: int) -> int:
        return await self._together(_removing(session_id, limit))

    async def put_archived(self, session_id: str, entries: Sequence[Sealed]) -> None:
        await self._together(_putting(session_id, entries))

    async def unarchive(self, session_id: str) -> bool:
        return await self._together(_unarchiving(session_id))

    async def archived(self, session_id: str) -> Archived | None:
        row = await self._one(f"{_STUB} WHERE session_id = $1", session_id)
        return None if row is None else _stub(row)

    async def archives(self, after: str | None, limit: int, within: Within = None) -> list[Archived]:
        seen, spaces = self._within(within, 3, "archives")
        statement = f"{_STUB} WHERE session_id > $1{seen} ORDER BY session_id LIMIT $2"
        return [_stub(row) for row in await self._all(statement, after or "", limit, *spaces)]

    async def archived_hashes(self, session_id: str, after: int, limit: int) -> list[bytes]:
        first = after // HASHES * HASHES + 1
        rows = await self._all(
            "SELECT hashes FROM archived_hashes WHERE session_id = $1 AND first_seq >= $2 AND first_seq <= $3"
            " ORDER BY first_seq",
            session_id,
            first,
            after + limit,
        )
        joined = b"".join(as_bytes(row[0]) for row in rows)
        found = [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]
        return found[after - first + 1 :][:limit]

    async def cited_in_archives(self, hashes: Collection[str]) -> set[str]:
        statement = f"SELECT DISTINCT sha256 FROM archived_content WHERE sha256 {self.AMONG}"  # noqa: S608
        return {name for (name,) in await self._all(statement, self._list(hashes))}


def _stub(row: Sequence[Any]) -> Archived:
    session_id, seq, event_id, hash_, *rest = row
    return Archived(session_id, Head(seq=seq, event_id=event_id, hash=hash_), *rest)


def _keeping(session_id: str, first_seq: int, hashes: Sequence[str]) -> Steps[None]:
    rows = [
        (session_id, first_seq + at, bytes.fromhex("".join(hashes[at : at + HASHES])))
        for at in range(0, len(hashes), HASHES)
    ]
    replaced = " ON CONFLICT (session_id, first_seq) DO UPDATE SET hashes = excluded.hashes"
    yield from _inserting("archived_hashes (session_id, first_seq, hashes)", rows, replaced)


def _inserting(into: str, rows: Sequence[tuple[object, ...]], rest: str = "") -> Steps[None]:
    for start in range(0, len(rows), AT_ONCE):
        several = rows[start : start + AT_ONCE]
        numbers = iter(range(1, len(several) * len(several[0]) + 1))
        values = ", ".join(f"({', '.join(f'${next(numbers)}' for _ in row)})" for row in several)
        yield f"INSERT INTO {into} VALUES {values}{rest}", *(cell for row in several for cell in row)  # noqa: S608


def _removing(session_id: str, limit: int) -> Steps[int]:
    return len((yield _REMOVE, session_id, limit))


def _putting(session_id: str, entries: Sequence[Sealed]) -> Steps[None]:
    if not (yield "SELECT 1 FROM archives WHERE session_id = $1", session_id):
        raise StorageUnavailable("nothing was written: the session is not archived")
    there = yield _THERE, session_id, entries[0].seq, entries[-1].seq
    known = {seq for (seq,) in there}
    rows = [
        (session_id, one.seq, one.event_id, one.record.decode(), one.hash)
        for one in entries
        if one.seq not in known
    ]
    yield from _inserting("audit_events (session_id, seq, event_id, record, hash)", rows)


def _unarchiving(session_id: str) -> Steps[bool]:
    if not (yield "DELETE FROM archives WHERE session_id = $1 RETURNING session_id", session_id):
        return False
    yield ("DELETE FROM archived_hashes WHERE session_id = $1", session_id)
    yield ("DELETE FROM archived_content WHERE session_id = $1", session_id)
    return True
