"""The embedded store: one SQLite file."""

from beliefd.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
