"""Bundles and approvals drawn for people. What agents wrote goes through `visible` first."""

import json
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.substrate_views import candidate
from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.intents.state import Change
from beliefd.kernel.policy import Policy
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval, Inbox
from beliefd.protocol.claims import BundlePage, JudgedBundle
from beliefd.protocol.policy import PolicyAnswer

WHENCE = {
    "default": "nobody chose one: the defaults hold",
    "given": "given by the program that opened the store",
    "file": "from a file of the operator's",
}
DECISION_STYLE = {
    "PUBLISH": "bold green",
    "DEFER": "bold yellow",
    "ESCALATE": "bold yellow",
    "REFUSE": "bold red",
}
OUTCOME_STYLE = {
    "EXECUTE": "green",
    "EXPLAIN": "cyan",
    "DEFER": "yellow",
    "ESCALATE": "yellow",
    "REFUSE": "red",
}


def bundle(answer: JudgedBundle) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            (answer.decision, DECISION_STYLE[answer.decision]),
            f"  {visible(answer.reason)}  ",
            ("bundle ", "dim"),
            visible(answer.id),
        ),
        *(_claim(claim) for claim in answer.claims),
        _gates(answer.gates),
    ]
    lines += [Text.assemble(("caveat ", "cyan"), visible(text)) for text in answer.caveats]
    for word in answer.audit_trail.human_approvals:
        lines.append(Text(f"{word.decision} by {visible(word.approver)}: {visible(word.reason)}"))
    if answer.approval_id is not None:
        who = _names(answer.required_approvals)
        lines.append(Text.assemble(("waits for ", "yellow"), who, ("  approval ", "dim"), answer.approval_id))
    return Group(*lines)


def bundles(page: BundlePage) -> RenderableType:
    if not page.claims:
        return Text("no claims", "dim")
    lines = [
        Text.assemble(
            (f"{item.decision:<9}", DECISION_STYLE[item.decision]),
            f"{visible(item.id)}  {len(item.claims)} claims  ",
            (visible(item.reason), "dim"),
        )
        for item in page.claims
    ]
    return Group(*lines, *([Text(f"more: --cursor {page.next}", "dim")] if page.next else []))


def inbox(page: Inbox) -> RenderableType:
    if not page.approvals:
        return Text("nothing waits", "dim")
    return Group(
        *(row(card) for card in page.approvals),
        *([Text(f"more: --cursor {page.next}", "dim")] if page.next else []),
    )


def row(card: ApprovalCard) -> Text:
    first = visible(card.claims[0].statement) if card.claims else _call(card)
    return Text.assemble(
        (f"{card.approval_id}  ", "bold"),
        (f"{card.tier:<13} ", "yellow"),
        (f"{card.status:<9} " if card.status != "pending" else "", "dim"),
        first[:80],
        (f"  {visible(card.reason)}", "dim"),
    )


def card(answer: ApprovalCard) -> RenderableType:
    """Claim, gates with limits, evidence, cost if wrong, what changes on approval."""
    lines: list[RenderableType] = [
        Text.assemble(
            (answer.approval_id, "bold"), f"  {answer.status}  ", (visible(answer.reason), "yellow")
        ),
        *(_claim(claim) for claim in answer.claims),
        *([Text(f"  call {_call(answer)}", "bold")] if answer.call is not None else []),
        *([Text(f"  change {_call(answer)}", "bold")] if answer.patch is not None else []),
        *([Text(f"  intent {_call(answer)}", "bold")] if answer.change is not None else []),
        _gates(answer.gates),
        Text(f"proposed by {_names(answer.proposers)}, open until {answer.expires_at}"),
    ]
    for word in answer.approvals:
        lines.append(Text(f"{word.decision} by {visible(word.approver)}: {visible(word.reason)}"))
    if answer.allowed_decisions:
        able, verdicts = _names(answer.required_approvals), ", ".join(answer.allowed_decisions)
        lines.append(Text(f"may be decided by {able}: {verdicts}"))
        lines.append(Text(f"on approval: {answer.on_approval}"))
    if answer.successor is not None:
        lines.append(Text(f"goes on as {answer.successor}", "dim"))
    lines.append(Text.assemble(("content ", "dim"), answer.content_hash))
    return Group(*lines)


