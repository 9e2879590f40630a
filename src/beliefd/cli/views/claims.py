"""Bundles of claims drawn for people, with what every gate says of them."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import TIER_STYLE, EventDetails, EventWords, names, page, view
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.cli.views.system import foreign_lines
from beliefd.kernel.claims.bundle import Claim, DecidedAction, GateOverride, HumanApproval, Uncertainty
from beliefd.kernel.claims.gates.result import GateResult
from beliefd.kernel.claims.standing import ClaimStanding, MeasuredStanding
from beliefd.kernel.claims.tiers import RaisedTier
from beliefd.protocol.afterwards import AgreementProgress, Correction
from beliefd.protocol.claims import BundlePage, JudgedBundle, RetractedClaims
from beliefd.protocol.headlines import GATE_WORDS, NOT_COMPARED, headline_of

if TYPE_CHECKING:
    from beliefd.protocol.approvals import ApprovalCard

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
    head = headline_of(answer)
    lines: list[RenderableType] = [
        Text.assemble(
            (head.word, DECISION_STYLE.get(head.word, "bold red")),
            f"  {visible(head.text)}  ",
            ("bundle ", "dim"),
            visible(answer.id),
        ),
        Text(f"  proposed by {visible(_speaker(answer))}", "dim"),
        *foreign_lines(answer.foreign),
        *correction_lines(answer.corrects),
        *(claim_view(one, answer) for one in answer.claims),
        gate_table(answer.gates),
        *override_lines(answer.audit_trail.gates_overridden or ()),
    ]
    lines += [Text.assemble(("caveat ", "cyan"), visible(text)) for text in answer.caveats]
    lines += approver_words(answer.audit_trail.human_approvals)
    if answer.approval_id is not None:
        who = names(answer.required_approvals)
        lines.append(Text.assemble(("waits for ", "yellow"), who, ("  approval ", "dim"), answer.approval_id))
    lines += progress_lines(answer.progress)
    return Group(*lines)


@view.register
def retracted(answer: RetractedClaims) -> RenderableType:
    said = f"{len(answer.claim_ids)} retracted, {answer.standing} still stand  {visible(answer.reason)}"
    return Group(Text(said, "bold red"), view(answer.bundle))


@view.register
def bundles(found: BundlePage) -> RenderableType:
    lines = [
        Text.assemble(
            (f"{head.word:<8} ", DECISION_STYLE.get(head.word, "bold red")),
            f"{visible(item.id)}  {len(item.claims)} claims  ",
            (f"{item.tier}  ", TIER_STYLE[item.tier]),
            (f"by {visible(_speaker(item))}  ", "dim"),
            (visible(head.text), "dim"),
            *_in_brief(item),
        )
        for item, head in ((item, headline_of(item)) for item in found.claims)
    ]
    return page(lines, found.next, "no claims")


def _in_brief(item: JudgedBundle) -> list[tuple[str, str]]:
    """What became of a bundle, on its line of a list."""
    parts: list[tuple[str, str]] = []
    if item.foreign is not None:
        parts.append(("  foreign", "bold yellow"))
    if item.corrects is not None:
        parts.append((f"  corrects {visible(item.corrects.bundle_id)}", "cyan"))
    if item.ended:
        kinds = sorted({one.how for one in item.ended.values()})
        parts.append((f"  {len(item.ended)} of {len(item.claims)} {' or '.join(kinds)}", "bold red"))
    if item.progress is not None and item.progress.given:
        parts.append((f"  {visible(item.progress.text)}", "yellow"))
    return parts


def _speaker(answer: JudgedBundle) -> str:
    """Who submitted it, and for whom if that is somebody else."""
    origin, proposer = answer.origin_agent, answer.proposer
    return proposer if origin == proposer else f"{proposer} for {origin}"


def claim_view(claim: Claim, answer: "JudgedBundle | ApprovalCard") -> RenderableType:
    """A claim with what it rests on, and how it ended if it did."""
    name = claim.id or ""
    lines = [claim_lines(claim, answer.raised, answer.standings.get(name), answer.observed)]
    if (one := answer.ended.get(name)) is not None:
        lines.append(Text(f"    {visible(one.text)}", "bold red"))
    return Group(*lines)


def correction_lines(one: Correction | None) -> list[Text]:
    if one is None:
        return []
    what = f"claim {visible(one.claim_id)} of " if one.claim_id else ""
    said = Text.assemble(("  corrects ", "cyan"), f"{what}{visible(one.bundle_id)}")
    return [said if one.ended is None else said.append(f", {visible(one.ended.text)}", "dim")]


def override_lines(found: Sequence[GateOverride]) -> list[Text]:
    return [Text(f"  {one.gate} overridden by {names(one.by)}", "bold yellow") for one in found]


def progress_lines(progress: AgreementProgress | None) -> list[Text]:
    """Told only where it says something: one person who has not spoken yet is what waiting means."""
    if progress is None or (progress.required == 1 and not progress.given):
        return []
    return [Text(visible(progress.text), "yellow")]


def claim_lines(
    claim: Claim, raised: Sequence[RaisedTier], standing: ClaimStanding | None, observed: Mapping[str, str]
) -> RenderableType:
    known = standing or ClaimStanding()
    higher = next((one for one in raised if one.claim_id == claim.id), None)
    tier = claim.risk_tier if higher is None else higher.tier
    lines: list[RenderableType] = [
        Text.assemble(
            (f"  {claim.claim_type} ", "bold"),
            (f"{tier} ", TIER_STYLE[tier]),
            visible(claim.statement),
        ),
        *([] if higher is None else [Text(_raised_words(claim, higher), "yellow")]),
        *([] if claim.action is UNSET else [Text(f"    decides {_action_words(claim.action)}", "dim")]),
        *certainty_lines(claim.uncertainty, known.measured or None),
    ]
    if claim.about is not UNSET:
        lines.append(Text(f"    about {' '.join(map(visible, claim.about.named))}", "dim"))
    for pointer, found in zip_longest(claim.evidence_pointers, known.evidence):
        state = ("", "") if found is None else (f"{found.state} ", STATE_STYLE[found.state])
        why = "" if found is None or not found.by else f": {visible(found.by)}"
        source = f"evidence `{visible(pointer.source)}` ({pointer.source_confidence}){why}"
        values = f": {visible(said)}" if (said := observed.get(pointer.source)) else ""
        lines.append(Text.assemble("    ", state, (source, "dim"), values))
    if claim.evidence_pointers:
        lines.append(Text(f"    {NOT_COMPARED}", "dim"))
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
        if measured.cited is not UNSET and measured.cited.measurement_id != measured.measurement_id:
            more += f" (the claim cites {visible(measured.cited.measurement_id)})"
        told = f"    measured uncertainty {measured.value:g}{more} by {visible(measured.how)}  "
        lines.append(Text.assemble((told, "dim"), (measured.label, LABEL_STYLE[measured.label])))
    return lines


def _raised_words(claim: Claim, higher: RaisedTier) -> str:
    return f"    {higher.tier}, declared as {claim.risk_tier}: {visible(higher.reason)}"


def _action_words(action: DecidedAction) -> str:
    if action.tool is not UNSET:
        where = f" of {visible(action.upstream)}" if action.upstream else ""
        return f"to call {visible(action.tool)}{where}"
    return f"the status of {visible(action.proposition or '')}"


def approver_words(decided: Sequence[HumanApproval]) -> list[Text]:
    return [
        Text(f"{one.decision} by {visible(one.approver)}{f': {visible(one.reason)}' if one.reason else ''}")
        for one in decided
    ]


def _measure(value: float | str | None) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, int | float) else visible(str(value))


def gate_table(results: list[GateResult]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for result in results:
        table.add_row(
            Text(f"  {result.gate}"),
            Text(GATE_WORDS[result.outcome], OUTCOME_STYLE[result.outcome]),
            Text(f"limit {_measure(result.limit)}, observed {_measure(result.observed)}", "dim"),
            Text(visible(result.reason), "dim"),
        )
    return table


def decision_words(bundle: dict[str, Any]) -> Text:
    style = "green" if bundle["decision"] == "PUBLISH" else "bold red"
    reason = (f" {visible(bundle['id'])}: {visible(bundle['reason'])}", "dim")
    return Text.assemble((bundle["decision"], style), reason)


def judged_words(gated: dict[str, Any]) -> Text:
    """What was decided of a bundle, and what it puts right."""
    said = decision_words(gated["bundle"])
    ended = gated.get("ended")
    return said if ended is None else said.append(f"  corrects {_named(ended)}", "cyan")


def _named(ended: dict[str, Any]) -> str:
    return f"{names(ended['claim_ids'])} of {visible(ended['bundle_id'])}"


def _retracted(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    ended = delta["ended"]
    return Text.assemble(("retracted ", "bold red"), _named(ended), (f": {visible(ended['reason'])}", "dim"))


def claims_in(bundle: dict[str, Any]) -> list[Text]:
    """Every claim of a recorded bundle: kind, tier and statement, and what it costs if it is wrong."""
    lines: list[Text] = []
    for one in bundle["claims"]:
        tier = one["risk_tier"]
        head = (f"{one['claim_type']} ", "bold"), (f"{tier} ", TIER_STYLE.get(tier, ""))
        lines.append(Text.assemble(*head, visible(one["statement"])))
        if one.get("if_wrong_cost"):
            lines.append(Text.assemble(("  if wrong: ", "dim"), visible(one["if_wrong_cost"])))
    return lines


DETAILS: dict[str, EventDetails] = {"bundle_gated": lambda _, delta: claims_in(delta["gated"]["bundle"])}
EVENTS: dict[str, EventWords] = {
    "bundle_gated": lambda _, delta: judged_words(delta["gated"]),
    "claims_retracted": _retracted,
}
