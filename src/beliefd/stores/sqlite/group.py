"""Group commit: many appends in one statement, which SQLite makes one transaction.

Each call into SQLite hands the interpreter to other threads and has to win it back from a busy event loop,
which takes longer than the call itself. So the entries of a whole group are written by a single call: a view
takes the rows, and its trigger checks and moves heads as the events go in.
"""

import contextlib
import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import Final

from beliefd.kernel.values import DEFAULT_SPACE, Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.sqlite.database import words
from beliefd.stores.sqlite.projections import put_rows

MAX_ROWS: Final = 512
FIRST: Final = 1
LAST: Final = 2
COLUMNS: Final = 8
# INVARIANT: a head moves only from where the append expects it, whoever else writes to the file.
_CHECK: Final = """
    SELECT RAISE(ABORT, 'head moved') WHERE NEW.expected
        IS NOT (SELECT iif(archived, '', head_hash) FROM sessions WHERE session_id = NEW.session_id);
"""
_ADD: Final = """
    INSERT INTO audit_events (session_id, seq, event_id, record, hash)
        VALUES (NEW.session_id, NEW.seq, NEW.event_id, NEW.record, NEW.hash);
"""
_MOVE: Final = """
    INSERT INTO sessions (session_id, created_at, head_seq, head_event_id, head_hash)
        VALUES (NEW.session_id, NEW.created_at, NEW.seq, NEW.event_id, NEW.hash)
        ON CONFLICT (session_id) DO UPDATE SET head_seq = excluded.head_seq,
        head_event_id = excluded.head_event_id, head_hash = excluded.head_hash;
"""
_PREPARE: Final = (
    """
    CREATE TEMP VIEW appends AS
    SELECT session_id, '' AS created_at, seq, event_id, record, hash, hash AS expected, 0 AS edge
    FROM audit_events
    """,
    *(
        f"""
        CREATE TEMP TRIGGER appends_{edge} INSTEAD OF INSERT ON appends WHEN NEW.edge = {edge} BEGIN
            {_CHECK if edge & FIRST else ""} {_ADD} {_MOVE if edge & LAST else ""}
        END
        """
        for edge in range(4)
    ),
)


class Busy(Exception):
    """Somebody else is writing, and this connection waits for nobody."""


