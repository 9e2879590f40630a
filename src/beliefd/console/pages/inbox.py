"""What waits for people: the list, the riskiest first."""

from collections.abc import Callable
from itertools import islice
from typing import Final, get_args
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct

from beliefd.console.app import Seen, Visitor
from beliefd.console.forms import number
from beliefd.console.rendering import headline
from beliefd.kernel.approvals.state import OPEN, ApprovalStatus
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.values import PEOPLE
from beliefd.protocol.approvals import ApprovalCard, Inbox, riskiest_first
from beliefd.protocol.asked import Sign
from beliefd.protocol.beliefs import ArchivedSession, BrokenLedger

LATE: Final = frozenset({Code.CONFLICT, Code.SESSION_TERMINATED, Code.SESSION_SEALED, Code.SESSION_ARCHIVED})
"""What an answer comes too late for."""
ASKED: Final = 500
MOST: Final = 2_000
"""So many items are looked at before they are sorted; the page says if there are more."""
PAGES: Final = 40
LISTED: Final = 100
"""Items on one page. INVARIANT: all of them picked at once are fields enough for one form."""
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
    detail: str
    content_hash: str
    called: str
    signs: list[Sign]
    settled: str
    settled_at: str | None
    foreign: bool


FILTERS: Final[dict[str, Callable[[Row], str]]] = {
    "tier": lambda row: row.tier,
    "agent": lambda row: row.agent,
    "session": lambda row: row.session,
    "kind": lambda row: row.kind,
}
"""By what the list can be narrowed down; each is part of its address."""
NARROWS: Final = frozenset({*FILTERS, "space"})


class Next(Struct, frozen=True):
    """What waits first, if anything does, and how much waits in all."""

    row: Row | None
    count: int


class Informed(Struct, frozen=True):
    """So many items, or more."""

    count: int
    more: bool


class Found(Struct):
    """All that waits, or as much of it as is looked at."""

    rows: list[Row]
    broken: dict[str, BrokenLedger]
    archived: dict[str, ArchivedSession]
    more: bool = True


async def waiting(visitor: Visitor) -> Seen:
    """The riskiest first, then the oldest. INVARIANT: nothing is sorted or left out before all is read.

    What is settled comes the newest first: nobody has to hurry with it.
    """
    status, space = visitor.query.get("status", "pending"), visitor.query.get("space", "")
    found = await _all(visitor, status, space)
    wanted = {name: visitor.query[name] for name in FILTERS if visitor.query.get(name)}
    rows = [row for row in found.rows if all(FILTERS[name](row) == value for name, value in wanted.items())]
    rows = riskiest_first(rows) if status in OPEN else sorted(rows, key=_newest, reverse=True)
    first = min(number(visitor.query.get("from", "0")), len(rows))
    batch = status == "information" and visitor.asker.principal.role in PEOPLE
    values = {
        "batch": batch,
        "told": _told(visitor.query.get("seen", "")),
        "back": urlencode({**wanted, **({"space": space} if space else {})}),
        "rows": rows[first : first + LISTED],
        "count": len(rows),
        "following": _following(visitor.query, first + LISTED) if first + LISTED < len(rows) else "",
        "broken": list(found.broken.values()),
        "archived": list(found.archived.values()),
        "more": found.more,
        "most": len(found.rows),
        "choices": {name: sorted({told(row) for row in found.rows}) for name, told in FILTERS.items()},
        "called": {row.session: row.called for row in found.rows},
        "wanted": wanted,
        "status": status,
        "is_open": status in OPEN,
        "statuses": get_args(ApprovalStatus),
        "space": space,
        "placed": await visitor.asker.is_placed(),
        "informed": await _informed(visitor, space) if status == "pending" else None,
    }
    return Seen("inbox.html", values)


async def _informed(visitor: Visitor, space: str) -> Informed:
    """How much is there for information: it is in no list that somebody sees who only decides."""
    asked = {"limit": LISTED, "status": "information", "space": space}
    found: Inbox = await visitor.asker.ask("list_approvals", query=asked)
    return Informed(len(found.approvals), found.next is not None)


def _newest(row: Row) -> str:
    return row.settled_at or row.opened_at


async def next_item(visitor: Visitor, but: str) -> Next:
    """What to decide after `but`, and how much waits."""
    found = await _all(visitor, "pending", "")
    rows = riskiest_first([row for row in found.rows if row.approval_id != but])
    return Next(rows[0] if rows else None, len(rows))


async def place_after(visitor: Visitor, approval_id: str) -> str:
    """Where whoever leaves an item undecided goes on: to the one below it, and after the last to the list."""
    rows = riskiest_first((await _all(visitor, "pending", "")).rows)
    names = [row.approval_id for row in rows]
    at = names.index(approval_id) + 1 if approval_id in names else 0
    return f"/inbox/{quote(names[at], safe='')}" if at < len(names) else "/inbox"


async def seen(visitor: Visitor) -> Seen:
    """What is there for information and was picked, all at once; what has gone meanwhile is passed over."""
    count = 0
    for name, value in visitor.form.items():
        approval_id, _, content_hash = value.partition(" ")
        if not name.startswith("seen.") or not content_hash:
            continue
        said = {"decision": "SEEN", "content_hash": content_hash}
        try:
            await visitor.asker.ask("decide_approval", {"approval_id": approval_id}, body=said)
        except BeliefdError as error:
            if error.code not in (*LATE, Code.APPROVAL_NOT_FOUND):
                raise
        else:
            count += 1
    # Of what was looked at, only that is taken over which narrows a list down.
    back = {name: value for name, value in parse_qsl(visitor.form.get("back", "")) if name in NARROWS}
    return Seen(location=f"/inbox?{urlencode({'status': 'information', **back, 'seen': count})}")


def _told(count: str) -> str:
    return f"{number(count)} marked as seen." if count else ""


async def _all(visitor: Visitor, status: str, space: str) -> Found:
    found = Found([], {}, {})
    cursor: str | None = None
    for _ in range(PAGES):
        asked = {"limit": min(ASKED, MOST - len(found.rows)), "status": status, "space": space}
        one: Inbox = await visitor.asker.ask("list_approvals", query={**asked, "cursor": cursor})
        found.rows += map(_row, one.approvals)
        found.broken |= {broken.session_id: broken for broken in one.broken}
        found.archived |= {archived.session_id: archived for archived in one.archived}
        cursor = one.next
        if cursor is None or len(found.rows) >= MOST:
            break
    found.more = cursor is not None
    return found


def _row(card: ApprovalCard) -> Row:
    kind, told = kind_of(card), card.came_to or card.status
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
        detail=_detail(card),
        content_hash=card.content_hash,
        called=headline(card.session_title or card.session_id),
        signs=card.signs,
        settled=headline(" ".join([told, *([f"by {card.decided_by}"] if card.decided_by else [])])),
        settled_at=card.decided_at,
        foreign=card.foreign is not None,
    )


def _detail(card: ApprovalCard) -> str:
    """What a row says beside its title: the arguments of a call, else how many claims and why they wait."""
    candidate = getattr(card.subject, "candidate", None)
    if isinstance(candidate, CallCandidate):
        return headline(", ".join(f"{name}: {value}" for name, value in islice(candidate.args.items(), 8)))
    more = f"this and {len(card.claims) - 1} more · " if len(card.claims) > 1 else ""
    return headline(more + card.reason)


def _following(query: dict[str, str], first: int) -> str:
    kept = {name: value for name, value in query.items() if name != "seen"}
    return f"/inbox?{urlencode({**kept, 'from': first})}"
