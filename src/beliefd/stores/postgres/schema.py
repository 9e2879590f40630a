"""The schema in PostgreSQL, and how a database gets to its newest version.

Ids are compared and ordered as bytes (COLLATE "C"), whatever the locale of the database: paging through
sessions must give the same order on every machine.
"""

from typing import Any, Final

from beliefd.knowledge.schema import PLAYS
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.migrations import Dialect, migrations, refuse_future
from beliefd.stores.sqlite.looking import refuse_tables

_COUNT: Final = "(SELECT count(*) FROM audit_events WHERE session_id = {row}.session_id)"
_ANOTHER: Final = """(
    SELECT FROM audit_events AS e LEFT JOIN archived_hashes AS h
        ON h.session_id = e.session_id AND h.first_seq = (e.seq - 1) / 32 * 32 + 1
    WHERE e.session_id = {row}.session_id
        AND encode(substring(h.hashes FROM ((e.seq - h.first_seq) * 32 + 1)::int FOR 32), 'hex')
            IS DISTINCT FROM e.hash
)"""
# PostgreSQL reads no JSON in which a text holds NUL, which ours may.
_KIND: Final = r"replace(record, '\u0000', '\u0001')::json -> 'delta' ->> 'kind'"
# INVARIANT: as in SQLite: events are removed only of a session that has a stub. A stub comes only to one
# that is there with this head and all its hashes, and ends with its seal; or, in a copy, with a session that
# came without its events. It goes only when all events are back, each with the hash that was kept of it.
KEEP_ARCHIVES: Final = f"""
    DROP TRIGGER audit_events_keep ON audit_events;
    CREATE TRIGGER audit_events_keep BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
    ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_keep;

    CREATE FUNCTION beliefd_keep_unarchived() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM archives WHERE session_id = OLD.session_id) = (TG_TABLE_NAME = 'audit_events')
        THEN RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
        END IF;
        RAISE EXCEPTION '% refuses %', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER audit_events_keep_delete BEFORE DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION beliefd_keep_unarchived();
    ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_keep_delete;
    CREATE TRIGGER archived_hashes_keep BEFORE UPDATE OR DELETE ON archived_hashes
    FOR EACH ROW EXECUTE FUNCTION beliefd_keep_unarchived();
    ALTER TABLE archived_hashes ENABLE ALWAYS TRIGGER archived_hashes_keep;
    CREATE TRIGGER archived_hashes_keep_all BEFORE TRUNCATE ON archived_hashes
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();

    CREATE FUNCTION beliefd_keep_archived() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.archived <> OLD.archived AND NEW.head_seq = OLD.head_seq AND NEW.head_hash = OLD.head_hash
            AND (NEW.archived = 1) = EXISTS (SELECT FROM archives WHERE session_id = NEW.session_id)
        THEN RETURN NEW;
        END IF;
        RAISE EXCEPTION 'an archived session stays as it is' USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER sessions_keep_archived BEFORE UPDATE OF head_seq, head_hash, archived ON sessions
    FOR EACH ROW WHEN (
        NEW.archived <> OLD.archived
        OR (OLD.archived = 1 AND (NEW.head_seq <> OLD.head_seq OR NEW.head_hash <> OLD.head_hash))
    ) EXECUTE FUNCTION beliefd_keep_archived();
    ALTER TABLE sessions ENABLE ALWAYS TRIGGER sessions_keep_archived;

    CREATE FUNCTION beliefd_archive() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE held sessions%ROWTYPE;
    BEGIN
        SELECT * INTO held FROM sessions WHERE session_id = NEW.session_id FOR UPDATE;
        IF held.head_seq IS DISTINCT FROM NEW.head_seq OR held.head_hash IS DISTINCT FROM NEW.head_hash
            OR 32 * NEW.head_seq IS DISTINCT FROM (
                SELECT sum(length(hashes)) FROM archived_hashes WHERE session_id = NEW.session_id
            )
            OR NEW.head_hash IS DISTINCT FROM (
                SELECT encode(substring(hashes FROM length(hashes) - 31), 'hex') FROM archived_hashes
                WHERE session_id = NEW.session_id ORDER BY first_seq DESC LIMIT 1
            )
            OR EXISTS {_ANOTHER.format(row="NEW")}
            OR (held.archived = 0 AND NOT ({_COUNT.format(row="NEW")} = NEW.head_seq AND EXISTS (
                SELECT FROM audit_events WHERE session_id = NEW.session_id AND seq = NEW.head_seq
                    AND hash = NEW.head_hash AND {_KIND} = 'session_sealed'
            )))
        THEN
            RAISE EXCEPTION 'the session is not sealed, or not all of it is kept'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER archives_need_all BEFORE INSERT ON archives
    FOR EACH ROW EXECUTE FUNCTION beliefd_archive();
    ALTER TABLE archives ENABLE ALWAYS TRIGGER archives_need_all;

    CREATE FUNCTION beliefd_unarchive() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF {_COUNT.format(row="OLD")} <> OLD.head_seq OR EXISTS {_ANOTHER.format(row="OLD")}
        THEN
            RAISE EXCEPTION 'not all events of the archived session are back'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER archives_keep_delete BEFORE DELETE ON archives
    FOR EACH ROW EXECUTE FUNCTION beliefd_unarchive();
    ALTER TABLE archives ENABLE ALWAYS TRIGGER archives_keep_delete;
    CREATE TRIGGER archives_keep BEFORE UPDATE OR TRUNCATE ON archives
    FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
    ALTER TABLE archives ENABLE ALWAYS TRIGGER archives_keep;

    CREATE FUNCTION beliefd_mark_archived() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            UPDATE sessions SET archived = 1 WHERE session_id = NEW.session_id AND archived = 0;
        ELSE
            UPDATE sessions SET archived = 0 WHERE session_id = OLD.session_id;
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER archives_mark AFTER INSERT OR DELETE ON archives
    FOR EACH ROW EXECUTE FUNCTION beliefd_mark_archived();
    ALTER TABLE archives ENABLE ALWAYS TRIGGER archives_mark;
"""  # noqa: S608 - made of constants
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
        keep_log="""
            CREATE TRIGGER log_runs_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON log_runs
            FOR EACH STATEMENT EXECUTE FUNCTION beliefd_refuse();
        """,
        # Nothing of it need survive a crash, so nobody waits for the disk.
        buckets="""
            CREATE UNLOGGED TABLE buckets (
                name  TEXT COLLATE "C" PRIMARY KEY,
                level DOUBLE PRECISION NOT NULL,
                at    DOUBLE PRECISION NOT NULL
            );
        """,
        # ALWAYS: a replica that becomes the primary must not have kept what is gone.
        remove_erased="""
            CREATE FUNCTION beliefd_remove_erased() RETURNS trigger LANGUAGE plpgsql AS $$
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
                RETURN NEW;
            END $$;
            CREATE TRIGGER erased_remove AFTER INSERT ON erased
            FOR EACH ROW EXECUTE FUNCTION beliefd_remove_erased();
            ALTER TABLE erased ENABLE ALWAYS TRIGGER erased_remove;
        """,
        keep_archives=KEEP_ARCHIVES,
        # INVARIANT: whoever brings content and whoever erases it wait for each other at its row here, and
        # then see what the other has done. They take rows in the same order, so that neither waits for ever.
        bar_what_is_on_its_way="""
            CREATE OR REPLACE FUNCTION beliefd_remove_erased() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO content_about (sha256, size, touched_at) VALUES (NEW.sha256, 0, '')
                ON CONFLICT (sha256) DO UPDATE SET touched_at = content_about.touched_at;
                UPDATE content_use
                SET items = items - 1, bytes = bytes - (
                    SELECT size FROM content_about WHERE sha256 = NEW.sha256
                )
                WHERE id IN (SELECT id FROM content_brought WHERE sha256 = NEW.sha256);
                DELETE FROM content_brought WHERE sha256 = NEW.sha256;
                DELETE FROM content_about WHERE sha256 = NEW.sha256;
                DELETE FROM content WHERE sha256 = NEW.sha256;
                RETURN NEW;
            END $$;
        """,
        now="to_char(now() AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
    )
)

# What an extension brought is no table of somebody else.
_TABLES: Final = """
    SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = (
        SELECT oid FROM pg_namespace WHERE nspname = current_schema()
    ) AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
"""
ONLY_HERE: Final = frozenset({"beliefd_schema", "buckets"})
"""Tables of ours that SQLite has not."""
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


async def migrate_own(connection: Any) -> None:
    """The same, unless somebody else has tables there: then it raises Foreign, and makes nothing."""
    version = await _version(connection)
    found = frozenset(row[0] for row in await connection.fetch(_TABLES))
    refuse_tables(version, found - ONLY_HERE if version else found)
    await migrate(connection)


async def need_newest(connection: Any) -> None:
    """For a database that is only read: it must be a store, of the newest version."""
    version = await _version(connection)
    refuse_future(version, "database")
    if not version:
        raise StorageUnavailable("the database is no store of beliefd")
    if version < len(MIGRATIONS):
        raise StorageUnavailable(
            f"the database has schema version {version}, this beliefd needs {len(MIGRATIONS)}, and it is only"
            " read here; start a server on it once"
        )


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
