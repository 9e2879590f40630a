"""What waits for people: the list, the riskiest first."""

from collections.abc import Callable
from typing import Final, get_args
from urllib.parse import urlencode

from msgspec import Struct

from beliefd.console.app import Seen, Visitor
from beliefd.console.rendering import headline, risk
from beliefd.kernel.approvals.state import ApprovalStatus
from beliefd.protocol.approvals import ApprovalCard, Inbox
from beliefd.protocol.beliefs import BrokenLedger

ASKED: Final = 500
MOST: Final = 2_000
"""So many items are looked at before they are sorted; the page says if there are more."""
PAGES: Final = 40
LISTED: Final = 200
KINDS: Final = {
    "bundle": "claims",
    "information": "for information",
    "call": "tool call",
    "delta": "change of state",
    "intent": "change of status",
    "definition": "tool definition",
}


def kind_of(card: ApprovalCard) -> str:
    return KINDS[str(card.subject.__struct_config__.tag)]


class Row(Struct, frozen=True):
    """An item as it is listed: of very many, no more than this is held at once."""

    approval_id: str
    session: str
    title: str
    tier: str
    kind: str
    agent: str
    on_approval: str
    opened_at: str
    expires_at: str
    overdue: bool


FILTERS: Final[dict[str, Callable[[Row], str]]] = {
    "tier": lambda row: row.tier,
    "agent": lambda row: row.agent,
    "session": lambda row: row.session,
    "kind": lambda row: row.kind,
}
"""By what the list can be narrowed down; each is part of its address."""


class Found(Struct):
    """All that waits, or as much of it as is looked at."""

    rows: list[Row]
    broken: dict[str, BrokenLedger]
    more: bool = True


async def waiting(visitor: Visitor) -> Seen:
    """The riskiest first, then the oldest. INVARIANT: nothing is sorted or left out before all is read."""
    status, space = visitor.query.get("status", "pending"), visitor.query.get("space", "")
    found = await _all(visitor, status, space)
    wanted = {name: visitor.query[name] for name in FILTERS if visitor.query.get(name)}
    rows = [row for row in found.rows if all(FILTERS[name](row) == value for name, value in wanted.items())]
    rows.sort(key=lambda row: (-risk(row.tier), row.opened_at))
    first = min(_number(visitor.query.get("from", "0")), len(rows))
    values = {
        "rows": rows[first : first + LISTED],
        "count": len(rows),
        "following": _following(visitor.query, first + LISTED) if first + LISTED < len(rows) else "",
        "broken": list(found.broken.values()),
        "more": found.more,
        "most": len(found.rows),
        "choices": {name: sorted({told(row) for row in found.rows}) for name, told in FILTERS.items()},
        "wanted": wanted,
        "status": status,
        "statuses": get_args(ApprovalStatus),
        "space": space,
    }
    return Seen("inbox.html", values)


async def _all(visitor: Visitor, status: str, space: str) -> Found:
    found = Found([], {})
    cursor: str | None = None
    for _ in range(PAGES):
        asked = {"limit": min(ASKED, MOST - len(found.rows)), "status": status, "space": space}
        one: Inbox = await visitor.asker.ask("list_approvals", query={**asked, "cursor": cursor})
        found.rows += map(_row, one.approvals)
        found.broken |= {broken.session_id: broken for broken in one.broken}
        cursor = one.next
        if cursor is None or len(found.rows) >= MOST:
            break
    found.more = cursor is not None
    return found


def _row(card: ApprovalCard) -> Row:
    kind = kind_of(card)
    return Row(
        approval_id=card.approval_id,
        session=card.session_id,
        title=headline(card.title or kind),
        tier=card.tier,
        kind=kind,
        agent=card.proposer,
        on_approval=headline(card.on_approval),
        opened_at=card.opened_at,
        expires_at=card.expires_at,
        overdue=card.overdue,
    )


def _following(query: dict[str, str], first: int) -> str:
    return f"/inbox?{urlencode({**query, 'from': first})}"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
