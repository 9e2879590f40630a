"""One item with all it takes to decide, and the decision."""

from typing import Any, Final, get_args

import msgspec
from msgspec import UNSET

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.pages.contents import claims_of, compared, contents
from beliefd.console.pages.inbox import kind_of
from beliefd.console.rendering import plain, written_out
from beliefd.kernel.approvals.state import IntentSubject
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.kernel.policy import HUMAN_ALWAYS
from beliefd.kernel.values import PEOPLE, Principal
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.wire import is_longer
from beliefd.steward.offload import offload

LATE: Final = frozenset({Code.CONFLICT, Code.SESSION_TERMINATED})
FORM: Final = frozenset({Code.INVALID_REQUEST})
LETS_PASS: Final = frozenset({"APPROVED", "MODIFIED"})
PIECE: Final = 50_000
"""Characters of a very long item on one page."""
EDITED_CLAIMS: Final = 50
EDITED_CHARACTERS: Final = 50_000
"""What is longer is edited in an editor, not in a form."""
BESIDE: Final = ("corrects", "measurements", "overridden", "ended")
"""What a card tells beside its subject, if there is any of it."""


async def shown(visitor: Visitor) -> Seen:
    return await _card(visitor, await _asked(visitor), "")


async def _asked(visitor: Visitor) -> ApprovalCard:
    found: ApprovalCard = await visitor.asker.ask("show_approval", visitor.path)
    return found


async def _card(visitor: Visitor, found: ApprovalCard, problem: str, status: int = 200) -> Seen:
    told = getattr(getattr(found.subject, "candidate", None), "rationale", UNSET)
    values = {
        "card": found,
        "kind": kind_of(found),
        "contents": contents(found),
        "claims": claims_of(found),
        "compared": await offload(is_longer(found.subject, LARGE), compared, found),
        "beside": {name: value for name in BESIDE if (value := getattr(found, name))},
        "rationale": "" if told is UNSET else told,
        "retype": retyped(found),
        "decisions": decisions_for(found, visitor.asker.principal),
        "editing": editing(found),
        "problem": problem,
        "reason": visitor.form.get("reason", ""),
        "cuts": [],
    }
    return Seen("card.html", values, status)


def retyped(found: ApprovalCard) -> str:
    """What has to be typed to approve it: nothing, unless it cannot be undone."""
    return found.tier if found.tier in HUMAN_ALWAYS else ""


def decisions_for(found: ApprovalCard, who: Principal) -> list[str]:
    """What the page offers to somebody. The server judges anew: this only spares them a refusal."""
    if found.status != "pending" or who.role not in PEOPLE:
        return []
    named = not {who.id, f"role://{who.role}"}.isdisjoint(found.required_approvals)
    may_pass = named and who.id not in found.proposers
    return [one for one in found.allowed_decisions if may_pass or one not in LETS_PASS]


def editing(found: ApprovalCard) -> str:
    """What of it can be edited on a page: its claims, its status, or nothing."""
    if found.claims:
        characters = sum(len(claim.statement) for claim in found.claims)
        fits = len(found.claims) <= EDITED_CLAIMS and characters <= EDITED_CHARACTERS
        return "claims" if fits else ""
    change = found.subject.change if isinstance(found.subject, IntentSubject) else None
    return "status" if change is not None and change.to_status is not None else ""


async def whole(visitor: Visitor) -> Seen:
    """All of an item, in pieces, however long it is."""
    found = await _asked(visitor)
    written = await offload(is_longer(found, LARGE), _written, found)
    pieces = -(-len(written) // PIECE)
    asked = visitor.query.get("piece", "1")
    if not (asked.isascii() and asked.isdigit() and len(asked) < 7 and 1 <= int(asked) <= pieces):
        raise invalid(f"it has the pieces 1 to {pieces}", "piece")
    at = int(asked)
    values = {"card": found, "piece": written[(at - 1) * PIECE : at * PIECE], "at": at, "pieces": pieces}
    return Seen("whole.html", values)


def _written(found: ApprovalCard) -> str:
    told = msgspec.to_builtins(found, str_keys=True)
    return written_out({"content_hash": told["content_hash"], "subject": told["subject"], **told})


async def decide(visitor: Visitor) -> Seen:
    """INVARIANT: what is decided is what the page showed: its hash comes with the form."""
    found = await _asked(visitor)
    if visitor.form.get("decision") == "MODIFIED":
        return await _card(visitor, found, "An edit has a page of its own.", 400)
    problem, status = await _decided(visitor, found, _decision(visitor.form))
    if problem:
        return await _card(visitor, await _asked(visitor), problem, status)
    return Seen(location=_place(found))


async def edit(visitor: Visitor) -> Seen:
    return _edit(await _asked(visitor), {}, "")


async def edited(visitor: Visitor) -> Seen:
    """INVARIANT: what was not touched stays as it is, to the byte, whatever a form makes of it."""
    found, form = await _asked(visitor), visitor.form
    if not (allowed := editing(found)):
        raise invalid("this cannot be edited here", "decision")
    said = {**_decision(form), "decision": "MODIFIED"}
    if allowed == "claims":
        said["claims"] = [
            _edited(claim, form.get(f"statement.{at}")) for at, claim in enumerate(found.claims)
        ]
    else:
        said["to_status"] = form.get("to_status", "")
    problem, status = await _decided(visitor, found, said)
    if problem:
        return _edit(await _asked(visitor), form, problem, status)
    return Seen(location=_place(found))


def _edited(claim: Any, written: str | None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(claim)
    said = None if written is None else written.replace("\r\n", "\n")
    return told if said is None or said == plain(claim.statement) else {**told, "statement": said}


def _edit(found: ApprovalCard, form: dict[str, str], problem: str, status: int = 200) -> Seen:
    words = [form.get(f"statement.{at}", plain(one.statement)) for at, one in enumerate(found.claims)]
    open_to_edits = found.status == "pending" and "MODIFIED" in found.allowed_decisions
    values = {
        "card": found,
        "kind": kind_of(found),
        "editing": editing(found) if open_to_edits else "",
        "words": words,
        "statuses": get_args(EpistemicStatus),
        "to_status": form.get("to_status", ""),
        "reason": form.get("reason", ""),
        "retype": retyped(found),
        "problem": problem,
    }
    return Seen("edit.html", values, status)


async def _decided(visitor: Visitor, found: ApprovalCard, said: dict[str, Any]) -> tuple[str, int]:
    """Why nothing was decided, and the status that says so; no words if it was."""
    wanted = retyped(found) if said["decision"] in LETS_PASS else ""
    if wanted and visitor.form.get("typed", "").strip() != wanted:
        return f"To approve this, type {wanted} into the field beside the button.", 400
    try:
        await visitor.asker.ask("decide_approval", visitor.path, body=said)
    except BeliefdError as error:
        if error.code not in LATE | FORM:
            raise
        now = await _asked(visitor)
        moved = "" if now.status == "pending" else f" It is {now.status} by now."
        return f"Nothing was decided: {error.message}.{moved}", 409 if error.code in LATE else 400
    return "", 303


def _decision(form: dict[str, str]) -> dict[str, Any]:
    reason = form.get("reason", "").replace("\r\n", "\n")
    return {
        "decision": form.get("decision", ""),
        "content_hash": form.get("content_hash", ""),
        "reason": reason,
    }


def _place(found: ApprovalCard) -> str:
    return f"/inbox/{found.approval_id}"
