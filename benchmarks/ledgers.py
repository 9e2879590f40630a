"""Sessions with ledgers of a given length, written by this process before a server has them."""

import asyncio
from pathlib import Path
from typing import Final

import beliefd
from beliefd.embedded import AsyncEmbedded
from beliefd.testing.world import ONTOLOGY

AT_ONCE: Final = 256
NAMES: Final = [f"h{at:03}" for at in range(400)]
SOURCE: Final = "tool://bench"


async def filled(path: Path, counts: tuple[int, ...], log: str = "") -> list[str]:
    """A session of each length, in events; each says `log`, too."""
    ledger = await beliefd.open_async(path)
    try:
        return [await _session(ledger, events, log) for events in counts]
    finally:
        await ledger.close()


async def _session(ledger: AsyncEmbedded, events: int, log: str) -> str:
    opened = await ledger.declare_session(NAMES, ONTOLOGY, metadata={"title": f"{events} events"})
    for first in range(1, events, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, events))
        await asyncio.gather(*(_eliminate(ledger, opened.session_id, number, log) for number in numbers))
    return opened.session_id


async def _eliminate(ledger: AsyncEmbedded, session_id: str, number: int, log: str) -> None:
    """After as many as there are names, the same is said again: nothing falls, and all is recorded."""
    await ledger.eliminate(
        session_id,
        source_id=SOURCE,
        observation_id=f"o{number}",
        eliminated=[NAMES[number % (len(NAMES) - 1)]],
        justification={"because": "it was looked at and is not there"} | ({"log": log} if log else {}),
    )
