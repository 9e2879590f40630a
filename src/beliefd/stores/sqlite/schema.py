"""The SQLite schema, as a list of migrations that only ever grows."""

import sqlite3
from typing import Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.base import StorageUnavailable

MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE sessions (
        session_id    TEXT PRIMARY KEY,
        created_at    TEXT NOT NULL,
        head_seq      INTEGER NOT NULL,
        head_event_id TEXT NOT NULL,
        head_hash     TEXT NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE audit_events (
        session_id TEXT NOT NULL,
        seq        INTEGER NOT NULL,
        event_id   TEXT NOT NULL,
        record     TEXT NOT NULL,
        hash       TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    );
    CREATE INDEX audit_events_by_id ON audit_events (event_id);

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

    CREATE TABLE snapshots (
        session_id TEXT PRIMARY KEY,
        seq        INTEGER NOT NULL,
        state      BLOB NOT NULL
    );

    CREATE TABLE policies (
        policy_hash TEXT PRIMARY KEY,
        document    BLOB NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE idempotency (
        principal    TEXT NOT NULL,
        key          TEXT NOT NULL,
        request_hash TEXT NOT NULL,
        session_id   TEXT NOT NULL,
        seq          INTEGER NOT NULL,
        PRIMARY KEY (principal, key)
    ) WITHOUT ROWID;

    CREATE TABLE tokens (
        token_id    TEXT PRIMARY KEY,
        name        TEXT NOT NULL,
        role        TEXT NOT NULL,
        tier        TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE,
        created_at  TEXT NOT NULL,
        revoked_at  TEXT
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE inbox (
        approval_id TEXT PRIMARY KEY,
        session_id  TEXT NOT NULL,
        status      TEXT NOT NULL,
        opened_at   TEXT NOT NULL,
        expires_at  TEXT,
        told        INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX inbox_by_status ON inbox (status, approval_id);
    CREATE INDEX inbox_by_expiry ON inbox (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE content (
        sha256 TEXT PRIMARY KEY,
        bytes  BLOB NOT NULL
    );
    """,
    """
    CREATE TABLE graph_plays (
        relation TEXT NOT NULL,
        role     TEXT NOT NULL,
        kind     TEXT NOT NULL,
        PRIMARY KEY (relation, role, kind)
    ) WITHOUT ROWID;

    CREATE TABLE graph_nodes (
        kind       TEXT NOT NULL,
        session_id TEXT NOT NULL,
        id         TEXT NOT NULL,
        claim_id   TEXT NOT NULL,
        status     TEXT NOT NULL,
        document   TEXT NOT NULL,
        PRIMARY KEY (session_id, kind, id)
    );
    CREATE INDEX graph_nodes_by_id ON graph_nodes (kind, id);
    CREATE INDEX graph_nodes_by_status ON graph_nodes (kind, status, id);
    CREATE INDEX graph_nodes_by_claim ON graph_nodes (kind, claim_id, session_id, id);

    -- The database itself refuses a player that may not play its role, and one that is not there.
    CREATE TABLE graph_links (
        relation    TEXT NOT NULL,
        session_id  TEXT NOT NULL,
        first_role  TEXT NOT NULL,
        first_kind  TEXT NOT NULL,
        first_id    TEXT NOT NULL,
        second_role TEXT NOT NULL,
        second_kind TEXT NOT NULL,
        second_id   TEXT NOT NULL,
        PRIMARY KEY (session_id, relation, first_kind, first_id, second_kind, second_id),
        FOREIGN KEY (relation, first_role, first_kind) REFERENCES graph_plays (relation, role, kind),
        FOREIGN KEY (relation, second_role, second_kind) REFERENCES graph_plays (relation, role, kind),
        FOREIGN KEY (session_id, first_kind, first_id) REFERENCES graph_nodes (session_id, kind, id),
        FOREIGN KEY (session_id, second_kind, second_id) REFERENCES graph_nodes (session_id, kind, id),
        CHECK (first_role <> second_role)
    );
    CREATE INDEX graph_links_by_first ON graph_links (session_id, first_kind, first_id);
    CREATE INDEX graph_links_by_second ON graph_links (session_id, second_kind, second_id);
    CREATE INDEX graph_links_by_target ON graph_links (second_id, relation);
    """,
    """
    CREATE TABLE calibrations (
        name       TEXT NOT NULL,
        version    INTEGER NOT NULL,
        sha256     TEXT NOT NULL,
        created_at TEXT NOT NULL,
        document   BLOB NOT NULL,
        PRIMARY KEY (name, version)
    );
    """,
    """
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
    """
    CREATE TABLE adoptions (
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        policy_hash TEXT NOT NULL,
        document    BLOB NOT NULL,
        adopted_at  TEXT NOT NULL,
        adopted_by  TEXT NOT NULL
    );
    CREATE TRIGGER adoptions_keep_update BEFORE UPDATE ON adoptions
    BEGIN SELECT RAISE(ABORT, 'adoptions is append-only'); END;
    CREATE TRIGGER adoptions_keep_delete BEFORE DELETE ON adoptions
    BEGIN SELECT RAISE(ABORT, 'adoptions is append-only'); END;
    """,
    """
    -- What no ledger says stands apart from what can be built anew; the column `told` of `inbox` is history.
    CREATE TABLE inbox_told (approval_id TEXT PRIMARY KEY) WITHOUT ROWID;
    INSERT INTO inbox_told SELECT approval_id FROM inbox WHERE told = 1;
    CREATE INDEX inbox_by_session ON inbox (session_id);
    """,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest version, one transaction a step; refuse files from the future."""
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise StorageUnavailable(
            f"the file has schema version {version}, this beliefd knows {len(MIGRATIONS)};"
            " use a newer beliefd"
        )
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


def _teach_roles(connection: sqlite3.Connection) -> None:
    """The table of roles is data: a newer vocabulary needs no migration."""
    known = connection.execute("SELECT relation, role, kind FROM graph_plays").fetchall()
    told = {tuple(_text(cell) for cell in row) for row in known}
    if missing := sorted(PLAYS - told):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT OR IGNORE INTO graph_plays VALUES (?, ?, ?)", missing)
        connection.execute("COMMIT")


def _text(cell: str | bytes) -> str:
    return cell.decode() if isinstance(cell, bytes) else cell


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
