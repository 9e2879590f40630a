"""Buckets of all processes that work on one file, in a small file beside it.

They have no place in the ledgers' file: a commit there is a sync, and waits for whoever writes. Here nothing
waits for the disk, and what a loss of power takes away is a burst that is allowed once more.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from beliefd.stores.base import StorageUnavailable, Taken
from beliefd.stores.sqlite.file import beside, prepare

SUFFIX: Final = "-limits"
BUSY_SECONDS: Final = 1.0
FORGOTTEN_SECONDS: Final = 24 * 3600.0
"""Every bucket that there is has filled up by then."""
_MAKE: Final = "CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, level REAL, at REAL) WITHOUT ROWID"
_SPEND: Final = """
    INSERT INTO buckets VALUES (:name, :full - :count, :now)
    ON CONFLICT (name) DO UPDATE SET
        at = :now, level = min(:full, level + max(0, :now - at) * :rate) - :count
    RETURNING level
"""


class SharedBuckets:
    """Opened by whoever spends first: a server on which nobody goes fast has no such file."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = beside(path, SUFFIX)
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def spend(self, taken: Sequence[Taken]) -> dict[str, float]:
        """Take from the buckets; what is left in each, and may be less than nothing."""
        with self._one_at_a_time:
            try:
                return self._spend(self._connection or self._opened(), taken)
            except sqlite3.Error as error:
                self._end()
                raise StorageUnavailable(f"`{self._path}`: {error}") from None

    def _spend(self, connection: sqlite3.Connection, taken: Sequence[Taken]) -> dict[str, float]:
        left = {}
        connection.execute("BEGIN IMMEDIATE")
        for one in taken:
            values = {"name": one.name, "count": one.count, "rate": one.rate, "full": one.full}
            [(level,)] = connection.execute(_SPEND, {**values, "now": self._clock()}).fetchall()
            left[one.name] = float(level)
        connection.execute("COMMIT")
        return left

    def _opened(self) -> sqlite3.Connection:
        self._connection = connection = sqlite3.connect(
            prepare(self._path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_MAKE)
        connection.execute("DELETE FROM buckets WHERE at < ?", (self._clock() - FORGOTTEN_SECONDS,))
        return connection

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        with self._one_at_a_time:
            self._end()
