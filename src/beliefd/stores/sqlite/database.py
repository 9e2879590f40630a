"""A SQLite file as the parts of the store use it: short reads here, rare writes beside the ledger."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sqlite.file import OpenedFiles

BUSY_MS: Final = 30_000
LOG_BYTES: Final = 4 * 1024 * 1024
"""What the write-ahead log keeps of the disk once it has been emptied: its ordinary size."""

T = TypeVar("T")


class Database:
    """What all parts of the store have in common."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = connect(path)
        self._reading = threading.Lock()
        self._files = OpenedFiles(path)

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        rows = self._all(statement, *values)
        return rows[0] if rows else None

    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._reading:
                return self._reader.execute(statement, values).fetchall()
        except UnicodeEncodeError:
            return []  # lone surrogates are not text: they name nothing that is here
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None

    def _execute_alone(self, statement: str, *values: object) -> int:
        return self._alone(lambda connection: connection.execute(statement, values).rowcount)

    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A rare write outside the ledger, on a connection of its own."""
        self._files.check()
        try:
            with contextlib.closing(connect(self._path)) as connection:
                return work(connection)
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None


def text(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cells of text columns as SQLite hands them over here, which is as bytes."""
    return tuple(None if cell is None else cell.decode() for cell in cells)


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000)
    connection.text_factory = bytes
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    return connection
