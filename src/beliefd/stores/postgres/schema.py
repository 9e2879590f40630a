"""The PostgreSQL schema, as a list of migrations that only ever grows.

Ids are compared and ordered as bytes (COLLATE "C"), whatever the locale of the database: paging through
sessions must give the same order on every machine.
"""

from typing import Any, Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.base import StorageUnavailable

MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE sessions (
        session_id    TEXT COLLATE "C" PRIMARY KEY,
        created_at    TEXT NOT NULL,
        head_seq      BIGINT NOT NULL,
        head_event_id TEXT NOT NULL,
        head_hash     TEXT NOT NULL
    );

    CREATE TABLE audit_events (
        session_id TEXT COLLATE "C" NOT NULL,
        seq        BIGINT NOT NULL,
        event_id   TEXT COLLATE "C" NOT NULL,
        record     TEXT NOT NULL,
        hash       TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    );
    CREATE INDEX audit_events_by_id ON audit_events (event_id);

    CREATE FUNCTION beliefd_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '% refuses %', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;

    -- ALWAYS: also for sessions that pretend to be replicas, where ordinary triggers sleep.
    CREATE TRIGGER audit_events_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
    ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_keep;
    CREATE TRIGGER sessions_keep BEFORE DELETE OR TRUNCATE ON sessions
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
    ALTER TABLE sessions ENABLE ALWAYS TRIGGER sessions_keep;

    CREATE TABLE snapshots (
        session_id TEXT COLLATE "C" PRIMARY KEY,
        seq        BIGINT NOT NULL,
        state      BYTEA NOT NULL
    );

    CREATE TABLE policies (
        policy_hash TEXT COLLATE "C" PRIMARY KEY,
        document    BYTEA NOT NULL
    );

    CREATE TABLE idempotency (
        principal    TEXT COLLATE "C" NOT NULL,
        key          TEXT COLLATE "C" NOT NULL,
        request_hash TEXT NOT NULL,
        session_id   TEXT COLLATE "C" NOT NULL,
        seq          BIGINT NOT NULL,
        PRIMARY KEY (principal, key)
    );

    CREATE TABLE tokens (
        token_id    TEXT COLLATE "C" PRIMARY KEY,
        name        TEXT NOT NULL,
        role        TEXT NOT NULL,
        tier        TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE,
        created_at  TEXT NOT NULL,
        revoked_at  TEXT
    );
    """,
    """
    CREATE TABLE inbox (
        approval_id TEXT COLLATE "C" PRIMARY KEY,
        session_id  TEXT COLLATE "C" NOT NULL,
        status      TEXT NOT NULL,
        opened_at   TEXT NOT NULL,
        expires_at  TEXT COLLATE "C",
        told        INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX inbox_by_status ON inbox (status, approval_id);
    CREATE INDEX inbox_by_expiry ON inbox (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE content (
        sha256 TEXT COLLATE "C" PRIMARY KEY,
        bytes  BYTEA NOT NULL
    );
    """,
    """
    CREATE TABLE graph_plays (
        relation TEXT COLLATE "C" NOT NULL,
        role     TEXT COLLATE "C" NOT NULL,
        kind     TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (relation, role, kind)
    );

    CREATE TABLE graph_nodes (
        kind       TEXT COLLATE "C" NOT NULL,
        session_id TEXT COLLATE "C" NOT NULL,
        id         TEXT COLLATE "C" NOT NULL,
        claim_id   TEXT COLLATE "C" NOT NULL,
        status     TEXT COLLATE "C" NOT NULL,
        document   TEXT NOT NULL,
        PRIMARY KEY (session_id, kind, id)
    );
    CREATE INDEX graph_nodes_by_id ON graph_nodes (kind, id);
    CREATE INDEX graph_nodes_by_status ON graph_nodes (kind, status, id);
    CREATE INDEX graph_nodes_by_claim ON graph_nodes (kind, claim_id, session_id, id);

    -- The database itself refuses a player that may not play its role, and one that is not there.
    CREATE TABLE graph_links (
        relation    TEXT COLLATE "C" NOT NULL,
        session_id  TEXT COLLATE "C" NOT NULL,
        first_role  TEXT COLLATE "C" NOT NULL,
        first_kind  TEXT COLLATE "C" NOT NULL,
        first_id    TEXT COLLATE "C" NOT NULL,
        second_role TEXT COLLATE "C" NOT NULL,
        second_kind TEXT COLLATE "C" NOT NULL,
        second_id   TEXT COLLATE "C" NOT NULL,
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
        name       TEXT COLLATE "C" NOT NULL,
        version    BIGINT NOT NULL,
        sha256     TEXT NOT NULL,
        created_at TEXT NOT NULL,
        document   BYTEA NOT NULL,
        PRIMARY KEY (name, version)
    );
    """,
    """
    ALTER TABLE snapshots DROP CONSTRAINT snapshots_pkey, ADD PRIMARY KEY (session_id, seq);
    """,
    """
    CREATE TABLE adoptions (
        number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        policy_hash TEXT NOT NULL,
        document    BYTEA NOT NULL,
        adopted_at  TEXT NOT NULL,
        adopted_by  TEXT NOT NULL
    );
    CREATE TRIGGER adoptions_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON adoptions
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
    """,
    """
    -- What no ledger says stands apart from what can be built anew; the column `told` of `inbox` is history.
    CREATE TABLE inbox_told (approval_id TEXT COLLATE "C" PRIMARY KEY);
    INSERT INTO inbox_told SELECT approval_id FROM inbox WHERE told = 1;
    CREATE INDEX inbox_by_session ON inbox (session_id);
    """,
)

LOCK: Final = 0x62656C69656664
"""The advisory lock under which one process at a time migrates; any number that nobody else uses."""


async def migrate(connection: Any) -> None:
    """Bring the database to the newest version in one transaction; refuse databases from the future."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        version = await _version(connection)
        if version > len(MIGRATIONS):
            raise StorageUnavailable(
                f"the database has schema version {version}, this beliefd knows {len(MIGRATIONS)};"
                " use a newer beliefd"
            )
        if version == 0:
            await connection.execute(
                "CREATE TABLE beliefd_schema ("
                " version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            await connection.execute(script)
            await connection.execute("INSERT INTO beliefd_schema (version) VALUES ($1)", number)
        await _teach_roles(connection)


async def _teach_roles(connection: Any) -> None:
    """The table of roles is data: a newer vocabulary needs no migration."""
    told = {tuple(row) for row in await connection.fetch("SELECT relation, role, kind FROM graph_plays")}
    if missing := sorted(PLAYS - told):
        await connection.executemany("INSERT INTO graph_plays VALUES ($1, $2, $3)", missing)


async def _version(connection: Any) -> int:
    # Asked for first: a role that may only read and append can use a schema that is up to date.
    if await connection.fetchval("SELECT to_regclass('beliefd_schema')") is None:
        return 0
    return int(await connection.fetchval("SELECT max(version) FROM beliefd_schema"))
