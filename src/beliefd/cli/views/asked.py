"""A call or a change of state that waits, shown whole: where its arguments came from, why its agent wants it,
what stands in its way, and what was decided about the same before."""

from collections.abc import Iterable

from msgspec import UNSET
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import age, json_text, names
from beliefd.kernel.origin.facts import ValueFact
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.headlines import way_out

TRUST_STYLE = {"trusted": "dim"}
"""Where a value stood; whatever is less than trusted is to be seen."""


def call_lines(card: ApprovalCard, call: CallCandidate) -> list[Text]:
    """The tool in its own words, and its arguments with where the values in them stood."""
    description = card.call.description if card.call is not None else ""
    traced = card.call.origin if card.call is not None else []
    lines = [Text(f"  call {visible(call.tool_id)}", "bold")]
    lines += [Text.assemble(("  it says of itself ", "dim"), visible(description))] if description else []
    for name, value in call.args.items():
        lines.append(Text.assemble((f"    {visible(name)} ", "bold"), json_text(value)))
        lines += _origins(one for one in traced if one.argument == name)
        lines += [
            Text(f"      {visible(one.value)} appears in {visible(one.where)}", "yellow")
            for one in (card.call.words if card.call is not None else ())
            if one.argument == name
        ]
    lines += [] if call.args else [Text("    no arguments", "dim")]
    return [*lines, *_origins(one for one in traced if one.argument not in call.args)]


def _origins(found: Iterable[ValueFact]) -> list[Text]:
    return [
        Text(f"      {visible(one.value)} is from {visible(one.where)}", TRUST_STYLE.get(one.trust, "yellow"))
        for one in found
    ]


def told_lines(card: ApprovalCard) -> list[Text]:
    """What the session was told as the user's word, as far as it is kept."""
    return [
        Text.assemble(
            ("  the user said " if one.vouched else "  as the user's word ", "dim"),
            visible(one.words),
            (f"  told by {visible(one.told_by)}", "dim"),
        )
        for one in (card.call.told if card.call is not None else ())
    ]


def why_lines(card: ApprovalCard, asked: CallCandidate | DeltaCandidate) -> list[Text]:
    """The agent's reason, and which rules stood in the way: what they say heads the card."""
    told = []
    if asked.rationale is not UNSET:
        told.append(Text.assemble(("  because ", "dim"), visible(asked.rationale)))
    reasons = [] if card.call is None else card.call.reasons
    rules = dict.fromkeys((one.constraint or one.code).removeprefix("constraint.") for one in reasons)
    remedies = dict.fromkeys(filter(None, map(way_out, reasons)))
    if rules:
        to_pass = f"; to pass: {names(remedies)}" if remedies else ""
        told.append(Text.assemble(("  stopped by ", "dim"), names(rules), (to_pass, "dim")))
    return told


def before_lines(card: ApprovalCard) -> list[Text]:
    """What came of the same before, in this session."""
    return [
        Text.assemble(
            ("  the same was ", "dim"),
            one.status,
            (f" by {visible(one.decided_by)}" if one.decided_by else "", "dim"),
            (f", {age(one.opened_at)} ago", "dim"),
            f": {visible(one.reason)}" if one.reason else "",
        )
        for one in card.before or ()
    ]
