"""The log: giving leaves, proving that an event is covered, checking that, and what it takes of memory."""

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from beliefd.ledger.envelope import Sealed, head_of
from beliefd.ledger.merkle import leaf_hash, verify_inclusion
from beliefd.steward.log import Log
from beliefd.stores.base import Append
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.appends import CREATED, chain
from benchmarks.archive import peak_mib
from benchmarks.figures import Figure, Run, Target

BENCHMARK: Final = "proofs"
PER_SESSION: Final = 1_000
PROOFS: Final = 300


def proofs(run: Run) -> list[Figure]:
    size = run.size(1_000_000, 5_000)
    small, large = (_child(run.folder / f"log-{count}.db", count) for count in (size // 10, size))
    return [
        Figure(
            benchmark=BENCHMARK, what=f"give {size:,} events their leaves", unit="events/s", ours=large[0]
        ),
        Figure(
            benchmark=BENCHMARK,
            what=f"inclusion proof at {size:,} leaves",
            unit="ms",
            ours=large[1] * 1e3,
            ratio=large[1] * 1e3,
            ratio_is="milliseconds",
            target=Target(at_most=5.0),
        ),
        Figure(benchmark=BENCHMARK, what="check an inclusion proof", unit="proofs/s", ours=large[2]),
        Figure(
            benchmark=BENCHMARK,
            what=f"memory at {size:,} leaves",
            unit="MiB",
            ours=large[3],
            peer=small[3],
            peer_is=f"at {size // 10:,} leaves",
            ratio=large[3] / small[3],
            ratio_is="memory : memory at a tenth",
            target=Target(at_most=1.3),
        ),
    ]


def _child(path: Path, size: int) -> list[float]:
    """Measured in a process of its own, so that memory is that of this work alone."""
    fill = [sys.executable, "-m", "benchmarks.proofs", "fill", str(path), str(size)]
    subprocess.run(fill, check=True)
    measure = [sys.executable, "-m", "benchmarks.proofs", "measure", str(path), str(size)]
    told = subprocess.run(measure, check=True, capture_output=True, text=True)
    return [float(one) for one in told.stdout.split()]


async def _fill(path: Path, size: int) -> None:
    store = await SqliteStore.open(path)
    for number in range(-(-size // PER_SESSION)):
        entries = chain(f"session-{number:06}", min(PER_SESSION, size - number * PER_SESSION))
        await store.append(Append(f"session-{number:06}", None, entries, CREATED))
    await store.close()


async def _measure(path: Path, size: int) -> None:
    store = await SqliteStore.open(path)
    tree = Log(store)
    started = time.perf_counter()
    added = await tree.catch_up()
    leaves_per_second = added / (time.perf_counter() - started)
    assert await store.log_size() == size
    draw = random.Random(18)
    wanted = [draw.randrange(size) for _ in range(PROOFS)]
    started = time.perf_counter()
    paths = [await tree.inclusion(index, size) for index in wanted]
    seconds_per_proof = (time.perf_counter() - started) / PROOFS
    leaves = [await _leaf(store, index) for index in wanted]
    whole = await tree.root(size)
    started = time.perf_counter()
    for leaf, index, path_ in zip(leaves, wanted, paths, strict=True):
        verify_inclusion(leaf, index, size, path_, whole)
    checks_per_second = PROOFS / (time.perf_counter() - started)
    await store.close()
    print(leaves_per_second, seconds_per_proof, checks_per_second, peak_mib())


async def _leaf(store: SqliteStore, index: int) -> bytes:
    session, seq = divmod(index, PER_SESSION)
    (entry,) = await store.entries(f"session-{session:06}", seq, 1)
    assert isinstance(entry, Sealed)
    return leaf_hash(bytes.fromhex(head_of(entry).hash))


if __name__ == "__main__":
    _, what, place, count = sys.argv
    asyncio.run((_fill if what == "fill" else _measure)(Path(place), int(count)))
