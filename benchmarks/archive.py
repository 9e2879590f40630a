"""A million events in one ledger: followed, backed up, archived and brought back, and the memory of each.

Times are of the processor, not of the clock: other work on the machine does not count.
"""

import asyncio
import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import asyncpg
from tests.support.postgres import PostgresServer

import beliefd
from beliefd.cli.archiving import archive as put_away
from beliefd.cli.archiving import unarchive
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.ledger.marks import Marks
from beliefd.ledger.replay import Walk
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log import Log
from beliefd.stores.base import Append
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite.copying import copy_file
from beliefd.testing.appends import CREATED
from beliefd.testing.archive_contract import sealed_chain, stub_of
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import Figure, Run, Target
from benchmarks.workload import JUSTIFICATION, SOURCE

BENCHMARK: Final = "archive"
EVERY: Final = 256
"""As often an entry carries the hash of the state."""
BATCH: Final = 5_000
SESSIONS: Final = 20
_ROOM: Final = (
    "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public'"
)


def archive(run: Run) -> list[Figure]:
    size = run.size(1_000_000, 5_000)
    small, large = (_measured(run.folder / str(count), count) for count in (size // 10, size))
    rate = Figure(
        benchmark=BENCHMARK,
        what=f"follow the chain of {size:,} events, of processor time",
        unit="events/s",
        ours=large["verify"][0],
        target=Target(at_least=150_000),
    )
    whats = {
        "verify": "follow the chain of",
        "backup": "back up",
        "away": "archive, verified again,",
        "back": "bring back",
    }
    memory = [
        Figure(
            benchmark=BENCHMARK,
            what=f"memory to {words} {size:,} events",
            unit="MiB",
            ours=large[name][1],
            peer=small[name][1],
            peer_is=f"of {size // 10:,}",
            ratio=large[name][1] / small[name][1],
            ratio_is="memory : memory at a tenth",
            target=Target(at_most=1.3),
        )
        for name, words in whats.items()
    ]
    costs = [
        Figure(
            benchmark=BENCHMARK,
            what=f"{words} {size:,} events, of processor time",
            unit="us/event",
            ours=1e6 / large[name][0],
        )
        for name, words in list(whats.items())[1:]
    ]
    return [rate, *memory, *costs, asyncio.run(_tables(run.size(1_000, 40)))]


def _measured(folder: Path, size: int) -> dict[str, list[float]]:
    """Each in a process of its own, so that memory is that of this work alone."""
    folder.mkdir()
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    told = {}
    for what in ("fill", "verify", "backup", "away", "back"):
        done = run([sys.executable, "-m", "benchmarks.archive", what, str(folder), str(size)])
        told[what] = [float(one) for one in done.stdout.split()]
    return told


def peak_mib() -> float:
    """What this process has held at most. `ru_maxrss` would tell what its parent held, if that was more."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def ledger(entries: list[Sealed], size: int) -> Iterator[Sealed]:
    """A ledger of any length that verifies: the same elimination again and again, which changes nothing."""
    yield from entries
    plain, hashed = entries[EVERY - 2], entries[EVERY - 1]
    previous = entries[-1].hash
    for seq in range(len(entries) + 1, size + 1):
        one = plain if seq % EVERY else hashed
        event_id = f"{one.event_id[:24]}{seq:012x}"
        record = one.record.replace(one.event_id.encode(), event_id.encode(), 1)
        record = record.replace(b'"seq":%d,' % one.seq, b'"seq":%d,' % seq, 1)
        begin = record.index(b'"prev_hash":"') + 13
        record = record[:begin] + previous.encode() + record[begin + 64 :]
        previous = hashlib.sha256(record).hexdigest()
        yield Sealed(seq, event_id, record, previous)


async def _fill(folder: Path, size: int) -> None:
    async with await beliefd.open_async(folder / "ledger.db", principal=LOCAL_OPERATOR) as calls:
        session = (await calls.declare_session(["a", "b"], ONTOLOGY)).session_id
        for _ in range(EVERY - 1):
            await calls.eliminate(
                session, source_id=SOURCE, observation_id="o", eliminated=["a"], justification=JUSTIFICATION
            )
        entries = await calls.steward.store.entries(session)
    store = await SqliteStore.open(folder / "ledger.db")
    batch, head = [], head_of(entries[-1])
    for one in ledger(entries, size):
        if one.seq <= EVERY:
            continue
        batch.append(one)
        if len(batch) == BATCH or one.seq == size:
            await store.append(Append(session, head, batch, CREATED))
            batch, head = [], head_of(one)
    await Log(store).catch_up()
    await store.close()
    (folder / "session").write_text(session)


async def _verify(folder: Path, size: int) -> None:
    store = await SqliteStore.open(folder / "ledger.db")
    session, walk = (folder / "session").read_text(), Walk(Marks())
    head = await store.head(session)
    started = time.process_time()
    await store.replay(session, 0, size, walk.take)
    took = time.process_time() - started
    await store.close()
    if head is None or walk.marks.end != (size, head.hash):
        raise RuntimeError("the chain does not hold")
    print(size / took, peak_mib())


def _backup(folder: Path, size: int) -> None:
    started = time.process_time()
    copy_file(folder / "ledger.db", folder / "copy.db")
    print(size / (time.process_time() - started), peak_mib())


def _moved(folder: Path, size: int, back: bool) -> None:
    session = (folder / "session").read_text()
    settings = LogSettings(key=folder / "log.key")
    with beliefd.open(folder / "ledger.db", principal=LOCAL_OPERATOR, log=settings) as calls:
        started = time.process_time()
        if back:
            count = unarchive(calls, folder / "away" / f"{session}.jsonl")
        else:
            (done,) = put_away(calls, (session,), folder / "away", None, False, "over").archived
            count = done.events
        took = time.process_time() - started
    if count != size + 1:
        raise RuntimeError("events were lost")
    print(size / took, peak_mib())


async def _tables(length: int) -> Figure:
    """Bytes in the tables of PostgreSQL with all sessions, and with one of them, the others archived."""
    with PostgresServer() as server:
        url = server.create_database()
        store = await PostgresStore.open(url)
        connection = await asyncpg.connect(url)
        ledgers = {f"s{number:02}": _padded(f"s{number:02}", length) for number in range(SESSIONS)}
        for name, entries in ledgers.items():
            await store.append(Append(name, None, entries, CREATED))
        await Log(store).catch_up()
        before = await connection.fetchval(_ROOM)
        for name, entries in list(ledgers.items())[1:]:
            await store.keep_hashes(name, 1, [one.hash for one in entries])
            await store.archive(stub_of(entries, name), ())
            await store.remove_archived(name, length)
        await connection.execute("VACUUM FULL")
        after = await connection.fetchval(_ROOM)
        await connection.close()
        await store.close()
    return Figure(
        benchmark=BENCHMARK,
        what=f"tables of PostgreSQL, {SESSIONS - 1} of {SESSIONS} sessions archived",
        unit="MiB",
        ours=after / (1 << 20),
        peer=before / (1 << 20),
        peer_is="none archived",
        ratio=after / before,
        ratio_is="bytes : bytes before",
    )


def _padded(name: str, length: int) -> list[Sealed]:
    """Events as long as those of an elimination with a short justification."""
    found = []
    for one in sealed_chain(name, length):
        padding = "" if one.seq == length else hashlib.sha256(one.record).hexdigest() * 13
        record = one.record[:-1] + b',"text2":"' + padding.encode() + b'"}'
        found.append(Sealed(one.seq, one.event_id, record, hashlib.sha256(record).hexdigest()))
    return found


if __name__ == "__main__":
    _, what, place, count = sys.argv
    if what in ("away", "back"):
        _moved(Path(place), int(count), what == "back")
    elif what == "backup":
        _backup(Path(place), int(count))
    else:
        asyncio.run((_fill if what == "fill" else _verify)(Path(place), int(count)))
