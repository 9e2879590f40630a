"""The schema in SQLite, and how a file gets to its newest version."""

import sqlite3
from typing import Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.migrations import Dialect, migrations, refuse_future

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
