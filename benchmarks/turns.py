"""`python -m benchmarks.turns OTHER [JOB ...]`: processor time of this and of another version, by turns.

OTHER is a folder with that version, such as `git worktree add ../before COMMIT` makes. Each version has a
process of its own. They are asked in turns, a few milliseconds each, and the ratios of neighbours are
compared: other work on the machine slows both down alike, and waiting does not count.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent.parent
JOBS: Final = {"gates": 5, "permits": 5}
"""What is measured, and how often per turn."""
Work = Callable[[int], Awaitable[None]]


async def _gates(work: "list[Work]") -> None:
    """Ten claims, examined and judged, as in the benchmark `claims`."""
    import beliefd
    from beliefd.kernel.decide import decide

    claims: Any = import_module("benchmarks.claims")
    # Whoever speaks has to be its origin by now, and was not always.
    bundle = claims.bundle()
    bundle["origin_agent"] = claims.LOCAL_AGENT.id
    claims.bundle = lambda: bundle
    session, facts, command = await claims._prepared()
    ledger = await beliefd.open_async(":memory:")
    finder = ledger.steward.finder

    async def judged(times: int) -> None:
        for _ in range(times):
            found = await finder.examine(command.bundle, session, claims.LOCAL_AGENT.id, facts.policy)
            decide(session, command, claims.msgspec.structs.replace(facts, findings=found))

    work.append(judged)


async def _permits(work: "list[Work]") -> None:
    """Permits, decided and written to memory, from the library's call to its answer."""
    import beliefd
    from beliefd.kernel.policy import Policy
    from beliefd.protocol.wire import convert

    permits: Any = import_module("benchmarks.permits")
    ledger = await beliefd.open_async(":memory:", policy=convert(permits.RULES, Policy))
    session_id = (await ledger.declare_session(["a", "b"], permits.ONTOLOGY)).session_id
    candidate: dict[str, Any] = permits.BODY["candidates"][0]
    numbers = iter(range(1 << 62))

    async def permitted(times: int) -> None:
        for _ in range(times):
            call = {**candidate, "join_key": str(next(numbers))}
            await ledger.propose(session_id, [call], source="agent", execute="caller")

    work.append(permitted)


async def _answer(name: str) -> None:
    """In the process of one version: a number of times comes in, microseconds of this thread go out."""
    made: list[Work] = []
    await {"gates": _gates, "permits": _permits}[name](made)
    await made[0](20)
    for line in sys.stdin:
        started = time.thread_time()
        await made[0](int(line))
        print(1e6 * (time.thread_time() - started) / int(line), flush=True)


class _Version:
    """A process in which a tree's version does one job."""

    def __init__(self, tree: Path, job: str) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
        # Without `-P`, this folder would come first, and its `http` would hide Python's.
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--job", job]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def took(self, times: int) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(times, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def compared(other: Path, job: str, rounds: int) -> tuple[float, float, float]:
    """The other's time : ours, the median of all turns; and the smallest times of both, in microseconds."""
    versions = _Version(HERE, job), _Version(other, job)
    try:
        turns = [[one.took(JOBS[job]) for one in versions[:: 1 - 2 * (turn % 2)]] for turn in range(rounds)]
    finally:
        for one in versions:
            one.end()
    pairs = [pair[:: 1 - 2 * (turn % 2)] for turn, pair in enumerate(turns)]
    ours, theirs = zip(*pairs, strict=True)
    return statistics.median(b / a for a, b in pairs), min(ours), min(theirs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, default=HERE)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=", ".join(JOBS))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job is not None:
        asyncio.run(_answer(asked.job))
        return
    for job in asked.jobs:
        ratio, ours, theirs = compared(asked.other.resolve(), job, asked.rounds)
        print(f"{job}: its time : ours {ratio:.2f}; smallest {theirs:.0f} us : {ours:.0f} us")


if __name__ == "__main__":
    main()
