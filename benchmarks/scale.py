"""What one event and one session cost, and what a million sessions and a billion events a day come to.

docs/explanation/scale.md works with these lines.
"""

import asyncio
import gc
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.postgres import PostgresServer

import beliefd
from beliefd.embedded import AsyncEmbedded
from benchmarks.append import appended, declared
from benchmarks.figures import Figure, Run
from benchmarks.workload import CALLERS

BENCHMARK: Final = "scale"
EVENTS_A_DAY: Final = 1_000_000_000
SESSIONS: Final = 1_000_000
SECONDS_A_DAY: Final = 86_400
PEAK: Final = 3
"""How many times the average the busiest hour has."""
_ROOM: Final = "SELECT sum(pg_total_relation_size(c.oid)) AS room FROM pg_class c WHERE c.relkind = 'r'"
_LOG: Final = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS place"


def scale(run: Run) -> list[Figure]:
    file = _file_costs(run)
    shared = _database_costs(run, file[0].ours)
    session = _session_bytes(run)
    return [*file, *shared, session, *_needed([*file, *shared, session])]


def _figure(what: str, unit: str, ours: float) -> Figure:
    # At sizes that say nothing, what is measured in pages may not have grown.
    return Figure(benchmark=BENCHMARK, what=what, unit=unit, ours=max(ours, 1e-9))


def _file_costs(run: Run) -> list[Figure]:
    path = run.folder / "scale.db"

    async def measured() -> list[Figure]:
        ledger = await beliefd.open_async(path)
        sessions = [await declared(ledger) for _ in range(CALLERS)]
        await appended(ledger, sessions, 1)  # what is set up once is no cost of an event
        before = _size(path)
        cpu, each = time.process_time(), run.size(150, 2)
        await appended(ledger, sessions, each)
        cpu = time.process_time() - cpu
        events = CALLERS * each
        started = time.process_time()
        checked = sum([(await ledger.verify(one)).checked for one in sessions])
        verified = time.process_time() - started
        await ledger.close()
        return [
            _figure("processor time of an event, SQLite", "us", cpu / events * 1e6),
            _figure("disk of an event, SQLite", "bytes", max(_size(path) - before, 0) / events),
            _figure("verify an event, decisions included", "us", verified / checked * 1e6),
        ]

    return asyncio.run(measured())


def _size(path: Path) -> int:
    """The file and its log."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(one.stat().st_size for one in files if one.exists())


def _database_costs(run: Run, on_file: float) -> list[Figure]:
    with PostgresServer() as server:
        url = server.create_database()
        name = url.rpartition("/")[2]

        def asked(statement: str) -> float:
            [row] = server.execute(statement, name)
            return float(row[0])

        async def work(each: int) -> float:
            ledger: AsyncEmbedded = await beliefd.open_async(url)
            sessions = [await declared(ledger) for _ in range(CALLERS)]
            await appended(ledger, sessions, 1)
            room, log, cpu = await _beside(asked, _ROOM), await _beside(asked, _LOG), time.process_time()
            await appended(ledger, sessions, each)
            cpu = time.process_time() - cpu
            await ledger.close()
            events = CALLERS * each
            made.append((await _beside(asked, _ROOM) - room) / events)
            made.append((await _beside(asked, _LOG) - log) / events)
            return cpu / events * 1e6

        made: list[float] = []
        cpu = asyncio.run(work(run.size(150, 2)))
    return [
        Figure(
            benchmark=BENCHMARK,
            what="processor time of an event, PostgreSQL, in beliefd",
            unit="us",
            ours=cpu,
            peer=on_file,
            peer_is="the same on SQLite",
            ratio=cpu / on_file,
            ratio_is="PostgreSQL : SQLite",
        ),
        _figure("disk of an event, PostgreSQL, indexes included", "bytes", made[0]),
        _figure("write-ahead log of an event, PostgreSQL", "bytes", made[1]),
    ]


async def _beside(asked: Callable[[str], float], statement: str) -> float:
    return await asyncio.to_thread(asked, statement)


def _session_bytes(run: Run) -> Figure:
    """What a session keeps in memory while it is cached: few hypotheses, two events."""
    many = run.size(3_000, 50)

    async def measured() -> float:
        ledger = await beliefd.open_async(":memory:")
        await declared(ledger)
        gc.collect()
        before = _resident()
        sessions = [await declared(ledger) for _ in range(many)]
        gc.collect()
        grown = max(_resident() - before, 0) / len(sessions)
        await ledger.close()
        return grown

    return _figure("memory of a session, state and ledger", "bytes", asyncio.run(measured()))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _needed(costs: list[Figure]) -> list[Figure]:
    """The same times a billion, by what is needed."""
    by = {figure.what: figure.ours for figure in costs}
    average = EVENTS_A_DAY / SECONDS_A_DAY
    cpu = by["processor time of an event, PostgreSQL, in beliefd"] / 1e6
    room = by["disk of an event, PostgreSQL, indexes included"]
    log = by["write-ahead log of an event, PostgreSQL"]
    return [
        _figure("10^9 events a day: events a second, on average", "events/s", average),
        _figure(
            f"10^9 events a day: cores of beliefd at {PEAK} times the average", "cores", average * PEAK * cpu
        ),
        _figure("10^9 events a day: disk a day", "GB", EVENTS_A_DAY * room / 1e9),
        _figure(
            "10^9 events a day: write-ahead log a second, at the peak", "MB/s", average * PEAK * log / 1e6
        ),
        _figure(
            "10^9 events a day: cores to verify a day in a day",
            "cores",
            average * by["verify an event, decisions included"] / 1e6,
        ),
        _figure(
            "10^6 sessions: memory if all of them are cached",
            "GB",
            SESSIONS * by["memory of a session, state and ledger"] / 1e9,
        ),
    ]
