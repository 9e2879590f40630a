"""Does a session get slower as its ledger grows? The same appends at its beginning and far down the line."""

import asyncio
import time

import beliefd
from beliefd.embedded import AsyncEmbedded
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import Figure, Run, Target, alternate
from benchmarks.workload import CALLERS, HYPOTHESES, JUSTIFICATION, SOURCE, hypothesis

SHORT = 10


def length(run: Run) -> list[Figure]:
    long = run.size(100_000, 500)
    each = run.size(16, 2)
    with asyncio.Runner() as runner:
        ledger = runner.run(beliefd.open_async(run.folder / "length.db"))
        long_session = runner.run(_session(ledger, long))

        def at_the_beginning() -> float:
            return runner.run(_appended(ledger, runner.run(_session(ledger, SHORT)), each))

        def far_down() -> float:
            return runner.run(_appended(ledger, long_session, each))

        far_down(), at_the_beginning()
        far, near = alternate(run.size(25, 1), far_down, at_the_beginning)
        runner.run(ledger.close())
    return [
        Figure(
            benchmark="length",
            what=f"cost of an event after {long:,} events",
            unit="us/event",
            ours=far,
            peer=near,
            peer_is=f"the same after {SHORT} events",
            ratio=far / near,
            ratio_is="long : short",
            target=Target(at_most=1.2),
        )
    ]


async def _session(ledger: AsyncEmbedded, events: int) -> str:
    session_id = (await ledger.declare_session(HYPOTHESES, ONTOLOGY)).session_id
    left = events - 1
    while left > 0:
        await _append(ledger, session_id, min(left, CALLERS * 4))
        left -= CALLERS * 4
    return session_id


async def _appended(ledger: AsyncEmbedded, session_id: str, each: int) -> float:
    """Microseconds an event, in waves of as many as there are callers."""
    started = time.perf_counter()
    for _ in range(each):
        await _append(ledger, session_id, CALLERS)
    return (time.perf_counter() - started) / (CALLERS * each) * 1e6


async def _append(ledger: AsyncEmbedded, session_id: str, count: int) -> None:
    await asyncio.gather(
        *(
            ledger.eliminate(
                session_id,
                source_id=SOURCE,
                observation_id=f"obs-{number}",
                eliminated=[hypothesis(number)],
                justification=JUSTIFICATION,
            )
            for number in range(count)
        )
    )
