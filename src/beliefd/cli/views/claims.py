"""Bundles of claims drawn for people, with what every gate says of them."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, names, page, view
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.kernel.claims.bundle import Claim, DecidedAction, HumanApproval, Uncertainty
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import ClaimStanding, MeasuredStanding
from beliefd.kernel.claims.tiers import RaisedTier
from beliefd.protocol.claims import BundlePage, JudgedBundle

DECISION_STYLE = {
    "PUBLISH": "bold green",
    "DEFER": "bold yellow",
    "ESCALATE": "bold yellow",
    "REFUSE": "bold red",
}
STATE_STYLE = {"witnessed": "bold green", "stored": "green", "attested": "bold yellow"}
OUTCOME_STYLE = {
    "EXECUTE": "green",
    "EXPLAIN": "cyan",
    "DEFER": "yellow",
    "ESCALATE": "yellow",
    "REFUSE": "red",
}


@view.register
def bundle(answer: JudgedBundle) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            (answer.decision, DECISION_STYLE[answer.decision]),
            f"  {visible(answer.reason)}  ",
            ("bundle ", "dim"),
            visible(answer.id),
        ),
        Text(f"  proposed by {visible(_speaker(answer))}", "dim"),
        *(claim_lines(one, answer.raised, answer.standings.get(one.id or "")) for one in answer.claims),
        gate_table(answer.gates),
    ]
    lines += [Text.assemble(("caveat ", "cyan"), visible(text)) for text in answer.caveats]
    lines += approver_words(answer.audit_trail.human_approvals)
    if answer.approval_id is not None:
        who = names(answer.required_approvals)
        lines.append(Text.assemble(("waits for ", "yellow"), who, ("  approval ", "dim"), answer.approval_id))
    return Group(*lines)


@view.register
def bundles(found: BundlePage) -> RenderableType:
    lines = [
        Text.assemble(
            (f"{item.decision:<9}", DECISION_STYLE[item.decision]),
            f"{visible(item.id)}  {len(item.claims)} claims  ",
            (f"{item.tier}  ", "yellow"),
            (f"by {visible(_speaker(item))}  ", "dim"),
            (visible(item.reason), "dim"),
        )
        for item in found.claims
    ]
    return page(lines, found.next, "no claims")


def _speaker(answer: JudgedBundle) -> str:
    """Who submitted it, and for whom if that is somebody else."""
    origin, proposer = answer.origin_agent, answer.proposer
    return proposer if origin == proposer else f"{proposer} for {origin}"


def claim_lines(claim: Claim, raised: Sequence[RaisedTier], standing: ClaimStanding | None) -> RenderableType:
    known = standing or ClaimStanding()
    higher = next((one for one in raised if one.claim_id == claim.id), None)
    lines: list[RenderableType] = [
        Text.assemble(
            (f"  {claim.claim_type} ", "bold"),
            (f"{claim.risk_tier if higher is None else higher.tier} ", "yellow"),
            visible(claim.statement),
        ),
        *([] if higher is None else [Text(_raised_words(claim, higher), "yellow")]),
        *([] if claim.action is UNSET else [Text(f"    decides {_action_words(claim.action)}", "dim")]),
        *certainty_lines(claim.uncertainty, known.measured or None),
    ]
    if claim.about is not UNSET:
        lines.append(Text(f"    about {' '.join(map(visible, claim.about.named))}", "dim"))
    for pointer, found in zip_longest(claim.evidence_pointers, known.evidence):
        state = ("", "") if found is None else (f" {found.state}", STATE_STYLE[found.state])
        why = "" if found is None or not found.by else f": {visible(found.by)}"
        source = f"    evidence {visible(pointer.source)} ({pointer.source_confidence})"
        lines.append(Text.assemble((source, "dim"), state, (why, "dim")))
    if claim.if_wrong_cost:
        lines.append(Text.assemble(("    if wrong: ", "dim"), visible(claim.if_wrong_cost)))
    return Group(*lines)


def certainty_lines(said: Uncertainty, measured: MeasuredStanding | None) -> list[Text]:
    """What is declared and what was measured, each under its own name."""
    lines = []
    if said.value is not UNSET:
        words = f"    declares uncertainty {said.value} {visible(said.interpretation)}"
        lines.append(Text(words.rstrip(), "dim"))
    if measured is not None:
        more = f", the highest of {measured.receipts}" if measured.receipts > 1 else ""
        told = f"    measured uncertainty {measured.value:g}{more} by {visible(measured.how)}  "
        lines.append(Text.assemble((told, "dim"), (measured.label, LABEL_STYLE[measured.label])))
    return lines


def _raised_words(claim: Claim, higher: RaisedTier) -> str:
    return f"    {higher.tier}, declared as {claim.risk_tier}: {visible(higher.reason)}"


def _action_words(action: DecidedAction) -> str:
    if action.tool is not UNSET:
        return f"to call {visible(action.tool)}"
    return f"the status of {visible(action.proposition or '')}"


def approver_words(decided: Sequence[HumanApproval]) -> list[Text]:
    return [Text(f"{one.decision} by {visible(one.approver)}: {visible(one.reason)}") for one in decided]


def _measure(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, int | float) else visible(str(value))


def gate_table(results: list[GateResult]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for result in results:
        table.add_row(
            Text(f"  {result.gate}"),
            Text(result.outcome, OUTCOME_STYLE[result.outcome]),
            Text(f"limit {_measure(result.limit)}, observed {_measure(result.observed)}", "dim"),
            Text(visible(result.reason), "dim"),
        )
    return table


def decision_words(bundle: dict[str, Any]) -> Text:
    style = "green" if bundle["decision"] == "PUBLISH" else "bold red"
    reason = (f" {visible(bundle['id'])}: {visible(bundle['reason'])}", "dim")
    return Text.assemble((bundle["decision"], style), reason)


EVENTS: dict[str, EventWords] = {"bundle_gated": lambda _, delta: decision_words(delta["gated"]["bundle"])}
