"""Sessions: what is believed, how it came to that, and whether the record still holds."""

from typing import Any, Final

import msgspec

from beliefd.console.app import Seen, Visitor
from beliefd.console.drawing import collapse
from beliefd.protocol.beliefs import BeliefSnapshot, SessionPage
from beliefd.protocol.ledger import AuditPage, Verified

ROWS: Final = 50
NAMED: Final = 200
"""So many survivors are listed on a page; the others are counted."""


async def listed(visitor: Visitor) -> Seen:
    asked = {"limit": ROWS, "cursor": visitor.query.get("cursor"), "space": visitor.query.get("space")}
    found: SessionPage = await visitor.asker.ask("list_sessions", query=asked)
    values = {"sessions": found.sessions, "broken": found.broken, "next": found.next}
    return Seen("sessions.html", values)


async def shown(visitor: Visitor) -> Seen:
    snapshot: BeliefSnapshot = await visitor.asker.ask("query_belief", visitor.path)
    trail = await _trail(visitor, None)
    values = {
        "snapshot": snapshot,
        "survivors": snapshot.survivors[:NAMED],
        "unnamed": max(0, snapshot.n_survivors - NAMED),
        "events": trail.events,
        "next": trail.next,
        "chart": collapse(snapshot.n_hypotheses, trail.events),
    }
    return Seen("session.html", values)


async def audit(visitor: Visitor) -> Seen:
    trail = await _trail(visitor, visitor.query.get("after"))
    values = {"session_id": visitor.path["session_id"], "events": trail.events, "next": trail.next}
    return Seen("audit.html", values)


async def verified(visitor: Visitor) -> Seen:
    found: Verified = await visitor.asker.ask("verify", visitor.path)
    return Seen("verified.html", {"session_id": visitor.path["session_id"], "found": found})


async def _trail(visitor: Visitor, after: str | None) -> AuditPage:
    query: dict[str, Any] = {"limit": ROWS, "since_event_id": after}
    found: AuditPage = await visitor.asker.ask("audit_trace", visitor.path, query)
    # Entries are passed on as they are stored; a page looks into them.
    return msgspec.json.decode(msgspec.json.encode(found), type=AuditPage)
