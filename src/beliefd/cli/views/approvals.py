"""What waits for a person, and what that person said, drawn for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.claims import approver_words, claim_lines, decision_words, gate_table
from beliefd.cli.views.drawing import EventWords, json_text, names, page, view
from beliefd.cli.views.substrate import verdict_words
from beliefd.kernel.approvals.state import (
    BundleSubject,
    CallSubject,
    DeltaSubject,
    InformationSubject,
    IntentSubject,
    Subject,
)
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.intents.state import Change
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval, Inbox

LABELS = {CallSubject: "call", DeltaSubject: "change", IntentSubject: "intent"}


@view.register
def inbox(found: Inbox) -> RenderableType:
    return page([*map(row, found.approvals), *map(view, found.broken)], found.next, "nothing waits")


def row(card: ApprovalCard) -> Text:
    first = about(card.subject)
    return Text.assemble(
        (f"{card.approval_id}  ", "bold"),
        (f"{card.tier:<13} ", "yellow"),
        (f"{card.status:<9} " if card.status != "pending" else "", "dim"),
        first[:80],
        (f"  {visible(card.reason)}", "dim"),
    )


@view.register
def card(answer: ApprovalCard) -> RenderableType:
    """Claim, gates with limits, evidence, cost if wrong, what changes on approval."""
    lines: list[RenderableType] = [
        Text.assemble(
            (answer.approval_id, "bold"), f"  {answer.status}  ", (visible(answer.reason), "yellow")
        ),
        *_content(answer.subject),
        gate_table(answer.gates),
        Text(f"proposed by {names(answer.proposers)}, open until {answer.expires_at}"),
    ]
    lines += approver_words(answer.approvals)
    if answer.allowed_decisions:
        able, verdicts = names(answer.required_approvals), ", ".join(answer.allowed_decisions)
        lines.append(Text(f"may be decided by {able}: {verdicts}"))
        lines.append(Text(f"on approval: {answer.on_approval}"))
    if answer.successor is not None:
        lines.append(Text(f"goes on as {answer.successor}", "dim"))
    lines.append(Text.assemble(("content ", "dim"), answer.content_hash))
    return Group(*lines)


def _content(subject: Subject) -> list[RenderableType]:
    """All of what waits."""
    if isinstance(subject, BundleSubject | InformationSubject):
        return [] if subject.bundle is None else [claim_lines(claim) for claim in subject.bundle.claims]
    return [Text(f"  {LABELS[type(subject)]} {about(subject)}", "bold")]


def about(subject: Subject) -> str:
    """What waits, in one line: a claim, a call, a change of the symbolic state, or of what is believed."""
    match subject:
        case (
            BundleSubject(bundle=ClaimBundle() as bundle) | InformationSubject(bundle=ClaimBundle() as bundle)
        ):
            return visible(bundle.claims[0].statement)
        case CallSubject(candidate=CallCandidate() as call):
            return f"{visible(call.tool_id)} {json_text(call.args)}"
        case DeltaSubject(candidate=DeltaCandidate() as delta):
            return json_text({**delta.patch.set, **dict.fromkeys(delta.patch.remove)})
        case IntentSubject(change=Change() as change):
            return visible(" ".join(part for part in _change(change) if part))
    return ""


def _change(change: Change) -> tuple[str, ...]:
    """What a write intent would do, in one line."""
    to = "" if change.to_status is None else f"to {change.to_status}"
    on = f"on {', '.join(change.evidence_ids)}" if change.evidence_ids else ""
    return change.type, change.claim_id, to, on, change.new_claim_id or "", change.statement or ""


@view.register
def decided(answer: DecidedApproval) -> RenderableType:
    head = Text.assemble((f"{answer.status}  ", "bold"), visible(answer.approval.reason))
    if answer.call is not None:
        return Group(head, view(answer.call))
    if answer.intent is not None:
        last = answer.intent.history[-1]
        return Group(head, Text(f"{answer.intent.intent_id} is {last.state} {visible(last.why)}".rstrip()))
    if answer.bundle is None and answer.status == "rejected":
        return head
    if answer.bundle is None:
        missing = answer.approval.required - len(answer.approval.approvals)
        return Group(head, Text(f"{missing} more must approve", "yellow"))
    return Group(head, view(answer.bundle))


def _decided(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    said = Text(f"{delta['decision']} {delta['approval_id']}  ", "bold")
    if delta.get("result") is not None:
        return said.append_text(verdict_words(delta["result"], "the call,"))
    return said.append_text(_came_of_it(delta, (delta.get("gated") or {}).get("bundle")))


def _closed(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    said = Text(f"{delta['outcome']} {delta['approval_id']}  ", "bold")
    return said.append_text(_came_of_it(delta, delta.get("bundle")))


def _came_of_it(delta: dict[str, Any], bundle: dict[str, Any] | None) -> Text:
    if bundle is not None:
        return decision_words(bundle)
    status = delta["approval"]["status"]
    return Text("more people must agree" if status == "pending" else status, "dim")


def _granted(word: str) -> EventWords:
    def words(_: dict[str, Any], delta: dict[str, Any]) -> Text:
        grant = delta["grant"]
        return Text(f"{word} {', '.join(grant['tiers'])} to {visible(grant['principal'])}")

    return words


EVENTS: dict[str, EventWords] = {
    "approval_decided": _decided,
    "approval_closed": _closed,
    "grant_given": _granted("granted"),
    "grant_revoked": _granted("revoked"),
}
