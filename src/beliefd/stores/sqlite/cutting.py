"""A store in a file, as it was at an earlier time: each session up to what it had come to by then.

Only for a copy that nobody else has open. What is derived from ledgers (projections, tiles of the log) is
built anew by whoever calls this; what stands beside them (content, tokens, policies, spaces) stays.
"""

import contextlib
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from beliefd.stores.base import StorageUnavailable

# INVARIANT: what is kept of a session is a beginning of its chain, so that it verifies, also if its clock
# went back. An erasure is not taken back: a session is kept up to its last one.
_KEEP: Final = """
    CREATE TEMP TABLE kept AS
    SELECT session_id, seq, seq > by_time AS longer FROM (
        SELECT session_id, by_time, max(by_time, coalesce((
            SELECT max(seq) FROM audit_events AS e WHERE e.session_id = late.session_id AND seq > by_time
                AND json_extract(record, '$.delta.kind') = 'erased'
        ), 0)) AS seq
        FROM (
            SELECT session_id, min(seq) - 1 AS by_time FROM audit_events
            WHERE json_extract(record, '$.ts') > ? AND session_id <> ?
                AND session_id IN (SELECT session_id FROM sessions WHERE archived = 0)
            GROUP BY session_id
        ) AS late
    )
"""
_COUNTED: Final = """
    SELECT coalesce(sum(head_seq > kept.seq), 0), coalesce(sum(head_seq - kept.seq), 0),
        coalesce(sum(kept.seq = 0), 0), coalesce(sum(longer), 0)
    FROM kept JOIN sessions USING (session_id)
"""
_LATER: Final = "EXISTS (SELECT 1 FROM kept AS k WHERE k.session_id = {0}.session_id AND {0}.seq > k.seq)"
# Leaves keep their places up to the first that is left out. The rest gets leaves anew, after those.
_FIRST_LEAF: Final = """
    SELECT min(first_leaf + max(kept.seq + 1 - first_seq, 0)) FROM log_runs JOIN kept USING (session_id)
    WHERE first_seq + length - 1 > kept.seq
"""
_MOVE_HEADS: Final = """
    UPDATE sessions SET (head_seq, head_event_id, head_hash) = (
        SELECT e.seq, e.event_id, e.hash FROM kept AS k JOIN audit_events AS e USING (session_id, seq)
        WHERE k.session_id = sessions.session_id
    ) WHERE session_id IN (SELECT session_id FROM kept WHERE seq > 0)
"""
_BEGUN_LATER: Final = "DELETE FROM sessions WHERE session_id IN (SELECT session_id FROM kept WHERE seq = 0)"
_SHORTENED: Final = (
    "SELECT kept.session_id, ended FROM kept JOIN sessions USING (session_id) ORDER BY session_id"
)


class Cut(Struct, frozen=True):
    """What was left out: events of so many sessions, of which some had not begun. `longer` were kept past
    the time, for an erasure. `archived` are whole, in their files."""

    sessions: int
    events: int
    begun_later: int
    longer: int
    archived: int


def cut(path: Path, at: str, whole: str) -> tuple[Cut, dict[str, bool]]:
    """Leave out what came after `at`, a time as ledgers spell it, of all sessions but `whole`. Returns with
    the sessions that are shorter now whether they had ended by the end that they had."""
    with _writing(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:  # nothing may be removed while they are there; they come back below
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(_KEEP, (at, whole))
        sessions, events, begun, longer = connection.execute(_COUNTED).fetchone()
        (archived,) = connection.execute("SELECT count(*) FROM sessions WHERE archived = 1").fetchone()
        _cut_log(connection)
        for table in ("audit_events", "snapshots", "idempotency"):
            connection.execute(f"DELETE FROM {table} WHERE {_LATER.format(table)}")  # noqa: S608
        connection.execute(_MOVE_HEADS)
        connection.execute(_BEGUN_LATER)
        shortened = {name: bool(ended) for name, ended in connection.execute(_SHORTENED)}
        for _, sql in triggers:
            connection.execute(sql)
    return Cut(sessions, events, begun, longer, archived), shortened


def _cut_log(connection: sqlite3.Connection) -> None:
    (first,) = connection.execute(_FIRST_LEAF).fetchone()
    if first is not None:
        connection.execute("DELETE FROM log_runs WHERE first_leaf >= ?", (first,))
        connection.execute(
            "UPDATE log_runs SET length = ?1 - first_leaf WHERE first_leaf + length > ?1", (first,)
        )
        connection.execute("DELETE FROM log_checkpoints WHERE size > ?", (first,))
        connection.execute("DELETE FROM log_tiles")


def reopen(path: Path, sessions: Collection[str]) -> None:
    """These have not ended, by what is left of them."""
    with _writing(path) as connection:
        connection.executemany(
            "UPDATE sessions SET ended = 0 WHERE session_id = ?", [(one,) for one in sessions]
        )


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StorageUnavailable(f"cannot cut `{path}`: {error}") from None
