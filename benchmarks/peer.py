"""The peer: `eventsourcing` on SQLite or PostgreSQL, an aggregate a session and an event an elimination.

Used as its documentation shows (commands that decide, `@event` methods that record, an application that
saves), and tuned as far as it allows for a process that writes alone: aggregates stay in its cache and are
not fast-forwarded from the database. A lock a session spares it the conflicts that its optimistic
concurrency control would otherwise have to retry.
"""

import threading
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from benchmarks.workload import HYPOTHESES

FULL = 2
CACHED: Final = {"AGGREGATE_CACHE_MAXSIZE": "1000", "AGGREGATE_CACHE_FASTFORWARD": "n"}


class Investigation(Aggregate):
    """As much of a session as the comparison needs: survivors, and what was applied and ignored."""

    @event("Declared")
    def __init__(self, hypotheses: list[str]) -> None:
        self.survivors = set(hypotheses)
        self.eliminations = 0

    def eliminate(
        self, source_id: str, observation_id: str, eliminated: list[str], justification: dict[str, Any]
    ) -> None:
        applied = sorted(self.survivors.intersection(eliminated))
        ignored = sorted(set(eliminated).difference(applied))
        self._eliminated(source_id, observation_id, applied, ignored, justification)

    @event("Eliminated")
    def _eliminated(
        self,
        source_id: str,
        observation_id: str,
        applied: list[str],
        ignored: list[str],
        justification: dict[str, Any],
    ) -> None:
        self.survivors.difference_update(applied)
        self.eliminations += len(applied)


class Investigations(Application[UUID]):
    def declare(self) -> UUID:
        investigation = Investigation(HYPOTHESES)
        self.save(investigation)
        return investigation.id

    def eliminate(
        self,
        session_id: UUID,
        source_id: str,
        observation_id: str,
        eliminated: list[str],
        justification: dict[str, Any],
    ) -> None:
        investigation: Investigation = self.repository.get(session_id)
        investigation.eliminate(source_id, observation_id, eliminated, justification)
        self.save(investigation)


def opened(path: Path, *, cached: bool) -> Investigations:
    """The application on a file, every commit on disk before it returns."""
    environment = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
    if cached:
        environment |= CACHED
    application = Investigations(environment)
    _sync_fully(application)
    return application


def on_postgres(url: str, connections: int) -> Investigations:
    """The application on a database, with as many connections as ours; its commits wait for the disk too."""
    place = urlsplit(url)
    return Investigations(
        {
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": place.path.removeprefix("/"),
            "POSTGRES_HOST": str(place.hostname),
            "POSTGRES_PORT": str(place.port),
            "POSTGRES_USER": str(place.username),
            "POSTGRES_PASSWORD": "none",
            "POSTGRES_POOL_SIZE": str(connections),
            **CACHED,
        }
    )


def _sync_fully(application: Investigations) -> None:
    """SQLite's default may be less than FULL; then every connection of the pool is told."""
    pool = application.recorder.datastore.pool  # type: ignore[attr-defined]
    create = pool._create_connection

    def durable() -> Any:
        connection = create()
        connection._sqlite_conn.execute("PRAGMA synchronous = FULL")
        return connection

    pool._create_connection = durable
    with application.recorder.datastore.get_connection(commit=True) as connection:  # type: ignore[attr-defined]
        connection._sqlite_conn.execute("PRAGMA synchronous = FULL")
        (level,) = connection._sqlite_conn.execute("PRAGMA synchronous").fetchone()
        (mode,) = connection._sqlite_conn.execute("PRAGMA journal_mode").fetchone()
    if (level, mode) != (FULL, "wal"):
        raise RuntimeError(f"the peer would not sync as ours does: synchronous {level}, journal {mode}")


def locks(sessions: list[UUID]) -> dict[UUID, threading.Lock]:
    return {session_id: threading.Lock() for session_id in sessions}
