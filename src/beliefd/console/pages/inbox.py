"""What waits for a person: the list, one item with all it takes to decide, and the decision."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from beliefd.console.app import Seen, Visitor
from beliefd.console.rendering import risk
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import HUMAN_ALWAYS
from beliefd.protocol.approvals import ApprovalCard, Inbox

LISTED: Final = 200
KINDS: Final = {
    "bundle": "claims",
    "information": "for information",
    "call": "tool call",
    "delta": "change of state",
    "intent": "change of status",
    "definition": "tool definition",
}
LATE: Final = frozenset({Code.CONFLICT, Code.SESSION_TERMINATED})


def kind_of(card: ApprovalCard) -> str:
    return KINDS[str(card.subject.__struct_config__.tag)]


FILTERS: Final[dict[str, Callable[[ApprovalCard], str]]] = {
    "tier": lambda card: card.tier,
    "agent": lambda card: card.proposer,
    "session": lambda card: card.session_id,
    "kind": kind_of,
}
"""By what the list can be narrowed down; each is part of its address."""


async def waiting(visitor: Visitor) -> Seen:
    """The riskiest first, then the oldest."""
    status, space = visitor.query.get("status", "pending"), visitor.query.get("space")
    found: Inbox = await visitor.asker.ask(
        "list_approvals", query={"limit": LISTED, "status": status, "space": space}
    )
    wanted = {name: visitor.query[name] for name in FILTERS if visitor.query.get(name)}
    cards = [
        card
        for card in found.approvals
        if all(FILTERS[name](card) == value for name, value in wanted.items())
    ]
    cards.sort(key=lambda card: (-risk(card.tier), card.opened_at))
    choices = {name: sorted({told(card) for card in found.approvals}) for name, told in FILTERS.items()}
    values = {
        "cards": cards,
        "broken": found.broken,
        "more": found.next is not None,
        "choices": choices,
        "wanted": wanted,
        "status": status,
        "space": space or "",
        "kind_of": kind_of,
    }
    return Seen("inbox.html", values)


async def card(visitor: Visitor) -> Seen:
    return _card(await _asked(visitor), "")


async def _asked(visitor: Visitor) -> ApprovalCard:
    found: ApprovalCard = await visitor.asker.ask("show_approval", visitor.path)
    return found


def _card(found: ApprovalCard, problem: str, status: int = 200) -> Seen:
    candidate = getattr(found.subject, "candidate", None)
    told = getattr(candidate, "rationale", UNSET)
    values = {
        "card": found,
        "kind": kind_of(found),
        "candidate": candidate,
        "rationale": "" if told is UNSET else told,
        "retype": retyped(found),
        "problem": problem,
    }
    return Seen("card.html", values, status)


def retyped(found: ApprovalCard) -> str:
    """What has to be typed to approve it: nothing, unless it cannot be undone."""
    return found.tier if found.tier in HUMAN_ALWAYS else ""


async def decide(visitor: Visitor) -> Seen:
    """INVARIANT: what is decided is what the page showed: its hash comes with the form."""
    form = visitor.form
    found = await _asked(visitor)
    approves = form.get("decision") != "REJECTED"
    if approves and (wanted := retyped(found)) and form.get("typed", "").strip() != wanted:
        return _card(found, f"To approve this, type {wanted} into the field beside the button.", 400)
    try:
        await visitor.asker.ask("decide_approval", visitor.path, body=_decision(found, form))
    except BeliefdError as error:
        if error.code not in LATE:
            raise
        now = await _asked(visitor)
        moved = "" if now.status == "pending" else f" It is {now.status} by now."
        return _card(now, f"Nothing was decided: {error.message}.{moved}", 409)
    return Seen(location="/inbox" if form.get("onwards") else f"/inbox/{found.approval_id}")


def _decision(found: ApprovalCard, form: dict[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "decision": form.get("decision", ""),
        "content_hash": form.get("content_hash", ""),
        "reason": form.get("reason", ""),
    }
    if said["decision"] == "MODIFIED" and found.claims:
        claims = [msgspec.to_builtins(claim) for claim in found.claims]
        for at, claim in enumerate(claims):
            claim["statement"] = form.get(f"statement.{at}", claim["statement"])
        said["claims"] = claims
    if form.get("to_status"):
        said["to_status"] = form["to_status"]
    return said
