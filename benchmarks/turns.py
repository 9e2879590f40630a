"""`python -m benchmarks.turns OTHER [JOB ...]`: processor time of this and of another version, by turns.

OTHER is a folder with that version, such as `git worktree add ../before COMMIT` makes. Each version has a
process of its own. They are asked in turns, a few milliseconds each, and the ratios of neighbours are
compared: other work on the machine slows both down alike, and waiting does not count. `--instructions` counts
what valgrind sees each of them execute: nothing else on the machine moves that, but it is no time either.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from itertools import cycle, islice
from pathlib import Path
from runpy import run_path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent.parent
JOBS: Final = {"gates": 5, "distinct-gates": 5, "bundles": 5, "distinct-bundles": 5, "permits": 5}
"""What is measured, and how often per turn. Bundles are all the same, unless distinct."""
COUNTED: Final = re.compile(r"Collected : (\d+)")
DISTINCT: Final = "distinct-"
FEW, MANY = 20, 60
"""What two runs differ by is what so many more have taken: neither imports nor the beginning count."""
Work = Callable[[int], Awaitable[None]]


def _said(origin: str, alike: bool) -> list[dict[str, Any]]:
    """By this version's workload, which the other one need not know. Whoever speaks has to be their origin by
    now, and was not always."""
    made = run_path(str(HERE / "benchmarks" / "workload.py"))["bundles"](alike)
    return [{**one, "origin_agent": origin} for one in made]


async def _gates(work: "list[Work]", alike: bool = True) -> None:
    """Ten claims, examined and judged, as in the benchmark `claims`."""
    import beliefd
    from beliefd.kernel.claims.bundle import ClaimBundle
    from beliefd.kernel.claims.commands import SubmitClaims
    from beliefd.kernel.decide import decide

    claims: Any = import_module("benchmarks.claims")
    session, facts, _ = await claims._prepared()
    ledger = await beliefd.open_async(":memory:")
    finder, who = ledger.steward.finder, claims.LOCAL_AGENT.id
    convert, replace = claims.msgspec.convert, claims.msgspec.structs.replace
    commands = cycle([SubmitClaims(bundle=convert(one, ClaimBundle)) for one in _said(who, alike)])

    async def judged(times: int) -> None:
        for command in islice(commands, times):
            found = await finder.examine(command.bundle, session, who, facts.policy)
            decide(session, command, replace(facts, findings=found))

    work.append(judged)


async def _bundles(work: "list[Work]", alike: bool = True) -> None:
    """The same claims, from the library's call to its answer, written to memory."""
    import beliefd
    from beliefd.kernel.policy import Policy
    from beliefd.protocol.wire import convert

    claims: Any = import_module("benchmarks.claims")
    ledger = await beliefd.open_async(":memory:", policy=convert(claims.POLICY, Policy))
    session_id = (await ledger.declare_session(["a", "b"], claims.ONTOLOGY)).session_id
    said = cycle(_said(claims.LOCAL_AGENT.id, alike))

    async def submitted(times: int) -> None:
        for bundle in islice(said, times):
            await ledger.submit_claims(session_id, bundle)

    work.append(submitted)


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
    if name == "permits":
        await _permits(made)
    else:
        kind = name.removeprefix(DISTINCT)
        await {"gates": _gates, "bundles": _bundles}[kind](made, kind == name)
    await made[0](20)
    for line in sys.stdin:
        started = time.thread_time()
        await made[0](int(line))
        print(1e6 * (time.thread_time() - started) / int(line), flush=True)


def _environment(tree: Path) -> dict[str, str]:
    paths = f"{tree / 'src'}{os.pathsep}{tree}"
    return {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}


def _command(job: str) -> list[str]:
    # Without `-P`, this folder would come first, and its `http` would hide Python's.
    return [sys.executable, "-P", str(Path(__file__).resolve()), "--job", job]


class _Version:
    """A process in which a tree's version does one job."""

    def __init__(self, tree: Path, job: str) -> None:
        pipe, environment = subprocess.PIPE, _environment(tree)
        self._process = subprocess.Popen(_command(job), env=environment, stdin=pipe, stdout=pipe, text=True)

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


def instructions(tree: Path, job: str) -> float:
    """How many one of these takes in a tree's version, by valgrind."""
    few, many = (_collected(tree, job, times) for times in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _collected(tree: Path, job: str, times: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*valgrind, *_command(job)],
        env=_environment(tree),
        input=f"{times}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    found = COUNTED.search(done.stderr)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing: `{done.stderr[-200:]}`")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, default=HERE)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=", ".join(JOBS))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument(
        "--instructions", action="store_true", help="count them, with valgrind; takes minutes"
    )
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job is not None:
        asyncio.run(_answer(asked.job))
        return
    for job in asked.jobs:
        if asked.instructions:
            ours, theirs = (instructions(tree, job) for tree in (HERE, asked.other.resolve()))
            print(f"{job}: its instructions : ours {theirs / ours:.2f}; {theirs:,.0f} : {ours:,.0f}")
            continue
        ratio, ours, theirs = compared(asked.other.resolve(), job, asked.rounds)
        print(f"{job}: its time : ours {ratio:.2f}; smallest {theirs:.0f} us : {ours:.0f} us")


if __name__ == "__main__":
    main()
