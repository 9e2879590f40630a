"""Group commit: many appends, one transaction, few statements.

Each statement hands the interpreter to other threads and has to win it back, which costs more than the
statement itself. So rows of all appends travel together, and heads are read only when they may have moved.
"""

import contextlib
import sqlite3
from collections.abc import Sequence
from typing import Final

from beliefd.kernel.commands import Head
from beliefd.knowledge.graph import LinkRefused
from beliefd.ledger.chain import head_of
from beliefd.stores.base import Append, HeadMoved, StorageUnavailable
from beliefd.stores.sqlite_graph import write_graph

MAX_ROWS: Final = 128
MAX_KNOWN_HEADS: Final = 10_000

_EVENTS: Final = "INSERT INTO audit_events (session_id, seq, event_id, record, hash) VALUES {rows}"
_SESSIONS: Final = (
    "INSERT INTO sessions (session_id, created_at, head_seq, head_event_id, head_hash) VALUES {rows}"
    " ON CONFLICT (session_id) DO UPDATE SET head_seq = excluded.head_seq,"
    " head_event_id = excluded.head_event_id, head_hash = excluded.head_hash"
)
_Row = tuple[str, object, object, object, object]


class GroupCommit:
    """Owns the writing connection; used by one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._heads: dict[str, Head | None] = {}
        self._version: int | None = None

    def commit(self, batches: list[Append]) -> list[Exception | None]:
        """Write all batches in one transaction; each gets its own outcome."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._forget_what_others_changed()
            outcomes = self._write(batches)
            connection.execute("COMMIT")
            return outcomes
        except Exception as error:  # also a defect: the writer must live on, and its callers be told
            self._heads.clear()
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            failure = StorageUnavailable(_words(error))
            return [failure for _ in batches]

    def _forget_what_others_changed(self) -> None:
        # INVARIANT: heads are believed only while no other connection has committed; asked under the write
        # lock, `data_version` says exactly that.
        version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        if version != self._version or len(self._heads) > MAX_KNOWN_HEADS:
            self._heads.clear()
            self._version = version

    def _write(self, batches: list[Append]) -> list[Exception | None]:
        outcomes: list[Exception | None] = []
        events: list[_Row] = []
        sessions: dict[str, _Row] = {}
        for batch in batches:
            session_id = batch.session_id
            if self._head(session_id) != batch.expected or self._keys_taken(batch):
                outcomes.append(HeadMoved(session_id))
                continue
            if batch.graph and (refused := self._write_graph(batch)) is not None:
                outcomes.append(refused)
                continue
            head = self._heads[session_id] = head_of(batch.entries[-1])
            sessions[session_id] = (session_id, batch.created_at, head.seq, head.event_id, head.hash)
            events += [
                (session_id, entry.seq, entry.event_id, entry.record.decode(), entry.hash)
                for entry in batch.entries
            ]
            self._write_rest(batch)
            outcomes.append(None)
        self._insert(_SESSIONS, list(sessions.values()))
        self._insert(_EVENTS, events)
        return outcomes

    def _insert(self, statement: str, rows: Sequence[_Row]) -> None:
        """All rows in powers of two: few statements, and always the same few, so that they stay prepared."""
        start = 0
        while start < len(rows):
            size = min(MAX_ROWS, 1 << (len(rows) - start).bit_length() - 1)
            values = [value for row in rows[start : start + size] for value in row]
            self._connection.execute(statement.format(rows=", ".join(["(?, ?, ?, ?, ?)"] * size)), values)
            start += size

    def _write_rest(self, batch: Append) -> None:
        """What few appends carry: policies, idempotency keys, inbox rows, a snapshot."""
        connection = self._connection
        if batch.policies:
            connection.executemany(
                "INSERT OR IGNORE INTO policies (policy_hash, document) VALUES (?, ?)", batch.policies
            )
        if batch.remembered:
            connection.executemany(
                "INSERT INTO idempotency (principal, key, request_hash, session_id, seq)"
                " VALUES (?, ?, ?, ?, ?)",
                [
                    (used.principal, used.key, used.request_hash, used.session_id, used.seq)
                    for used in batch.remembered
                ],
            )
        if batch.inbox:
            connection.executemany(
                "INSERT INTO inbox (approval_id, session_id, status, opened_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (approval_id) DO UPDATE SET"
                " status = excluded.status, expires_at = excluded.expires_at",
                [
                    (row.approval_id, row.session_id, row.status, row.opened_at, row.expires_at)
                    for row in batch.inbox
                ],
            )
        if batch.snapshot is not None:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots (session_id, seq, state) VALUES (?, ?, ?)",
                (batch.session_id, batch.snapshot.seq, batch.snapshot.state),
            )

    def _write_graph(self, batch: Append) -> LinkRefused | None:
        """First of all that an append writes: one that the graph refuses must not spoil the others'."""
        self._connection.execute("SAVEPOINT graph")
        try:
            write_graph(self._connection, batch.graph)
        except LinkRefused as refused:
            self._connection.execute("ROLLBACK TO graph")
            return refused
        finally:
            self._connection.execute("RELEASE graph")
        return None

    def _head(self, session_id: str) -> Head | None:
        if session_id not in self._heads:
            row = self._connection.execute(
                "SELECT head_seq, head_event_id, head_hash FROM sessions WHERE session_id = ?", (session_id,)
            ).fetchone()
            self._heads[session_id] = (
                None if row is None else Head(seq=row[0], event_id=row[1].decode(), hash=row[2].decode())
            )
        return self._heads[session_id]

    def _keys_taken(self, batch: Append) -> bool:
        return any(
            self._connection.execute(
                "SELECT 1 FROM idempotency WHERE principal = ? AND key = ?", (used.principal, used.key)
            ).fetchone()
            for used in batch.remembered
        )


def _words(error: Exception) -> str:
    """What became of the appends, and what whoever keeps the disk can do about it."""
    name = getattr(error, "sqlite_errorname", None)
    if name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
        return f"nothing was written: there is no room for it on the disk ({error})"
    if name == "SQLITE_IOERR_FSYNC":
        # The commit stands in the log; whether it does after a crash is up to the disk.
        return f"it is not known whether it was written: the disk does not confirm it ({error})"
    return f"nothing was written: {error}"
