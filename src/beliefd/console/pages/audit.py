"""The auditor's page: search all ledgers by who, by tool, by time and by words."""

from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.pages.revealing import revealed
from beliefd.console.pages.telling import told
from beliefd.console.questions import Reading, going_on
from beliefd.protocol.ledger import AuditFound
from beliefd.steward.handlers.searching import LOOKED_AT
from beliefd.steward.offload import offload

ROWS: Final = 50
ASKED: Final = ("text", "actor", "tool", "verb", "since", "until", "session", "space")


async def searched(visitor: Visitor) -> Seen:
    asked = {name: value for name in ASKED if (value := visitor.query.get(name, "").strip())}
    found: Any = None
    if asked:
        query = {**asked, "limit": ROWS, "cursor": visitor.query.get("cursor")}
        found = await visitor.ask_at_length("search_audit", query)
        if not isinstance(found, Reading):
            is_long = sum(len(memoryview(one)) for one in found.events) > LARGE
            found = await offload(is_long, _read, found)
    is_found = isinstance(found, AuditFound)
    events = await revealed(visitor, found.events) if is_found else []
    following = found.next if is_found else None
    values = {
        "asked": {name: asked.get(name, "") for name in ASKED},
        **going_on(found, LOOKED_AT),
        "events": [told(str(one.get("session_id", "")), one) for one in events],
        "following": "" if following is None else f"/audit?{urlencode({**asked, 'cursor': following})}",
        "sessions": (await visitor.asker.ask("list_sessions", query={"limit": ROWS})) if not asked else None,
    }
    return Seen("audit.html", values)


def _read(raw: object) -> AuditFound:
    return msgspec.json.decode(msgspec.json.encode(raw), type=AuditFound)
