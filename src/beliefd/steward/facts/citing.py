"""What is looked up in a ledger: calls that are cited, and which elimination did what."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

from msgspec import UNSET

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.beliefs.findings import CitationFindings
from beliefd.kernel.observations.rules import mostly_in, numbers_in
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.echo import PutIn, echoes, put_in
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.witness import witness_of
from beliefd.ledger.envelope import Entry, read, read_links
from beliefd.stores.base import Store

MOST_CITED: Final = 20
"""Of so many cited calls it is looked up whether they say anything; the rest counts as not seen."""


def cites_calls(command: Eliminate) -> bool:
    """Must something be looked up about it?"""
    return command.cites is not UNSET and any(one.call is not UNSET for one in command.cites)


async def citation_findings(store: Store, session: Session, command: Eliminate) -> CitationFindings:
    """Which of the cited calls the server is a witness of."""
    cites = () if command.cites is UNSET else command.cites
    names = (one.call for one in cites if one.call is not UNSET)
    return CitationFindings(seen=await seen_calls(store, session, names))


async def seen_calls(store: Store, session: Session, names: Iterable[str]) -> tuple[str, ...]:
    """Of these calls, those that the server is a witness of: their results say what no caller had said.

    INVARIANT: what callers put in is read once, however many calls are cited; of the cited calls, so many are
    looked at, and no more.
    """
    calls = session.substrate.calls
    cited = [name for name in dict.fromkeys(names) if name in calls and calls[name].outcome is not None]
    if not cited:
        return ()
    args = [one.args for one in calls.values()]
    given, known = await asyncio.to_thread(lambda: (put_in(args), numbers_in(args)))
    seen = []
    for name in cited[:MOST_CITED]:
        # What is decided and not written yet has not been seen.
        seq = await store.seq_of(session.session_id, calls[name].outcome or "")
        for entry in () if seq is None else await store.entries(session.session_id, seq - 1, 1):
            if await asyncio.to_thread(_tells, read(entry.record), given, known):
                seen.append(name)
    return tuple(seen)


def _tells(entry: Entry, given: PutIn, known: set[float]) -> bool:
    """Does a result say anything that no caller of the session has put in? The rules are those of memory and
    of observations."""
    event = entry.delta
    if not isinstance(event, OutcomeRecorded) or witness_of(event, entry.actor) is None:
        return False
    numbers = tuple(numbers_in(event.result))
    return not echoes(event.result, given) and not (numbers and mostly_in(numbers, known))


async def eliminated_by(store: Store, session_id: str, names: Collection[str]) -> dict[str, str]:
    """By hypothesis, the event that eliminated it; one walk over the ledger, however many are asked for."""
    wanted, found = set(names), dict[str, str]()
    async for chunk in store.stream(session_id, 1):
        for link, sealed in zip(read_links([one.record for one in chunk]), chunk, strict=True):
            gone = wanted.intersection(link.delta.eliminated)
            found.update(dict.fromkeys(gone, sealed.event_id))
            wanted -= gone
        if not wanted:
            break
    return found
