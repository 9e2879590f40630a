"""One item with all it takes to decide, and the decision."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, get_args

import msgspec
from msgspec import UNSET

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.drawing import histogram
from beliefd.console.pages.contents import called, changes_of, claims_of, compared, contents, edit_of
from beliefd.console.pages.inbox import LATE, kind_of, next_item, place_after
from beliefd.console.pages.pieces import in_pieces
from beliefd.console.rendering import plain, written_out
from beliefd.kernel.approvals.state import OPEN, CallSubject, IntentSubject
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.kernel.policy import HUMAN_ALWAYS
from beliefd.kernel.values import PEOPLE, Principal
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.asked import with_instead
from beliefd.protocol.beliefs import BeliefSnapshot
from beliefd.protocol.conversations import HYPOTHESES
from beliefd.protocol.wire import is_longer
from beliefd.steward.offload import offload

FORM: Final = frozenset({Code.INVALID_REQUEST})
NAMED: Final = 8
LETS_PASS: Final = frozenset({"APPROVED", "MODIFIED"})
EDITED_CLAIMS: Final = 50
EDITED_CHARACTERS: Final = 50_000
"""What is longer is edited in an editor, not in a form."""
ROOM: Final = 45_000
"""Bytes for long texts: less than elsewhere, because so much else is on a card."""
GATES: Final = 40
"""Of more than these, those that stand in the way come first."""
BESIDE: Final = ("corrects", "measurements", "overridden", "ended")
"""What a card tells beside its subject, if there is any of it."""


async def shown(visitor: Visitor) -> Seen:
    if visitor.query.get("then") == "skip":
        return Seen(location=await place_after(visitor, visitor.path["approval_id"]))
    return await _card(visitor, await _asked(visitor), "")


async def _asked(visitor: Visitor) -> ApprovalCard:
    found: ApprovalCard = await visitor.asker.ask("show_approval", visitor.path)
    return found


async def _card(visitor: Visitor, found: ApprovalCard, problem: str, status: int = 200) -> Seen:
    told = getattr(getattr(found.subject, "candidate", None), "rationale", UNSET)
    runs = [] if found.proposition is None else found.proposition.runs
    values = {
        "card": found,
        "kind": kind_of(found),
        "contents": contents(found),
        "called": (call := called(found)),
        "explaining": "" if call is None else _arguments(found),
        "changes": changes_of(found),
        "claims": claims_of(found),
        "gates": sorted(found.gates, key=_passed) if len(found.gates) > GATES else found.gates,
        "belief": await _belief(visitor, found),
        "edited": edit_of(found, await _before(visitor, found)),
        "pictures": [histogram(run.picture) for run in runs if run.picture is not None],
        "compared": await offload(is_longer(found.subject, LARGE), compared, found),
        "beside": {name: value for name in BESIDE if (value := getattr(found, name))},
        "rationale": "" if told is UNSET else told,
        "retype": retyped(found),
        "decisions": (offered := decisions_for(found, visitor.asker.principal)),
        "editing": editing(found, offered),
        "problem": problem,
        "reason": visitor.form.get("reason", ""),
        "cuts": [],
        "room": ROOM,
        # Who has just decided goes on to the next; who looks back a month later has no use for it.
        "following": await next_item(visitor, found.approval_id) if _goes_on(visitor, found) else None,
    }
    return Seen("card.html", values, status)


def _passed(gate: GateResult) -> bool:
    return gate.outcome == "EXECUTE"


def _arguments(found: ApprovalCard) -> str:
    """The arguments of a call for the form that explains it; nothing, if they are too long for one."""
    args = getattr(getattr(found.subject, "candidate", None), "args", {})
    return "" if is_longer(args, EDITED_CHARACTERS) else msgspec.json.encode(args).decode()


def _goes_on(visitor: Visitor, found: ApprovalCard) -> bool:
    return found.status not in OPEN and (bool(visitor.form) or visitor.query.get("then") == "next")


async def _belief(visitor: Visitor, found: ApprovalCard) -> BeliefSnapshot | None:
    """What the session believes, if it can be read: what is decided does not wait for that."""
    try:
        asked = {"survivors_limit": NAMED}
        believed: BeliefSnapshot = await visitor.asker.ask(
            "query_belief", {"session_id": found.session_id}, asked
        )
    except BeliefdError:
        return None
    # Of a conversation that is only guarded nothing is believed, until somebody says which of the two it is.
    stand = believed.n_survivors == believed.n_hypotheses and {*believed.survivors} == {*HYPOTHESES}
    return None if stand else believed


async def _before(visitor: Visitor, found: ApprovalCard) -> ApprovalCard | None:
    """The item that this one is the edit of."""
    if found.follows is None:
        return None
    was: ApprovalCard = await visitor.asker.ask("show_approval", {"approval_id": found.follows})
    return was if was.status in ("modified", "rejected") else None


def retyped(found: ApprovalCard) -> str:
    """What has to be typed to approve it: nothing, unless it cannot be undone."""
    return found.tier if found.tier in HUMAN_ALWAYS else ""


def decisions_for(found: ApprovalCard, who: Principal) -> list[str]:
    """What the page offers to somebody. The server judges anew: this only spares them a refusal."""
    if found.status not in OPEN or who.role not in PEOPLE:
        return []
    named = not {who.id, f"role://{who.role}"}.isdisjoint(found.required_approvals)
    may_pass = named and who.id not in found.proposers
    return [one for one in found.allowed_decisions if may_pass or one not in LETS_PASS]


def editing(found: ApprovalCard, offered: Sequence[str]) -> str:
    """What of it can be edited on a page: its claims, its status, the arguments of a call, or nothing."""
    if isinstance(found.subject, CallSubject) and found.subject.candidate is not None:
        fits = not is_longer(found.subject.candidate.args, EDITED_CHARACTERS)
        return "arguments" if fits and "REJECTED" in offered else ""
    if "MODIFIED" not in offered:
        return ""
    if found.claims:
        characters = sum(len(claim.statement) for claim in found.claims)
        fits = len(found.claims) <= EDITED_CLAIMS and characters <= EDITED_CHARACTERS
        return "claims" if fits else ""
    change = found.subject.change if isinstance(found.subject, IntentSubject) else None
    return "status" if change is not None and change.to_status is not None else ""


async def whole(visitor: Visitor) -> Seen:
    """All of an item, in pieces, however long it is."""
    found = await _asked(visitor)
    told = await offload(is_longer(found, LARGE), partial(msgspec.to_builtins, str_keys=True), found)
    told = {"content_hash": told["content_hash"], "subject": told["subject"], **told}
    return await in_pieces(visitor, told, found.title or kind_of(found), f"/inbox/{found.approval_id}")


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
    return _edit(visitor, await _asked(visitor), "")


async def edited(visitor: Visitor) -> Seen:
    """INVARIANT: what was not touched stays as it is, to the byte, whatever a form makes of it."""
    found, form = await _asked(visitor), visitor.form
    # Who is late is told so, and keeps their words: what it was open to then is what they edited.
    allowed = editing(found, ("MODIFIED", "REJECTED"))
    if not allowed:
        raise invalid("this cannot be edited here", "decision")
    try:
        said = _edit_of(found, form, allowed)
    except msgspec.DecodeError as error:
        return _edit(visitor, found, f"The arguments are no JSON object: {error}", 400)
    problem, status = await _decided(visitor, found, said)
    if problem:
        return _edit(visitor, await _asked(visitor), problem, status)
    return Seen(location=_place(found))


def _edit_of(found: ApprovalCard, form: dict[str, str], allowed: str) -> dict[str, Any]:
    """The decision that an edit is."""
    said = {**_decision(form), "decision": "MODIFIED"}
    if allowed == "claims":
        claims = [_edited(claim, form.get(f"statement.{at}")) for at, claim in enumerate(found.claims)]
        return {**said, "claims": claims}
    if allowed == "status":
        return {**said, "to_status": form.get("to_status", "")}
    # Who runs a call has to propose it as it is to run: an edit is a no that says what would be asked for.
    wanted = msgspec.json.decode(form.get("args", ""), type=dict[str, Any])
    return {**said, "decision": "REJECTED", "reason": with_instead(said["reason"], wanted)}


def _edited(claim: Any, written: str | None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(claim)
    said = None if written is None else written.replace("\r\n", "\n")
    return told if said is None or said == plain(claim.statement) else {**told, "statement": said}


def _edit(visitor: Visitor, found: ApprovalCard, problem: str, status: int = 200) -> Seen:
    form = visitor.form
    words = [form.get(f"statement.{at}", plain(one.statement)) for at, one in enumerate(found.claims)]
    candidate = getattr(found.subject, "candidate", None)
    args = plain(written_out(getattr(candidate, "args", {})))
    kind = editing(found, decisions_for(found, visitor.asker.principal))
    values = {
        "card": found,
        "kind": kind_of(found),
        "editing": kind,
        "shown": kind or ("claims" if words else "arguments" if candidate else "status"),
        "words": words,
        "args": form.get("args", args),
        "statuses": get_args(EpistemicStatus),
        "to_status": form.get("to_status", ""),
        "reason": form.get("reason", ""),
        "retype": retyped(found) if found.claims else "",
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
    """The card of what was just decided, with the way to the next."""
    return f"/inbox/{found.approval_id}?then=next"
