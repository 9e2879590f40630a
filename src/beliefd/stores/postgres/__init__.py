"""The shared store: PostgreSQL."""

from beliefd.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
