"""From a name to a store: a file is SQLite, a postgresql:// address is PostgreSQL, `:memory:` is neither."""

import os

from beliefd.stores.base import StorageUnavailable, Store

MEMORY = ":memory:"


async def open_store(target: str | os.PathLike[str]) -> Store:
    name = os.fspath(target)
    if name == MEMORY:
        from beliefd.stores.memory import MemoryStore

        return MemoryStore()
    if name.startswith(("postgresql://", "postgres://")):
        try:
            from beliefd.stores.postgres import PostgresStore
        except ModuleNotFoundError:
            raise StorageUnavailable("PostgreSQL needs an extra: pip install 'beliefd[postgres]'") from None
        return await PostgresStore.open(name)
    from beliefd.stores.sqlite import SqliteStore

    return await SqliteStore.open(name)
