"""What a file holds, before it is taken for a store: it is looked at, and keeps every byte."""

import contextlib
import sqlite3
from functools import cache
from pathlib import Path
from typing import Final

from beliefd.stores.base import Foreign, StorageUnavailable
from beliefd.stores.sqlite.database import connect
from beliefd.stores.sqlite.file import unchanged
from beliefd.stores.sqlite.schema import MIGRATIONS

TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"


def _tables_of(version: int) -> frozenset[str]:
    """Of a file from the future, those that are known today."""
    return tables_at(min(max(version, 0), len(MIGRATIONS)))


@cache
def tables_at(version: int) -> frozenset[str]:
    """The tables that a store of a version of the schema has. Nobody lists them by hand."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for script in MIGRATIONS[:version]:
            connection.executescript(script)
        return frozenset(name for (name,) in connection.execute(TABLES))


def version_of_store(path: Path) -> int:
    """The version of the schema of a store. What is none is refused, and not made one."""
    version, tables = _held(path)
    if version < 1 or _tables_of(version) - tables:
        raise StorageUnavailable(f"`{path}` is no store of beliefd")
    return version


def is_earlier(path: Path) -> bool:
    """Is it a store whose schema is older than ours?"""
    return version_of_store(path) < len(MIGRATIONS)


def refuse_tables_of_others(path: Path) -> None:
    """Raise Foreign if there is anything in a file that is no table of ours. No file at all is empty."""
    if not path.exists():
        return
    version, tables = _held(path)
    refuse_tables(version, tables)


def refuse_tables(version: int, tables: frozenset[str]) -> None:
    ours = _tables_of(version)
    if version <= len(MIGRATIONS) and (others := sorted(tables - ours)):
        raise Foreign(f"its table `{others[0]}` is none of beliefd's")
    if missing := sorted(ours - tables):
        raise Foreign(f"it has no table `{missing[0]}`, so it is no store of beliefd")


def _held(path: Path) -> tuple[int, frozenset[str]]:
    try:
        with contextlib.closing(connect(path, unchanged(path))) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return version, frozenset(name for (name,) in connection.execute(TABLES))
    except sqlite3.Error as error:
        raise StorageUnavailable(f"cannot open `{path}`: {error}") from None