def _call(card: ApprovalCard) -> str:
    """What waits, where it is no claim: a call, a change of the symbolic state, or of what is believed."""
    if card.patch is not None:
        changed = {**card.patch.set, **dict.fromkeys(card.patch.remove)}
        return visible(json.dumps(changed, ensure_ascii=False))
    if card.change is not None:
        return visible(" ".join(part for part in _change(card.change) if part))
    if card.call is None:
        return ""
    return visible(f"{card.call.tool_id} {json.dumps(card.call.args, ensure_ascii=False)}")


def _change(change: Change) -> tuple[str, ...]:
    """What a write intent would do, in one line."""
    to = "" if change.to_status is None else f"to {change.to_status}"
    on = f"on {', '.join(change.evidence_ids)}" if change.evidence_ids else ""
    return change.type, change.claim_id, to, on, change.new_claim_id or "", change.statement or ""


def decided(answer: DecidedApproval) -> RenderableType:
    head = Text.assemble((f"{answer.status}  ", "bold"), visible(answer.approval.reason))
    if answer.call is not None:
        return Group(head, candidate(answer.call))
    if answer.intent is not None:
        last = answer.intent.history[-1]
        return Group(head, Text(f"{answer.intent.intent_id} is {last.state} {visible(last.why)}".rstrip()))
    if answer.bundle is None and answer.status == "rejected":
        return head
    if answer.bundle is None:
        missing = answer.approval.required - len(answer.approval.approvals)
        return Group(head, Text(f"{missing} more must approve", "yellow"))
    return Group(head, bundle(answer.bundle))


def _claim(claim: Claim) -> RenderableType:
    sure = claim.uncertainty
    lines: list[RenderableType] = [
        Text.assemble(
            (f"  {claim.claim_type} ", "bold"),
            (f"{claim.risk_tier} ", "yellow"),
            visible(claim.statement),
        ),
        Text(f"    uncertainty {sure.value} by {sure.method} {visible(sure.interpretation)}", "dim"),
    ]
    for pointer in claim.evidence_pointers:
        lines.append(Text(f"    evidence {visible(pointer.source)} ({pointer.source_confidence})", "dim"))
    if claim.if_wrong_cost:
        lines.append(Text.assemble(("    if wrong: ", "dim"), visible(claim.if_wrong_cost)))
    return Group(*lines)


def _names(names: list[str]) -> str:
    return ", ".join(visible(name) for name in names)


def _measure(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, int | float) else visible(str(value))


def _gates(results: list[GateResult]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for result in results:
        table.add_row(
            Text(f"  {result.gate}"),
            Text(result.outcome, OUTCOME_STYLE[result.outcome]),
            Text(f"limit {_measure(result.limit)}, observed {_measure(result.observed)}", "dim"),
            Text(visible(result.reason), "dim"),
        )
    return table


def policy_in_force(answer: PolicyAnswer) -> RenderableType:
    """The policy by what in it is not the default."""
    adopted = f"adopted by {visible(answer.adopted_by or '')} at {answer.adopted_at}"
    lines = [
        Text.assemble(("policy ", "dim"), answer.policy_hash),
        Text(WHENCE.get(answer.source, adopted)),
    ]
    changed = _changed(msgspec.to_builtins(answer.policy), msgspec.to_builtins(Policy()))
    for part, fields in changed.items():
        lines.append(Text.assemble((f"{part}: ", "bold"), visible(json.dumps(fields))))
    return Group(*lines)


def _changed(value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    other = {name: inner for name, inner in value.items() if inner != default.get(name)}
    return {name: _changed(inner, default.get(name)) for name, inner in other.items()}
