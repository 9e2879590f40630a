"""The schema in SQLite, and how a file gets to its newest version."""

import sqlite3
from typing import Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.migrations import Dialect, migrations, refuse_future

# How many events of a session are there, and one whose hash is not the one that was kept of it.
_COUNT: Final = "(SELECT count(*) FROM audit_events WHERE session_id = {row}.session_id)"
_ANOTHER: Final = """(
    SELECT 1 FROM audit_events AS e LEFT JOIN archived_hashes AS h
        ON h.session_id = e.session_id AND h.first_seq = (e.seq - 1) / 32 * 32 + 1
    WHERE e.session_id = {row}.session_id
        AND lower(hex(substr(h.hashes, (e.seq - h.first_seq) * 32 + 1, 32))) IS NOT e.hash
)"""
_SEALED: Final = """(
    SELECT 1 FROM audit_events WHERE session_id = NEW.session_id AND seq = NEW.head_seq
        AND hash = NEW.head_hash AND json_extract(record, '$.delta.kind') = 'session_sealed'
)"""
# INVARIANT: events are removed only of a session that has a stub. A stub comes only to a session that is
# there with this head and all its hashes, and ends with its seal; or, in a copy, with a session that came
# without its events. It goes only when all events are back, each with the hash that was kept of it.
KEEP_ARCHIVES: Final = f"""
    DROP TRIGGER audit_events_keep_delete;
    CREATE TRIGGER audit_events_keep_delete BEFORE DELETE ON audit_events
    WHEN NOT EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id)
    BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END;

    CREATE TRIGGER sessions_keep_archived BEFORE UPDATE OF head_seq, head_hash, archived ON sessions
    WHEN (OLD.archived = 1 AND (NEW.head_seq <> OLD.head_seq OR NEW.head_hash <> OLD.head_hash))
        OR (NEW.archived <> OLD.archived
            AND NEW.archived <> EXISTS (SELECT 1 FROM archives WHERE session_id = NEW.session_id))
    BEGIN SELECT RAISE(ABORT, 'an archived session stays as it is'); END;

    CREATE TRIGGER archives_need_all BEFORE INSERT ON archives
    WHEN EXISTS (SELECT 1 FROM archives WHERE session_id = NEW.session_id)
        OR NOT EXISTS (
            SELECT 1 FROM sessions WHERE session_id = NEW.session_id
                AND head_seq = NEW.head_seq AND head_hash = NEW.head_hash
        )
        OR 32 * NEW.head_seq IS NOT (
            SELECT sum(length(hashes)) FROM archived_hashes WHERE session_id = NEW.session_id
        )
        OR NEW.head_hash IS NOT (
            SELECT lower(hex(substr(hashes, -32))) FROM archived_hashes WHERE session_id = NEW.session_id
            ORDER BY first_seq DESC LIMIT 1
        )
        OR EXISTS {_ANOTHER.format(row="NEW")}
        OR (
            (SELECT archived FROM sessions WHERE session_id = NEW.session_id) = 0
            AND NOT ({_COUNT.format(row="NEW")} = NEW.head_seq AND EXISTS {_SEALED})
        )
    BEGIN SELECT RAISE(ABORT, 'the session is not sealed, or not all of it is kept'); END;
    CREATE TRIGGER archives_mark AFTER INSERT ON archives
    BEGIN UPDATE sessions SET archived = 1 WHERE session_id = NEW.session_id; END;

    CREATE TRIGGER archives_keep_update BEFORE UPDATE ON archives
    BEGIN SELECT RAISE(ABORT, 'archives is append-only'); END;
    CREATE TRIGGER archives_keep_delete BEFORE DELETE ON archives
    WHEN {_COUNT.format(row="OLD")} <> OLD.head_seq OR EXISTS {_ANOTHER.format(row="OLD")}
    BEGIN SELECT RAISE(ABORT, 'not all events of the archived session are back'); END;
    CREATE TRIGGER archives_unmark AFTER DELETE ON archives
    BEGIN UPDATE sessions SET archived = 0 WHERE session_id = OLD.session_id; END;

    CREATE TRIGGER archived_hashes_keep_update BEFORE UPDATE ON archived_hashes
    WHEN EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id)
    BEGIN SELECT RAISE(ABORT, 'archived_hashes is append-only'); END;
    CREATE TRIGGER archived_hashes_keep_delete BEFORE DELETE ON archived_hashes
    WHEN EXISTS (SELECT 1 FROM archives WHERE session_id = OLD.session_id)
    BEGIN SELECT RAISE(ABORT, 'archived_hashes is append-only'); END;
    CREATE TRIGGER archived_hashes_keep_insert BEFORE INSERT ON archived_hashes
    WHEN EXISTS (SELECT 1 FROM archives WHERE session_id = NEW.session_id)
    BEGIN SELECT RAISE(ABORT, 'archived_hashes is append-only'); END;
"""  # noqa: S608 - made of constants
MIGRATIONS: Final = migrations(
    Dialect(
        id="TEXT",
        number="INTEGER",
        blob="BLOB",
        counted="INTEGER PRIMARY KEY AUTOINCREMENT",
        without_rowid=" WITHOUT ROWID",
        keep_ledgers="""
            CREATE TRIGGER audit_events_keep_update BEFORE UPDATE ON audit_events
            BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END;
            CREATE TRIGGER audit_events_keep_delete BEFORE DELETE ON audit_events
            BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END;
            -- INSERT OR REPLACE deletes without asking the trigger above.
            CREATE TRIGGER audit_events_keep_replace BEFORE INSERT ON audit_events
            WHEN EXISTS (SELECT 1 FROM audit_events WHERE session_id = NEW.session_id AND seq = NEW.seq)
                OR EXISTS (SELECT 1 FROM audit_events WHERE rowid = NEW.rowid)
            BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END;
            CREATE TRIGGER sessions_keep_delete BEFORE DELETE ON sessions
            BEGIN SELECT RAISE(ABORT, 'sessions are never deleted'); END;
        """,
        key_snapshots_by_seq="""
            ALTER TABLE snapshots RENAME TO newest_snapshots;
            CREATE TABLE snapshots (
                session_id TEXT NOT NULL,
                seq        INTEGER NOT NULL,
                state      BLOB NOT NULL,
                PRIMARY KEY (session_id, seq)
            );
            INSERT INTO snapshots SELECT session_id, seq, state FROM newest_snapshots;
            DROP TABLE newest_snapshots;
        """,
        keep_adoptions="""
            CREATE TRIGGER adoptions_keep_update BEFORE UPDATE ON adoptions
            BEGIN SELECT RAISE(ABORT, 'adoptions is append-only'); END;
            CREATE TRIGGER adoptions_keep_delete BEFORE DELETE ON adoptions
            BEGIN SELECT RAISE(ABORT, 'adoptions is append-only'); END;
        """,
        length_of_bytes="length(CAST(bytes AS BLOB))",
        now="strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')",
        buckets="",
        keep_log="""
            CREATE TRIGGER log_runs_keep_update BEFORE UPDATE ON log_runs
            BEGIN SELECT RAISE(ABORT, 'log_runs is append-only'); END;
            CREATE TRIGGER log_runs_keep_delete BEFORE DELETE ON log_runs
            BEGIN SELECT RAISE(ABORT, 'log_runs is append-only'); END;
        """,
        remove_erased="""
            CREATE TRIGGER erased_remove AFTER INSERT ON erased
            BEGIN
                UPDATE content_use
                SET items = items - 1, bytes = bytes - (
                    SELECT size FROM content_about WHERE sha256 = NEW.sha256
                )
                WHERE id IN (SELECT id FROM content_brought WHERE sha256 = NEW.sha256)
                AND EXISTS (SELECT 1 FROM content_about WHERE sha256 = NEW.sha256);
                DELETE FROM content_brought WHERE sha256 = NEW.sha256;
                DELETE FROM content_about WHERE sha256 = NEW.sha256;
                DELETE FROM content WHERE sha256 = NEW.sha256;
            END;
        """,
        keep_archives=KEEP_ARCHIVES,
        bar_what_is_on_its_way="",  # one writes at a time
    )
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version, one transaction a step; refuse files from the future."""
    version = _version(connection)
    refuse_future(version, "file")
    while version < len(MIGRATIONS):
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have migrated while we waited for the lock.
        version = _version(connection)
        if version < len(MIGRATIONS):
            for statement in _statements(MIGRATIONS[version]):
                connection.execute(statement)
            version += 1
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
    _teach_roles(connection)


def refuse_earlier(connection: sqlite3.Connection) -> None:
    """For a file that we may only read: it must have the newest version already."""
    version = _version(connection)
    refuse_future(version, "file")
    if version < len(MIGRATIONS):
        raise StorageUnavailable(
            f"the file has schema version {version}, this beliefd needs {len(MIGRATIONS)}, and it cannot be"
            " written to; copy it, and open the copy"
        )


def _teach_roles(connection: sqlite3.Connection) -> None:
    """The table of roles is data: a newer vocabulary needs no migration."""
    told = set(connection.execute("SELECT relation, role, kind FROM graph_plays"))
    if missing := sorted(PLAYS - told):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR IGNORE INTO graph_plays VALUES (?, ?, ?)", missing)
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    """Split a script where SQLite itself says a statement is complete (triggers hold semicolons)."""
    statements: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements
