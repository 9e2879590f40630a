"""What clients asked and were told, and the proof that one ledger per session explains all of it.

A session is linearizable if there is one order of its events such that every answer is what that order gives,
and nothing that ended before something else began comes after it. Events are numbered, so the order need not
be searched for: it is the ledger's. What has to hold:

  1. the ledger is whole: numbered from 1 without gaps, every event and every write once;
  2. what was acknowledged is there, with the number and the id that were told, however often it was sent;
  3. what was refused is not there, and nothing is there that nobody sent;
  4. a write that ended before another began has the smaller number;
  5. a write that wanted to follow an event follows it, and was refused only where another one did;
  6. a snapshot shows the survivors that the ledger has at its head, and counts as a read up to there;
  7. a read saw the beginning of the ledger as it is: all that had ended before it began, nothing that began
     after it had ended, and no less than an earlier read.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import Literal

from msgspec import Struct

Outcome = Literal["ok", "refused", "unknown"]


class Try(Struct, frozen=True):
    """One request to write, as its client saw it. `name` is the same for all tries of one write, `after` the
    event that it wanted to follow, if any."""

    session_id: str
    name: str
    began: float
    ended: float
    outcome: Outcome
    seq: int = 0
    event_id: str = ""
    after: str = ""


class Read(Struct, frozen=True):
    """The ids of all events that a read was answered with, in order."""

    session_id: str
    began: float
    ended: float
    event_ids: tuple[str, ...]


class Seen(Struct, frozen=True):
    """A snapshot that a client was shown: its head, and the hash of what survives."""

    session_id: str
    began: float
    ended: float
    seq: int
    event_id: str
    survivors: str


class Kept(Struct, frozen=True):
    """An event of the ledger as it is in the end. `name` is that of its write, or empty."""

    seq: int
    event_id: str
    name: str
    survivors: str = ""


class _Write(Struct):
    """All tries of one write: it happened, if at all, after the first began and before the first was told."""

    name: str
    began: float
    ended: float
    told: set[tuple[int, str]]
    outcomes: set[str]


def problems(
    ledger: Sequence[Kept], tries: Sequence[Try], reads: Iterable[Read], seen: Sequence[Seen] = ()
) -> list[str]:
    """What cannot be explained, in words; nothing, if one order explains everything."""
    writes = _writes(tries)
    found = [*_whole(ledger), *_acknowledged(ledger, writes)]
    if found:
        return found  # the order cannot be trusted: what follows would only repeat it
    found = [*_in_order(ledger, writes), *_followed(ledger, writes, tries), *_shown(ledger, seen)]
    ids = tuple(event.event_id for event in ledger)
    looks = [Read(one.session_id, one.began, one.ended, ids[: one.seq]) for one in seen]
    return [*found, *_reads(ledger, writes, [*reads, *looks])]


def _writes(tries: Iterable[Try]) -> dict[str, _Write]:
    writes: dict[str, _Write] = {}
    for one in tries:
        write = writes.setdefault(one.name, _Write(one.name, inf, inf, set(), set()))
        write.began = min(write.began, one.began)
        write.outcomes.add(one.outcome)
        if one.outcome == "ok":
            write.ended = min(write.ended, one.ended)
            write.told.add((one.seq, one.event_id))
    return writes


def _whole(ledger: Sequence[Kept]) -> Iterable[str]:
    for place, event in enumerate(ledger, 1):
        if event.seq != place:
            yield f"event {event.event_id} is at {event.seq}, and should be at {place}"
    for what in ("event_id", "name"):
        seen: set[str] = set()
        for event in ledger:
            if (value := getattr(event, what)) and value in seen:
                yield f"{what} {value} is there twice"
            seen.add(value)


def _acknowledged(ledger: Sequence[Kept], writes: dict[str, _Write]) -> Iterable[str]:
    by_name = {event.name: event for event in ledger if event.name}
    for write in writes.values():
        event = by_name.get(write.name)
        if len(write.told) > 1:
            yield f"write {write.name} was answered in {len(write.told)} ways: {sorted(write.told)}"
        elif write.told and event is None:
            yield f"write {write.name} was acknowledged, and is not there"
        elif write.told and event is not None and write.told != {(event.seq, event.event_id)}:
            yield f"write {write.name} was answered with {sorted(write.told)}, and is at {event.seq}"
        elif event is not None and write.outcomes == {"refused"}:
            yield f"write {write.name} was refused, and is there at {event.seq}"
    for name in by_name.keys() - writes.keys():
        yield f"write {name} is there, and nobody sent it"


def _in_order(ledger: Sequence[Kept], writes: dict[str, _Write]) -> Iterable[str]:
    latest = -inf
    for event in ledger:
        if event.name:
            write = writes[event.name]
            if latest > write.ended:
                yield f"write {write.name} at {event.seq} had ended before one with a smaller number began"
            latest = max(latest, write.began)


def _followed(ledger: Sequence[Kept], writes: dict[str, _Write], tries: Iterable[Try]) -> Iterable[str]:
    after = {before.event_id: event for before, event in pairwise(ledger)}
    for one in tries:
        if not one.after or one.outcome == "unknown":
            continue
        follower = after.get(one.after)
        if one.outcome == "ok" and (follower is None or follower.name != one.name):
            yield f"write {one.name} wanted to follow {one.after}, and was let through elsewhere"
        elif one.outcome == "refused" and (
            follower is None or (follower.name and writes[follower.name].began > one.ended)
        ):
            yield f"write {one.name} was refused, and nothing had followed {one.after}"


def _shown(ledger: Sequence[Kept], seen: Iterable[Seen]) -> Iterable[str]:
    for one in seen:
        there = ledger[one.seq - 1] if 0 < one.seq <= len(ledger) else None
        if there is None or (there.event_id, there.survivors) != (one.event_id, one.survivors):
            yield f"a snapshot at {one.seq} does not show what the ledger has there"


def _reads(ledger: Sequence[Kept], writes: dict[str, _Write], reads: list[Read]) -> Iterable[str]:
    ids = tuple(event.event_id for event in ledger)
    ended = sorted((writes[event.name].ended, event.seq) for event in ledger if event.name)
    told = [end for end, _ in ended]
    # Of a long history every read is held against all of it, so what came before is summed up once.
    furthest = list(accumulate((seq for _, seq in ended), max, initial=0))
    latest = list(accumulate((writes[one.name].began if one.name else -inf for one in ledger), max))
    for read in reads:
        seen = len(read.event_ids)
        if read.event_ids != ids[:seen]:
            yield f"a read of {seen} events did not see the beginning of the ledger as it is"
            continue
        missed = furthest[bisect_left(told, read.began)]
        if missed > seen:
            yield f"a read saw {seen} events, and {missed} had been acknowledged before it began"
        if seen and latest[seen - 1] > read.ended:
            yield f"a read saw an event among {seen} before anybody had sent it"
    for earlier, later in pairwise(sorted(reads, key=lambda read: read.ended)):
        if earlier.ended < later.began and len(later.event_ids) < len(earlier.event_ids):
            yield f"a read saw {len(later.event_ids)} events after one had seen {len(earlier.event_ids)}"
