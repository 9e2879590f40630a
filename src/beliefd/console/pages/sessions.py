"""Sessions: what is believed, how it came to that, and whether the record still holds."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.drawing import Step, collapse
from beliefd.protocol.beliefs import BeliefSnapshot, SessionPage
from beliefd.protocol.ledger import AuditPage, Verified
from beliefd.protocol.visible import visible
from beliefd.steward.offload import offload

ROWS: Final = 50
NAMED: Final = 200
"""So many survivors are listed on a page; the others are counted."""
CHARTED: Final = 2_000
CHARTED_PAGES: Final = 4
"""So much of a ledger is read for its picture, which says so if that is not all."""


class Actor(Struct, frozen=True):
    id: str


class Eliminated(Struct, frozen=True):
    eliminated: list[msgspec.Raw] = []


class Entry(Struct, frozen=True):
    """What a picture needs of an event."""

    seq: int
    verb: str
    actor: Actor
    delta: Eliminated


class EntryPage(Struct, frozen=True):
    events: list[Entry]
    next: str | None = None


async def listed(visitor: Visitor) -> Seen:
    asked = {"limit": ROWS, "cursor": visitor.query.get("cursor"), "space": visitor.query.get("space")}
    found: SessionPage = await visitor.asker.ask("list_sessions", query=asked)
    values = {"sessions": found.sessions, "broken": found.broken, "next": found.next}
    return Seen("sessions.html", values)


async def shown(visitor: Visitor) -> Seen:
    snapshot: BeliefSnapshot = await visitor.asker.ask(
        "query_belief", visitor.path, {"survivors_limit": NAMED}
    )
    trail = await _trail(visitor, await _newest_after(visitor, snapshot))
    steps, charted = await _steps(visitor)
    values = {
        "snapshot": snapshot,
        "survivors": snapshot.survivors,
        "unnamed": max(0, snapshot.n_survivors - NAMED),
        "events": trail.events[::-1],
        "chart": collapse(snapshot.n_hypotheses, steps),
        "charted": charted,
    }
    return Seen("session.html", values)


async def audit(visitor: Visitor) -> Seen:
    trail = await _trail(visitor, visitor.query.get("after"))
    values = {"session_id": visitor.path["session_id"], "events": trail.events, "next": trail.next}
    return Seen("audit.html", values)


async def verified(visitor: Visitor) -> Seen:
    found: Verified = await visitor.asker.ask("verify", visitor.path)
    return Seen("verified.html", {"session_id": visitor.path["session_id"], "found": found})


async def _newest_after(visitor: Visitor, snapshot: BeliefSnapshot) -> str | None:
    """The event after which the newest come; None if all of them fit on a page."""
    if snapshot.seq <= ROWS:
        return None
    asked = {"at": snapshot.seq - ROWS, "survivors_limit": 0}
    before: BeliefSnapshot = await visitor.asker.ask("query_belief", visitor.path, asked)
    return before.audit_head_event_id


async def _trail(visitor: Visitor, after: str | None) -> AuditPage:
    query: dict[str, Any] = {"limit": ROWS, "since_event_id": after}
    found = await visitor.asker.ask("audit_trace", visitor.path, query)
    # Entries are passed on as they are stored; a page looks into them.
    return await offload(_is_long(found), _read, found, AuditPage)


async def _steps(visitor: Visitor) -> tuple[list[Step], int]:
    """The events that eliminated something; and how many were looked at, 0 if all were."""
    steps: list[Step] = []
    seen, after = 0, None
    for _ in range(CHARTED_PAGES):
        query = {"limit": CHARTED - seen, "since_event_id": after}
        found = await visitor.asker.ask("audit_trace", visitor.path, query)
        read: EntryPage = await offload(_is_long(found), _read, found, EntryPage)
        steps += [
            Step(one.seq, one.verb, visible(one.actor.id), len(one.delta.eliminated))
            for one in read.events
            if one.delta.eliminated
        ]
        seen, after = seen + len(read.events), read.next
        if after is None:
            return steps, 0
        if seen >= CHARTED:
            break
    return steps, seen


def _is_long(found: Any) -> bool:
    return sum(len(memoryview(entry)) for entry in found.events) > LARGE


def _read(found: object, kind: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found), type=kind)
