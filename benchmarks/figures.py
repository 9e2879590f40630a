"""What a benchmark says: ours, the peer's, their ratio, and whether that meets its target."""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct


class Target(Struct, frozen=True):
    """A bound that was promised, on the ratio or on the figure itself."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        if self.at_least is not None and value < self.at_least:
            return False
        return self.at_most is None or value <= self.at_most

    def __str__(self) -> str:
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


class Figure(Struct, frozen=True, kw_only=True):
    """One line of the table. `ratio` says in `ratio_is` what it is a ratio of."""

    benchmark: str
    what: str
    unit: str
    ours: float
    peer: float | None = None
    peer_is: str | None = None
    ratio: float | None = None
    ratio_is: str | None = None
    target: Target | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.target.met(self.ours if self.ratio is None else self.ratio)


class Run(Struct, frozen=True):
    """How thorough to be, and where files may go."""

    folder: Path
    quick: bool = False
    seconds: float = 0.0
    """For those that have a long form: how long it goes on."""

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


Benchmark = Callable[[Run], list[Figure]]
FASTER: Final = "ours : peer"
TIMES_FASTER: Final = "peer's time : ours"


def alternate(rounds: int, ours: Callable[[], float], peer: Callable[[], float]) -> tuple[float, float]:
    """Medians of both, measured turn by turn, so that a noisy neighbour disturbs both alike."""
    own: list[float] = []
    others: list[float] = []
    for number in range(rounds):
        turns = [(ours, own), (peer, others)]
        for measure, results in turns if number % 2 == 0 else reversed(turns):
            results.append(measure())
    return statistics.median(own), statistics.median(others)


def fsync_ms(folder: Path, times: int) -> float:
    """What the disk takes for what SQLite does once per commit."""
    taken = []
    file = os.open(folder / "fsync", os.O_CREAT | os.O_WRONLY)
    for _ in range(times):
        time.sleep(0.005)
        started = time.perf_counter()
        os.write(file, b"x" * 4096)
        os.fsync(file)
        taken.append(time.perf_counter() - started)
    os.close(file)
    return statistics.median(taken) * 1000
