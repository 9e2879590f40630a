"""A long session from a cold start: ours with every hash and link checked, the peer's without any check."""

import asyncio
import sqlite3
import time
from pathlib import Path
from uuid import UUID

import beliefd
from beliefd.steward.write.positions import Positions
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import ONTOLOGY
from benchmarks import peer
from benchmarks.figures import TIMES_FASTER, Figure, Run, Target, alternate
from benchmarks.workload import HYPOTHESES, JUSTIFICATION, SOURCE, hypothesis

AT_ONCE = 500


def replay(run: Run) -> list[Figure]:
    events = run.size(20_000, 200)
    path = run.folder / "replay.db"
    session_id = asyncio.run(_written(path, events))
    _without_snapshots(path)
    theirs = peer.opened(run.folder / "replay-peer.db", cached=False)
    other_id = _peer_written(theirs, events)
    own, other = alternate(
        run.size(9, 1),
        lambda: asyncio.run(_load(path, session_id, events)) / events * 1e6,
        lambda: _peer_load(theirs, other_id, events) / events * 1e6,
    )
    theirs.close()
    return [
        Figure(
            benchmark="replay",
            what=f"load and fold {events:,} events, chain verified",
            unit="us/event",
            ours=own,
            peer=other,
            peer_is="eventsourcing, unverified",
            ratio=other / own,
            ratio_is=TIMES_FASTER,
            target=Target(at_least=10),
        )
    ]


async def _written(path: Path, events: int) -> str:
    async with await beliefd.open_async(path) as ledger:
        session_id = (await ledger.declare_session(HYPOTHESES, ONTOLOGY)).session_id
        for start in range(0, events - 1, AT_ONCE):
            await asyncio.gather(
                *(
                    ledger.eliminate(
                        session_id,
                        source_id=SOURCE,
                        observation_id=f"obs-{number}",
                        eliminated=[hypothesis(number)],
                        justification=JUSTIFICATION,
                    )
                    for number in range(start, min(start + AT_ONCE, events - 1))
                )
            )
    return session_id


def _without_snapshots(path: Path) -> None:
    """They would save all the work that is to be measured."""
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM snapshots")
    file.close()


def _peer_written(application: peer.Investigations, events: int) -> UUID:
    session_id = application.declare()
    investigation: peer.Investigation = application.repository.get(session_id)
    for number in range(events - 1):
        investigation.eliminate(SOURCE, f"obs-{number}", [hypothesis(number)], JUSTIFICATION)
    application.save(investigation)
    return session_id


async def _load(path: Path, session_id: str, events: int) -> float:
    store = await SqliteStore.open(path)
    started = time.perf_counter()
    position = await Positions(store).reload(session_id)
    took = time.perf_counter() - started
    await store.close()
    if position is None or position.head.seq != events:
        raise RuntimeError("not all events were folded")
    return took


def _peer_load(application: peer.Investigations, session_id: UUID, events: int) -> float:
    started = time.perf_counter()
    investigation: peer.Investigation = application.repository.get(session_id)
    took = time.perf_counter() - started
    if investigation.version != events:
        raise RuntimeError("the peer did not fold all events")
    return took
