"""From a name to a store: a file is SQLite, a postgresql:// address is PostgreSQL, `:memory:` is neither."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from beliefd.extras import install
from beliefd.stores.base import StorageUnavailable, Store

if TYPE_CHECKING:
    from beliefd.stores.postgres import PostgresStore

MEMORY = ":memory:"


def is_shared(name: str) -> bool:
    """Can processes on other machines work on a store of this name?"""
    return name.startswith(("postgresql://", "postgres://"))


async def open_store(
    target: str | os.PathLike[str], feed: str | None = None, *, must_hear: bool = False
) -> Store:
    """`feed` is where a PostgreSQL store listens to others, if its own address leads to a pooler. Whoever
    `must_hear` of what others append is refused a store that cannot say so."""
    name = os.fspath(target)
    if name == MEMORY:
        from beliefd.stores.memory import MemoryStore

        return MemoryStore()
    if is_shared(name):
        return await _postgres().open(name, feed, must_hear=must_hear)
    from beliefd.stores.sqlite import SqliteStore

    return await SqliteStore.open(name)


async def open_source(name: str) -> Store:
    """A store whose rows are copied elsewhere: it is only read, and what is none is not made one."""
    if is_shared(name):
        return await _postgres().open_source(name)
    from beliefd.stores.sqlite import SqliteStore

    return await SqliteStore.open_source(Path(name))


async def open_target(name: str) -> Store:
    """A store that everything is copied into; raises Foreign where somebody else keeps something already."""
    if is_shared(name):
        return await _postgres().open_target(name)
    from beliefd.stores.sqlite.looking import refuse_tables_of_others

    refuse_tables_of_others(Path(name))
    return await open_store(name)


def _postgres() -> "type[PostgresStore]":
    try:
        from beliefd.stores.postgres import PostgresStore
    except ModuleNotFoundError:
        raise StorageUnavailable(f"PostgreSQL needs an extra: {install('postgres')}") from None
    return PostgresStore
