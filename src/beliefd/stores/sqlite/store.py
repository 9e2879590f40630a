"""The embedded store: one SQLite file, one writer thread, group commit, every commit on disk before its ack.

WAL with synchronous=FULL: a commit returns after fsync. The writer takes all appends that wait, from any
session, checks each against its head inside the transaction, and commits them together (group.py).
Other processes may write the same file: BEGIN IMMEDIATE orders them, and heads are checked under that lock.
"""

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import Append, Listener, StorageUnavailable, Taken
from beliefd.stores.listeners import Listeners
from beliefd.stores.sql.archives import Archives
from beliefd.stores.sql.content import Content
from beliefd.stores.sql.graph import Graph
from beliefd.stores.sql.inbox import Inbox
from beliefd.stores.sql.ledgers import Ledgers
from beliefd.stores.sql.log import Log
from beliefd.stores.sql.settings import Settings
from beliefd.stores.sqlite.bulk import BulkReader, read_entries, read_records
from beliefd.stores.sqlite.database import BUSY_MS, connect, words
from beliefd.stores.sqlite.file import prepare, read_only, unchanged
from beliefd.stores.sqlite.group import GroupCommit
from beliefd.stores.sqlite.here import Here
from beliefd.stores.sqlite.limits import SharedBuckets
from beliefd.stores.sqlite.looking import version_of_store
from beliefd.stores.sqlite.projections import SqliteProjections
from beliefd.stores.sqlite.schema import migrate, refuse_earlier

FEW = 256
"""So many entries are read on the event loop itself; a thread would cost more than it spares."""
ENOUGH = 32
"""Entries that are worth a commit: the disk need not stand still while more are being decided."""
PATIENCE = 0.002
SWEEP_MS = 2_000
"""So long a sweep waits for readers."""
POLL_SECONDS = 0.25
COPY_IT = "; it can only be read: copy it and the files beside it, and open the copy"

