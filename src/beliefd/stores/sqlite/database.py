"""A SQLite file as the parts of the store use it: short reads here, rare writes beside the ledger."""

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.database import Database, Steps
from beliefd.stores.sqlite.file import OpenedFiles, read_only

BUSY_MS: Final = 30_000
LOG_BYTES: Final = 4 * 1024 * 1024
"""What the write-ahead log keeps of the disk once it has been emptied: its ordinary size."""
NO_ROOM: Final = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")
"""How SQLite calls a full disk: at the file, at the write-ahead log, and at the index of that."""

T = TypeVar("T")


class SqliteDatabase(Database):
    """Answers what all parts of the store ask."""

    AMONG = "IN (SELECT value FROM json_each($1))"
    CLOCK = "(julianday('now') - 2440587.5) * 86400.0"
    HOLD_APPENDS = ()  # BEGIN IMMEDIATE holds all that write

    def __init__(self, path: Path, only: str | None = None) -> None:
        self._path, self._only = path, only
        self._reader = connect(path, only)
        self._reading = threading.Lock()
        self._beside: sqlite3.Connection | None = None
        self._writing = threading.Lock()
        self._files = OpenedFiles(path)

    async def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._reading:
                return rows_in(self._reader, statement, values)
        except UnicodeEncodeError:
            return []  # lone surrogates are not text: they name nothing that is here
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None

    async def _write(self, statement: str, *values: object) -> Any:
        rows = await asyncio.to_thread(
            self._alone, lambda connection: connection.execute(statement, named(values)).fetchall()
        )
        return rows[0][0] if rows else None

    async def _together(self, steps: Steps[T]) -> T:
        return await asyncio.to_thread(self._alone, lambda connection: _taken(connection, steps))

    def _list(self, texts: Collection[str]) -> str:
        try:
            return orjson.dumps(list(texts)).decode()
        except TypeError:  # half a surrogate pair, which names nothing; escaped, it can be asked for
            return json.dumps(list(texts))

    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A write outside the ledger, on a connection of its own.

        It is kept: opening one takes a millisecond, and closing one may move the whole log into the file.
        """
        with self._writing:
            self._files.check()
            try:
                if self._beside is None:
                    self._beside = connect(self._path, self._only)
                outcome = work(self._beside)
                if self._beside.in_transaction:  # whoever found nothing to write has not committed
                    self._beside.execute("ROLLBACK")
                return outcome
            except BaseException as error:
                self._end_beside()
                if isinstance(error, sqlite3.Error):
                    raise StorageUnavailable(words(error)) from None
                raise

    def _end_beside(self) -> None:
        """INVARIANT: what was begun and not committed is not there: it ends with its connection."""
        connection, self._beside = self._beside, None
        if connection is not None:
            connection.close()

    def _close_beside(self) -> None:
        with self._writing:
            self._end_beside()


def rows_in(
    connection: sqlite3.Connection, statement: str, values: tuple[object, ...]
) -> list[tuple[Any, ...]]:
    """What is damaged so that it is no text any more comes as another text: it names nothing and equals no
    hash, so whoever looks at its row finds that. It does not hide the rows beside it."""
    try:
        return connection.execute(statement, named(values)).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    connection.text_factory = lambda cell: cell.decode(errors="replace")
    try:
        return connection.execute(statement, named(values)).fetchall()
    finally:
        connection.text_factory = str


def _taken(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    """Whatever is raised, the connection is closed before the commit, and nothing was written."""
    connection.execute("BEGIN IMMEDIATE")
    rows: Any = None
    while True:
        try:
            statement, *values = steps.send(rows)
        except StopIteration as end:
            connection.execute("COMMIT")
            outcome: T = end.value
            return outcome
        rows = connection.execute(statement, named(tuple(values))).fetchall()


def named(values: tuple[object, ...]) -> dict[str, object]:
    """The values under the names that they have in statements: to SQLite, $1 is a name like any other."""
    return {str(number): value for number, value in enumerate(values, 1)}


def connect(path: Path, only: str | None = None) -> sqlite3.Connection:
    """`only` says how to read a file that is not to be written to, whether we may or not."""
    only = only or read_only(path)
    place = str(path) if only is None else f"{path.absolute().as_uri()}?{only}"
    connection = sqlite3.connect(
        place, uri=only is not None, isolation_level=None, check_same_thread=False, timeout=BUSY_MS / 1000
    )
    if only is None:
        _keep_a_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # What is erased is overwritten. It costs where rows are removed, and ledgers remove none.
        connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Processes that open a new file at once all switch it over, and there SQLite waits for nobody."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def words(error: Exception) -> str:
    """What became of a write, and what whoever keeps the disk can do about it."""
    name = getattr(error, "sqlite_errorname", None)
    if name in NO_ROOM:
        return f"nothing was written: there is no room for it on the disk ({error})"
    if name == "SQLITE_IOERR_FSYNC":
        # The commit stands in the log; whether it does after a crash is up to the disk.
        return f"it is not known whether it was written: the disk does not confirm it ({error})"
    return f"nothing was written: {error}"
