"""Commits on the event loop itself: what is alone and quick is on the disk before a thread would be awake.

The loop waits here for the disk and for nobody else: not for a lock that another process holds, not for the
log to be moved into the file. And not for a slow disk: after a commit that took long, the writer has those
that come until a hundred times as long has passed.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final

from beliefd.stores.base import Append
from beliefd.stores.sqlite.database import connect
from beliefd.stores.sqlite.group import Busy, GroupCommit

QUICK_SECONDS: Final = 0.002
PATIENCE: Final = 100
IN_A_ROW: Final = 64
"""After so many, the writer has its turn: its commits move the log into the file."""
MOST_BYTES: Final = 64 * 1024
MOST_ENTRIES: Final = 4


class Here:
    """A writing connection of the event loop's own; used by whoever holds the store's lock for commits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._group: GroupCommit | None = None
        self._not_before = 0.0
        self._in_a_row = 0

    def open(self) -> None:
        """Once the schema is there. INVARIANT: it waits for no lock, and does not move the log."""
        self._connection = connect(self._path)
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._group = GroupCommit(self._connection, waits=False)

    @property
    def is_quick(self) -> bool:
        """May the next commit be made here? If not, the writer makes it."""
        self._in_a_row += 1
        if self._in_a_row > IN_A_ROW:
            self._in_a_row = 0
            return False
        return time.monotonic() >= self._not_before

    def commit(self, batches: list[Append]) -> list[Exception | None] | None:
        """The outcomes; None where the writer has to do it, because it is much or somebody else writes."""
        if self._group is None:
            return None
        entries = [entry for batch in batches for entry in batch.entries]
        if len(entries) > MOST_ENTRIES or sum(len(entry.record) for entry in entries) > MOST_BYTES:
            return None
        started = time.monotonic()
        try:
            return self._group.commit(batches)
        except Busy:
            return None
        finally:
            took = time.monotonic() - started
            if took > QUICK_SECONDS:
                self._not_before = started + PATIENCE * took

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