class GroupCommit:
    """Owns a writing connection; used by one thread, once the schema is there."""

    def __init__(self, connection: sqlite3.Connection, *, waits: bool = True) -> None:
        self._connection = connection
        self._waits = waits
        for statement in _PREPARE:
            connection.execute(statement)

    def commit(self, batches: list[Append]) -> list[Exception | None]:
        """Write all batches in one transaction; each gets its own outcome."""
        try:
            try:
                self._together(batches)
                return [None for _ in batches]
            except (sqlite3.IntegrityError, LinkRefused, HeadMoved):
                self._roll_back()  # a head has moved, a key is taken, a link is refused, content is gone
            return self._one_by_one(batches)
        except Exception as error:  # also a defect: the writer must live on, and its callers be told
            self._roll_back()
            if not self._waits and _is_busy(error):
                raise Busy from None
            failure = StorageUnavailable(words(error))
            return [failure for _ in batches]

    def _together(self, batches: list[Append]) -> None:
        rows = [row for batch in batches for row in _rows(batch)]
        more = [batch for batch in batches if _carries_more(batch)]
        if not more and len(rows) <= MAX_ROWS:
            self._insert(rows)  # a statement alone is a transaction
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self._insert(rows)
        for batch in more:
            if self._content_gone(batch):
                raise HeadMoved(batch.session_id)
            for name, projected in batch.projected.items():
                put_rows(self._connection, name, projected)
            self._write_rest(batch)
        self._connection.execute("COMMIT")

    def _one_by_one(self, batches: list[Append]) -> list[Exception | None]:
        outcomes: list[Exception | None] = []
        self._connection.execute("BEGIN IMMEDIATE")
        for batch in batches:
            if (
                self._head(batch.session_id) != batch.expected
                or self._keys_taken(batch)
                or self._content_gone(batch)
            ):
                outcomes.append(HeadMoved(batch.session_id))
            elif batch.projected and (refused := self._put_projected(batch)) is not None:
                outcomes.append(refused)
            else:
                self._insert(_rows(batch))
                self._write_rest(batch)
                outcomes.append(None)
        self._connection.execute("COMMIT")
        return outcomes

    def _insert(self, rows: Sequence[tuple[object, ...]]) -> None:
        for start in range(0, len(rows), MAX_ROWS):
            chunk = rows[start : start + MAX_ROWS]
            size = 1 << (len(chunk) - 1).bit_length()
            values = [value for row in chunk for value in row]
            self._connection.execute(_statement(size), values + [None] * (COLUMNS * (size - len(chunk))))

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _write_rest(self, batch: Append) -> None:
        """What few appends carry: policies, idempotency keys, a saved state, the beginning of a session or
        its end."""
        connection = self._connection
        if _begins(batch):
            connection.execute(
                "UPDATE sessions SET space = ?, declared_by = ? WHERE session_id = ?",
                (batch.space, batch.declared_by, batch.session_id),
            )
        if batch.ends:
            connection.execute("UPDATE sessions SET ended = 1 WHERE session_id = ?", (batch.session_id,))
        if batch.policies:
            connection.executemany(
                "INSERT OR IGNORE INTO policies (policy_hash, document) VALUES (?, ?)", batch.policies
            )
        if batch.used_keys:
            connection.executemany(
                "INSERT INTO idempotency (principal, key, request_hash, session_id, seq)"
                " VALUES (?, ?, ?, ?, ?)",
                [
                    (used.principal, used.key, used.request_hash, used.session_id, used.seq)
                    for used in batch.used_keys
                ],
            )
        if batch.saved_state is not None:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots (session_id, seq, state) VALUES (?, ?, ?)",
                (batch.session_id, batch.saved_state.seq, batch.saved_state.state),
            )

    def _put_projected(self, batch: Append) -> LinkRefused | None:
        """First of all that an append writes: one whose rows are refused must not spoil the others'."""
        self._connection.execute("SAVEPOINT projected")
        try:
            for name, rows in batch.projected.items():
                put_rows(self._connection, name, rows)
        except LinkRefused as refused:
            self._connection.execute("ROLLBACK TO projected")
            return refused
        finally:
            self._connection.execute("RELEASE projected")
        return None

    def _head(self, session_id: str) -> Head | None:
        row = self._connection.execute(
            "SELECT head_seq, head_event_id, iif(archived, '', head_hash) FROM sessions WHERE session_id = ?",
            (session_id,),
        ).fetchone()
        return None if row is None else Head(seq=row[0], event_id=row[1], hash=row[2])

    def _keys_taken(self, batch: Append) -> bool:
        return any(
            self._connection.execute(
                "SELECT 1 FROM idempotency WHERE principal = ? AND key = ?", (used.principal, used.key)
            ).fetchone()
            for used in batch.used_keys
        )

    def _content_gone(self, batch: Append) -> bool:
        return any(
            not self._connection.execute("SELECT 1 FROM content WHERE sha256 = ?", (name,)).fetchone()
            for name in batch.rests_on
        )


def _is_busy(error: Exception) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")


@cache
def _statement(size: int) -> str:
    """Rows are filled up to a power of two, so that always the same few statements stay prepared."""
    row = f"({', '.join(['?'] * COLUMNS)})"
    if size == 1:  # a long record would be copied four times more by the form below
        return f"INSERT INTO appends VALUES {row}"  # noqa: S608
    return f"INSERT INTO appends SELECT * FROM (VALUES {', '.join([row] * size)}) WHERE column1 IS NOT NULL"  # noqa: S608


def _rows(batch: Append) -> list[tuple[object, ...]]:
    """The first row says which head it expects, the last one moves it."""
    expected = None if batch.expected is None else batch.expected.hash
    first, last = batch.entries[0], batch.entries[-1]
    return [
        (
            batch.session_id,
            batch.created_at,
            entry.seq,
            entry.event_id,
            entry.record.decode(),
            entry.hash,
            expected,
            (FIRST if entry is first else 0) | (LAST if entry is last else 0),
        )
        for entry in batch.entries
    ]


def _carries_more(batch: Append) -> bool:
    return _begins(batch) or bool(
        batch.ends
        or batch.policies
        or batch.used_keys
        or batch.saved_state
        or batch.projected
        or batch.rests_on
    )


def _begins(batch: Append) -> bool:
    """Does a session begin with more to be said of it than that it does?"""
    return batch.expected is None and (batch.space, batch.declared_by) != (DEFAULT_SPACE, "")
