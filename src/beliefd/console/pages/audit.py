"""The auditor's page: search all ledgers by who, by tool, by time and by words."""

from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.pages.revealing import revealed
from beliefd.console.pages.telling import told
from beliefd.console.questions import Reading, going_on
from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.ledger import AuditFound
from beliefd.protocol.statuses import STATUS
from beliefd.steward.handlers.searching import LOOKED_AT
from beliefd.steward.offload import offload

ROWS: Final = 50
SLIPS: Final = frozenset({Code.INVALID_REQUEST, Code.SESSION_NOT_FOUND})
"""What a form can be corrected after: it is shown again as it was filled in."""
ASKED: Final = ("text", "actor", "tool", "verb", "since", "until", "session", "space")


async def searched(visitor: Visitor) -> Seen:
    asked = {name: value for name in ASKED if (value := visitor.query.get(name, "").strip())}
    found: Any = None
    problem, status = "", 200
    if asked:
        query = {**asked, "limit": ROWS, "cursor": visitor.query.get("cursor")}
        try:
            found = await visitor.ask_at_length("search_audit", query)
        except BeliefdError as error:
            if error.code not in SLIPS:
                raise
            problem, status = error.message, STATUS[error.code]
    found = found if found is None or isinstance(found, Reading) else await _read_of(found)
    is_found = isinstance(found, AuditFound)
    events = await revealed(visitor, found.events) if is_found else []
    following = found.next if is_found else None
    values = {
        "problem": problem,
        "verbs": sorted(COMMAND_OF),
        "asked": {name: asked.get(name, "") for name in ASKED},
        **going_on(found, LOOKED_AT),
        "events": [told(str(one.get("session_id", "")), one) for one in events],
        "following": "" if following is None else f"/audit?{urlencode({**asked, 'cursor': following})}",
        "sessions": (await visitor.asker.ask("list_sessions", query={"limit": ROWS})) if not asked else None,
    }
    return Seen("audit.html", values, status)


async def _read_of(found: Any) -> AuditFound:
    is_long = sum(len(memoryview(one)) for one in found.events) > LARGE
    return await offload(is_long, _read, found)


def _read(raw: object) -> AuditFound:
    return msgspec.json.decode(msgspec.json.encode(raw), type=AuditFound)
