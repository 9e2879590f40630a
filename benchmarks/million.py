"""A million hypotheses: eliminating ten and hashing what is left, and what a session of that size weighs."""

import asyncio
import hashlib
import subprocess
import sys
import time

import beliefd
from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate
from beliefd.kernel.decide import decide
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import Figure, Run, Target, alternate
from benchmarks.workload import JUSTIFICATION, SOURCE

AT_ONCE = 10
BENCHMARK = "million"


def million(run: Run) -> list[Figure]:
    size = run.size(1_000_000, 10_000)
    return [_eliminate(run, size), _memory(size), *asyncio.run(_usable(run, size))]


def names(size: int) -> list[str]:
    return [f"hypothesis-{number:07}" for number in range(size)]


def declaration(size: int) -> DeclareSession:
    return DeclareSession(ontology=ONTOLOGY, hypotheses=tuple(names(size)))


def _eliminate(run: Run, size: int) -> Figure:
    kernel, sketch = Kernel(size), Sketch(size)
    own, other = alternate(run.size(3, 1), kernel.measured, sketch.measured)
    return Figure(
        benchmark=BENCHMARK,
        what=f"eliminate {AT_ONCE} of {size:,} and hash the survivors",
        unit="us",
        ours=own * 1e6,
        peer=other * 1e6,
        peer_is="set, sorted names, sha256",
        ratio=own / other,
        ratio_is="our time : peer's",
        target=Target(at_most=0.001),
    )


class Kernel:
    """decide, evolve and digest, ten other hypotheses every time."""

    TURNS = 50

    def __init__(self, size: int) -> None:
        self._session: Session = begin("bench", declaration(size))
        self._ids = self._session.beliefs.survivors.universe.ids
        self._at = 0
        self._facts = Facts(now="", event_id="", principal=LOCAL_AGENT, policy=Policy(), policy_hash="")

    def measured(self) -> float:
        commands = [self._command() for _ in range(self.TURNS)]
        started = time.perf_counter()
        for command in commands:
            self._session = evolve(self._session, decide(self._session, command, self._facts))
            self._session.beliefs.survivors.digest  # noqa: B018 - computed when asked for
        return (time.perf_counter() - started) / self.TURNS

    def _command(self) -> Eliminate:
        gone = self._ids[self._at : self._at + AT_ONCE]
        self._at += AT_ONCE
        return Eliminate(source_id=SOURCE, observation_id="obs", eliminated=gone, justification=JUSTIFICATION)


class Sketch:
    """The idea of the specification's sketch: a set of names, hashed as sorted lines."""

    def __init__(self, size: int) -> None:
        self._names = names(size)
        self._survivors = set(self._names)

    def measured(self) -> float:
        gone = self._names[-AT_ONCE:]
        del self._names[-AT_ONCE:]
        started = time.perf_counter()
        self._survivors -= set(gone)
        hashlib.sha256("\n".join(sorted(self._survivors)).encode()).hexdigest()
        return time.perf_counter() - started


def _memory(size: int) -> Figure:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.weigh", str(size)], check=True, capture_output=True, text=True
    )
    return Figure(
        benchmark=BENCHMARK,
        what=f"memory that a session of {size:,} holds",
        unit="bytes/hypothesis",
        ours=float(done.stdout),
        target=Target(at_most=200),
    )


async def _usable(run: Run, size: int) -> list[Figure]:
    """For information: the calls that see the whole universe, through the embedded library on SQLite."""
    async with await beliefd.open_async(run.folder / "million.db") as ledger:
        started = time.perf_counter()
        session_id = (await ledger.declare_session(names(size), ONTOLOGY)).session_id
        declared = time.perf_counter()
        answer = await ledger.query_belief(session_id)
        queried = time.perf_counter()
        if answer.n_survivors != size:
            raise RuntimeError("survivors were lost")
    return [
        Figure(
            benchmark=BENCHMARK,
            what=f"declare {size:,} durably",
            unit="ms",
            ours=(declared - started) * 1e3,
        ),
        Figure(
            benchmark=BENCHMARK,
            what=f"snapshot with its first {len(answer.survivors):,} survivors",
            unit="ms",
            ours=(queried - declared) * 1e3,
        ),
    ]
