"""What is looked up in a ledger: calls that are cited, and which elimination did what."""

from collections.abc import Collection, Iterable
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import MAX_CITED, Eliminate
from beliefd.kernel.beliefs.findings import CitationFindings
from beliefd.kernel.claims.findings import Unread
from beliefd.kernel.observations.rules import numbers_in, repeats
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.echo import MOST_PUT_IN, echoes, put_in_by
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.witness import witness_of
from beliefd.ledger.envelope import Entry, read, read_links
from beliefd.steward.facts.reported import with_witnessed
from beliefd.steward.offload import in_pool
from beliefd.stores.base import Store
from beliefd.stores.within import Within

MOST_HEARD: Final = MAX_CITED
"""Of so many cited calls it is looked up whether they say anything: of all that one elimination may cite."""


def cites_calls(command: Eliminate) -> bool:
    """Must something be looked up about it?"""
    return command.cites is not UNSET and any(one.call is not UNSET for one in command.cites)


async def citation_findings(
    store: Store, session: Session, command: Eliminate, within: Within
) -> CitationFindings:
    """Which of the cited calls the server is a witness of."""
    cites = () if command.cites is UNSET else command.cites
    names = (one.call for one in cites if one.call is not UNSET)
    heard = await seen_calls(store, session, names, within)
    return CitationFindings(seen=heard.seen or ())


class Heard(Struct, frozen=True):
    """Cited calls: those that the server is a witness of, because their results say what no caller had said;
    and those that were not looked at, because they are too many, or their caller had put in too much."""

    seen: tuple[str, ...] | UnsetType = UNSET
    unheard: Unread | UnsetType = UNSET
    unread: Unread | UnsetType = UNSET


NOTHING_HEARD: Final = Heard()


async def seen_calls(store: Store, session: Session, names: Iterable[str], within: Within) -> Heard:
    """What can be said of these calls.

    INVARIANT: of the cited calls so many are looked at, of what callers put in so much, and no more.
    """
    calls = session.substrate.calls
    cited = [name for name in dict.fromkeys(names) if name in calls and calls[name].outcome is not None]
    seen, unread = [], []
    for name in cited[:MOST_HEARD]:
        # What is decided and not written yet has not been seen.
        seq = await store.seq_of(session.session_id, calls[name].outcome or "")
        for sealed in () if seq is None else await store.entries(session.session_id, seq - 1, 1):
            entry = read(sealed.record)
            if session.transfers.holds(entry.seq):
                continue  # it was seen elsewhere, if at all
            if isinstance(entry.delta, OutcomeRecorded):
                entry = replace(entry, delta=await with_witnessed(store, entry.delta, within))
            # Only what was put in until then can be repeated: a reading that is passed on stays a reading.
            before = [one for one in calls.values() if one.scheduled_at <= entry.ts]
            before.sort(key=lambda one: one.scheduled_at, reverse=True)
            said = [(one.agent_id, one.args) for one in before]
            tells = await in_pool("parse", _tells, entry, said, calls[name].agent_id)
            if tells is None:
                unread.append(name)
            elif tells:
                seen.append(name)
    return Heard(tuple(seen), _left(cited[MOST_HEARD:], MOST_HEARD), _left(unread, MOST_PUT_IN))


def _left(names: list[str], limit: int) -> Unread | UnsetType:
    return Unread(limit=limit, names=tuple(names)) if names else UNSET


def _tells(entry: Entry, said: list[tuple[str, Any]], caller: str) -> bool | None:
    """Does a result say anything that no caller of the session has put in? The rules are those of memory and
    of observations. None if its own caller has put in more than can be compared."""
    event = entry.delta
    if not isinstance(event, OutcomeRecorded) or witness_of(event, entry.actor) is None:
        return False
    given = put_in_by(said, caller)
    if given.whole is None:
        return None
    if echoes(event.result, given):
        return False
    numbers = tuple(numbers_in(event.result))
    return not (numbers and repeats([args for _, args in said], numbers))


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
