"""One durable append through the embedded library, 64 callers at once."""

import asyncio
import threading
import time
from uuid import UUID

import beliefd
from beliefd.embedded import AsyncEmbedded
from beliefd.testing.world import ONTOLOGY
from benchmarks import peer
from benchmarks.figures import FASTER, Figure, Run, Target, alternate
from benchmarks.workload import CALLERS, HYPOTHESES, JUSTIFICATION, SOURCE, hypothesis


def append(run: Run) -> list[Figure]:
    return [_measured(run, 1, "one session"), _measured(run, CALLERS, f"{CALLERS} sessions")]


def _measured(run: Run, sessions: int, where: str) -> Figure:
    with asyncio.Runner() as runner:
        ledger = runner.run(beliefd.open_async(run.folder / f"append-{sessions}.db"))
        ours = [runner.run(declared(ledger)) for _ in range(sessions)]
        theirs = peer.opened(run.folder / f"append-{sessions}-peer.db", cached=True)
        others = [theirs.declare() for _ in range(sessions)]
        # A round of ours holds more events, because it is over sooner.
        own, other = alternate(
            run.size(9, 1),
            lambda: runner.run(appended(ledger, ours, run.size(100, 1))),
            lambda: peers_appended(theirs, others, run.size(16, 1)),
        )
        runner.run(ledger.close())
        theirs.close()
    return Figure(
        benchmark="append",
        what=f"durable appends, {CALLERS} callers, {where}",
        unit="events/s",
        ours=own,
        peer=other,
        peer_is="eventsourcing, SQLite",
        ratio=own / other,
        ratio_is=FASTER,
        target=Target(at_least=5),
    )


async def declared(ledger: AsyncEmbedded) -> str:
    return (await ledger.declare_session(HYPOTHESES, ONTOLOGY)).session_id


async def appended(ledger: AsyncEmbedded, sessions: list[str], each: int) -> float:
    """Events a second when every caller has `each` to append, one after the other."""

    async def call(caller: int) -> None:
        session_id = sessions[caller % len(sessions)]
        for number in range(each):
            await ledger.eliminate(
                session_id,
                source_id=SOURCE,
                observation_id=f"obs-{caller}-{number}",
                eliminated=[hypothesis(number)],
                justification=JUSTIFICATION,
            )

    started = time.perf_counter()
    await asyncio.gather(*(call(caller) for caller in range(CALLERS)))
    return CALLERS * each / (time.perf_counter() - started)


def peers_appended(application: peer.Investigations, sessions: list[UUID], each: int) -> float:
    turns = peer.locks(sessions)

    def call(caller: int) -> None:
        session_id = sessions[caller % len(sessions)]
        for number in range(each):
            with turns[session_id]:
                application.eliminate(
                    session_id, SOURCE, f"obs-{caller}-{number}", [hypothesis(number)], JUSTIFICATION
                )

    callers = [threading.Thread(target=call, args=(caller,)) for caller in range(CALLERS)]
    started = time.perf_counter()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return CALLERS * each / (time.perf_counter() - started)
