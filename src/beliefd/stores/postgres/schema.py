"""The schema in PostgreSQL, and how a database gets to its newest version.

Ids are compared and ordered as bytes (COLLATE "C"), whatever the locale of the database: paging through
sessions must give the same order on every machine.
"""

from typing import Any, Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.sql.migrations import Dialect, migrations, refuse_future

MIGRATIONS: Final = migrations(
    Dialect(
        id='TEXT COLLATE "C"',
        number="BIGINT",
        blob="BYTEA",
        counted="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        without_rowid="",
        keep_ledgers="""
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
        """,
        key_snapshots_by_seq=(
            "ALTER TABLE snapshots DROP CONSTRAINT snapshots_pkey, ADD PRIMARY KEY (session_id, seq);"
        ),
        keep_adoptions="""
            CREATE TRIGGER adoptions_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON adoptions
            FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
        """,
        length_of_bytes="octet_length(bytes)",
        now="to_char(now() AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
    )
)

LOCK: Final = 0x62656C69656664
"""The advisory lock under which one process at a time migrates; any number that nobody else uses."""


async def migrate(connection: Any) -> None:
    """Bring the database to the newest version in one transaction; refuse databases from the future."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        version = await _version(connection)
        refuse_future(version, "database")
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
