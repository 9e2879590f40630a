"""Reading long ledgers, on a connection of its own and from threads: short reads never wait for long ones."""

import sqlite3
import threading
from collections.abc import Callable
from typing import Any, Final

from beliefd.ledger.envelope import LedgerBroken, Sealed
from beliefd.stores.base import CHUNK_BYTES, bounded
from beliefd.stores.sqlite.database import named, rows_in

MAPPED_BYTES: Final = 64 << 20
# A record is hashed and read as the bytes that it is: decoding it would be for nothing.
ROWS: Final = (
    "SELECT seq, event_id, CAST(record AS blob), hash FROM audit_events"
    " WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
)
RECORDS: Final = (
    "SELECT CAST(record AS blob) FROM audit_events"
    " WHERE session_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4"
)
RECORDS_CHUNK: Final = 500
"""Few enough to be still in the processor's cache when they are folded."""


def read_entries(
    connection: sqlite3.Connection, session_id: str, after: int, limit: int | None, max_bytes: int | None
) -> list[Sealed]:
    rows = connection.execute(ROWS, named((session_id, after, -1 if limit is None else limit)))
    try:
        found = [Sealed(*row) for row in bounded(rows, max_bytes, lambda row: len(row[2]))]
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        raise LedgerBroken(after + 1, None, f"its row cannot be read: {error}") from None
    if found and type(found[-1].seq) is not int:  # to SQLite, a text is greater than any number
        raise LedgerBroken(after + 1, None, "its row cannot be read: its place is no number")
    return found


def read_records(connection: sqlite3.Connection, session_id: str, after: int, upto: int) -> list[bytes]:
    rows = connection.execute(RECORDS, named((session_id, after, upto, RECORDS_CHUNK)))
    return [record for (record,) in bounded(rows, CHUNK_BYTES, lambda row: len(row[0]))]


class BulkReader:
    """Safe to use from several threads; each statement has the connection to itself."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # Read-only, and pages are used where they lie instead of being copied out of the file first.
        connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        self._reading = threading.Lock()

    def entries(self, session_id: str, after: int, limit: int | None, max_bytes: int | None) -> list[Sealed]:
        with self._reading:
            return read_entries(self._connection, session_id, after, limit, max_bytes)

    def replay(self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]) -> None:
        while after < upto:
            with self._reading:
                records = read_records(self._connection, session_id, after, upto)
            if not records:
                return
            take(records)
            after += len(records)

    def rows(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        with self._reading:
            return rows_in(self._connection, statement, values)

    def close(self) -> None:
        with self._reading:
            self._connection.close()
