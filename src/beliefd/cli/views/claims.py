"""Bundles of claims drawn for people, with what every gate says of them."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, names, page, view
from beliefd.kernel.claims.bundle import Claim, HumanApproval
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.protocol.claims import BundlePage, JudgedBundle

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


@view.register
def bundle(answer: JudgedBundle) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            (answer.decision, DECISION_STYLE[answer.decision]),
            f"  {visible(answer.reason)}  ",
            ("bundle ", "dim"),
            visible(answer.id),
        ),
        *(claim_lines(claim) for claim in answer.claims),
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
            (visible(item.reason), "dim"),
        )
        for item in found.claims
    ]
    return page(lines, found.next, "no claims")


def claim_lines(claim: Claim) -> RenderableType:
    sure = claim.uncertainty
    lines: list[RenderableType] = [
        Text.assemble(
            (f"  {claim.claim_type} ", "bold"), (f"{claim.risk_tier} ", "yellow"), visible(claim.statement)
        ),
        Text(f"    uncertainty {sure.value} by {sure.method} {visible(sure.interpretation)}", "dim"),
    ]
    if claim.about is not UNSET:
        lines.append(Text(f"    about {' '.join(map(visible, claim.about.named))}", "dim"))
    for pointer in claim.evidence_pointers:
        lines.append(Text(f"    evidence {visible(pointer.source)} ({pointer.source_confidence})", "dim"))
    if claim.if_wrong_cost:
        lines.append(Text.assemble(("    if wrong: ", "dim"), visible(claim.if_wrong_cost)))
    return Group(*lines)


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
