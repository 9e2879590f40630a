"""Canonical JSON of a typical envelope, against the pure Python implementation of RFC 8785."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
import rfc8785

import beliefd
from beliefd.kernel.canonical import canonical as ours
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import TIMES_FASTER, Figure, Run, alternate
from benchmarks.workload import HYPOTHESES, JUSTIFICATION, SOURCE


def canonical(run: Run) -> list[Figure]:
    envelope = asyncio.run(_envelope())
    if ours(envelope) != rfc8785.dumps(envelope):
        raise RuntimeError("the two do not agree on the bytes")
    turns = run.size(2_000, 20)
    own, other = alternate(
        run.size(9, 1), lambda: _timed(ours, envelope, turns), lambda: _timed(rfc8785.dumps, envelope, turns)
    )
    return [
        Figure(
            benchmark="canonical",
            what="canonical bytes of an elimination's envelope",
            unit="us",
            ours=own,
            peer=other,
            peer_is="rfc8785",
            ratio=other / own,
            ratio_is=TIMES_FASTER,
        )
    ]


async def _envelope() -> Any:
    """A real one, taken from a ledger."""
    async with await beliefd.open_async(":memory:") as ledger:
        session_id = (await ledger.declare_session(HYPOTHESES, ONTOLOGY)).session_id
        await ledger.eliminate(
            session_id,
            source_id=SOURCE,
            observation_id="obs-1",
            eliminated=HYPOTHESES[:1],
            justification=JUSTIFICATION,
        )
        entries = await ledger.steward.store.entries(session_id)
    return msgspec.json.decode(entries[-1].record)


def _timed(dumps: Callable[[Any], bytes], value: Any, turns: int) -> float:
    started = time.perf_counter()
    for _ in range(turns):
        dumps(value)
    return (time.perf_counter() - started) / turns * 1e6