_Job = tuple[Append, asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class SqliteStore(SqliteProjections, Archives, Ledgers, Graph, Inbox, Content, Settings, Log):
    """Open with `await SqliteStore.open(path)`."""

    CHUNK = 500  # more is no faster, and each of those who read a ledger to its end has a chunk in memory
    LISTED_RUNS = "SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each($1) WHERE true"
    keeps_order = True

    def __init__(self, path: Path, only: str | None = None) -> None:
        self._writer_connection = connect(path, only)
        self._bulk = BulkReader(connect(path, only))
        super().__init__(path, only)
        self._jobs: deque[_Job] = deque()
        self._bell = threading.Event()
        self._committing = threading.Lock()
        """INVARIANT: whoever holds it takes all that waits, and commits it: appends keep their order."""
        self._here = Here(path)
        self._limits = SharedBuckets(path)
        self._listeners = Listeners()
        self._writer = threading.Thread(target=self._write_loop, name="beliefd-writer", daemon=True)
        self._poller: asyncio.Task[None] | None = None
        self._closed = False
        self._unheard = 0

    @classmethod
    async def open(cls, path: str | os.PathLike[str]) -> "SqliteStore":
        try:
            store = cls(prepare(Path(path)))
            if read_only(Path(path)) is None:
                migrate(store._writer_connection)
                store._here.open()
            else:
                refuse_earlier(store._writer_connection)
        except sqlite3.Error as error:
            hint = "" if read_only(Path(path)) is None else COPY_IT
            raise StorageUnavailable(f"cannot open `{path}`: {error}{hint}") from None
        store._writer.start()
        return store

    @classmethod
    async def open_source(cls, path: Path) -> "SqliteStore":
        """To be read only. INVARIANT: the file and its log keep every byte, whatever is in them."""
        version_of_store(path)
        try:
            store = cls(path, unchanged(path))
            refuse_earlier(store._writer_connection)
        except sqlite3.Error as error:
            raise StorageUnavailable(f"cannot open `{path}`: {error}") from None
        store._writer.start()
        return store

    # -- writing ---------------------------------------------------------------------------------

    def append(self, batch: Append) -> Awaitable[None]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        if self._closed:
            done.set_exception(StorageUnavailable("the store is closed"))
            return done
        self._jobs.append((batch, loop, done))
        self._unheard += len(batch.entries)
        if self._unheard >= ENOUGH:
            self._ring()
        elif len(self._jobs) == 1:
            loop.call_soon(self._gather, loop, 1, loop.time() + PATIENCE)
        return done

    async def sweep(self) -> bool:
        """The log still holds pages as they were when the content came: it is emptied into the file."""
        return await asyncio.to_thread(self._alone, _emptied)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int, until: float) -> None:
        """Wait for company before ringing the writer, as long as every turn of the loop brings some."""
        waiting = len(self._jobs)
        if before < waiting and loop.time() < until:
            loop.call_soon(self._gather, loop, waiting, until)
        elif waiting and not self._write_here():
            self._ring()

    def _write_here(self) -> bool:
        """Write what waits without waking the writer, if it is little and nobody else is at it."""
        if len(self._jobs) > 1 or not self._here.is_quick or not self._committing.acquire(blocking=False):
            return False
        try:
            self._files.check()
            jobs = self._taken()
            outcomes = self._here.commit([batch for batch, _, _ in jobs])
            if outcomes is None:
                self._jobs.extendleft(reversed(jobs))
                return False
        except StorageUnavailable:
            return False  # the writer's bell finds the same, and says so
        finally:
            self._committing.release()
        self._unheard = 0
        self._settle(jobs, outcomes)
        return True

    def _ring(self) -> None:
        """Have all that waits written, if the files are still there; the writer has no time to look for them:
        it would have to win the interpreter back from the event loop after every look."""
        self._unheard = 0
        try:
            self._files.check()
        except StorageUnavailable as gone:
            jobs = self._taken()
            self._settle(jobs, [gone for _ in jobs])
        else:
            self._bell.set()

    def _write_loop(self) -> None:
        group = GroupCommit(self._writer_connection)
        while not (self._closed and not self._jobs):
            self._bell.wait()
            self._bell.clear()
            with self._committing:
                if jobs := self._taken():
                    self._settle(jobs, group.commit([batch for batch, _, _ in jobs]))

    def _taken(self) -> list[_Job]:
        jobs: list[_Job] = []
        with contextlib.suppress(IndexError):  # the loop and the writer may both be at it
            while True:
                jobs.append(self._jobs.popleft())
        return jobs

    def _settle(self, jobs: list[_Job], outcomes: list[Exception | None]) -> None:
        """Wake all callers of one event loop with one call into it."""
        grown = {
            batch.session_id for (batch, _, _), outcome in zip(jobs, outcomes, strict=True) if not outcome
        }
        loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[None], Exception | None]]] = {}
        for (_, loop, done), outcome in zip(jobs, outcomes, strict=True):
            loops.setdefault(loop, []).append((done, outcome))
        for loop, settled in loops.items():
            if loop is _running():
                self._wake(settled, grown)
                continue
            with contextlib.suppress(RuntimeError):  # that loop is gone, and its callers with it
                loop.call_soon_threadsafe(self._wake, settled, grown)

    def _wake(self, settled: list[tuple["asyncio.Future[None]", Exception | None]], grown: set[str]) -> None:
        for done, outcome in settled:
            if done.done():
                continue
            if outcome is None:
                done.set_result(None)
            else:
                done.set_exception(outcome)
        for session_id in grown:
            self._listeners.tell(session_id)

    # -- reading ---------------------------------------------------------------------------------

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        try:
            if limit is not None and limit <= FEW:
                with self._reading:
                    return read_entries(self._reader, session_id, after, limit, max_bytes)
            return await asyncio.to_thread(self._bulk.entries, session_id, after, limit, max_bytes)
        except UnicodeEncodeError:
            return []  # lone surrogates are not text: they name nothing that is here
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        try:
            if after > 0 and upto - after <= FEW:
                with self._reading:
                    records = read_records(self._reader, session_id, after, upto)
                if not records:
                    return
                take(records)
                after += len(records)
            if after < upto:  # of long records, those that do not fit the first chunk
                await asyncio.to_thread(self._bulk.replay, session_id, after, upto, take)
        except UnicodeEncodeError:
            return
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None

    async def _scan(self, statement: str, *values: object) -> list[Any]:
        try:
            return await asyncio.to_thread(self._bulk.rows, statement, values)
        except sqlite3.Error as error:
            raise StorageUnavailable(str(error)) from None

    async def spend(self, taken: Sequence[Taken]) -> dict[str, float]:
        return await asyncio.to_thread(self._limits.spend, taken)

    # -- life ------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        unsubscribe = self._listeners.add(listener)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.get_running_loop().create_task(self._poll())
        return unsubscribe

    async def _poll(self) -> None:
        """Notice appends of other processes: `data_version` moves when another connection commits."""
        version: Sequence[Any] | None = None
        while self._listeners:
            with contextlib.suppress(StorageUnavailable):  # that passes, and then it counts as a change
                latest = await self._one("PRAGMA data_version")
                if latest != version:
                    version = latest
                    self._listeners.tell("")
            await asyncio.sleep(POLL_SECONDS)

    async def ping(self) -> None:
        try:
            await asyncio.to_thread(self._probe)
        except sqlite3.Error as error:
            raise StorageUnavailable(words(error)) from None

    def _probe(self) -> None:
        """Commit what is there already: that takes the lock, room in the log and a sync, as a write does."""
        self._files.check()
        with contextlib.closing(connect(self._path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._listeners.clear()
        if self._poller is not None:
            self._poller.cancel()
        self._bell.set()
        await asyncio.to_thread(self._writer.join)
        self._writer_connection.close()
        self._here.close()
        self._reader.close()
        await asyncio.to_thread(self._close_beside)
        await asyncio.to_thread(self._limits.close)
        await asyncio.to_thread(self._bulk.close)


def _running() -> asyncio.AbstractEventLoop | None:
    """The loop of this thread; None in the writer."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _emptied(connection: sqlite3.Connection) -> bool:
    """False if a reader in another process, or a copy that is being made, still needs the log."""
    connection.execute(f"PRAGMA busy_timeout = {SWEEP_MS}")
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return not busy
