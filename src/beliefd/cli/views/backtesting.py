"""Backtests drawn for people: what would change, grouped, and what recorded calls would have come to."""

from typing import TYPE_CHECKING

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, view
from beliefd.protocol.backtesting import Backtest, ChangedDecisions, Counted

if TYPE_CHECKING:
    from beliefd.steward.backtesting.run_tally import Tallies, Tally

STYLE = {
    "allow": "bold green",
    "ask": "bold yellow",
    "defer": "bold yellow",
    "deny": "bold red",
    "refused": "bold red",
    "undecidable": "bold magenta",
}
SHOWN = 20
"""Rows of a list; the rest are counted."""


@view.register
def backtest(answer: Backtest) -> RenderableType:
    counts = f"{answer.sessions} sessions, {answer.decisions} decisions: "
    counts += f"{answer.changed} would change, {answer.undecidable} cannot be decided"
    lines = [Text.assemble(("policy ", "dim"), answer.policy_hash), Text(counts)]
    for group in answer.groups:
        lines += _group(group)
    if answer.left_out:
        lines.append(Text(f"and {answer.left_out} decisions in further groups", "dim"))
    if answer.erased:
        told = f"texts that are erased: {answer.erased}; what was said with them is decided by their digests"
        lines.append(Text(told, "dim"))
    lines += _counted("by tool", answer.by_tool) + _counted("by principal", answer.by_principal)
    for one in answer.broken:
        told = f"broken: {visible(one.session_id)} at event {one.seq}: {visible(one.reason)}"
        lines.append(Text(told, "bold red"))
    return Group(*lines)


def _group(group: ChangedDecisions) -> list[Text]:
    about = group.tool or group.verb
    change = Text.assemble(
        f"{group.count} x ",
        (visible(about), "bold"),
        f" of {visible(group.principal)}: ",
        (group.was, STYLE.get(group.was, "")),
        " -> ",
        (group.would_be, STYLE.get(group.would_be, "")),
        f"  {visible(group.constraint)}" if group.constraint else "",
    )
    first = group.first
    place = f"  first: {visible(first.session_id)} event {first.seq} at {first.at}"
    lines = [change, Text(place, "dim")]
    if first.args is not UNSET:
        lines.append(Text(f"    {json_text(first.args)}", "dim"))
    return [*lines, *(Text(f"    {visible(one)}", "dim") for one in first.reasons)]


def _counted(what: str, rows: list[Counted]) -> list[Text]:
    touched = [one for one in rows if one.changed or one.undecidable]
    if not touched:
        return []
    lines = [Text(f"{what}:")]
    for one in touched[:SHOWN]:
        told = f"  {visible(one.name)}: {one.changed} of {one.decisions} would change"
        lines.append(Text(told + (f", {one.undecidable} cannot be decided" if one.undecidable else "")))
    if len(touched) > SHOWN:
        lines.append(Text(f"  and {len(touched) - SHOWN} more", "dim"))
    return lines


def tallied(tallies: "Tallies") -> RenderableType:
    """What would have become of recorded runs, by kind."""
    return Group(*(line for one in tallies.by_kind.values() for line in _tally(one)))


def _tally(one: "Tally") -> list[Text]:
    share = 100 * one.unattended / max(1, one.runs)
    asked = f"  asked: {one.asked} ({one.asked / max(1, one.runs):.3f} per run), denied: {one.denied}"
    lines = [
        Text.assemble((visible(one.kind), "bold"), f"  {one.runs} runs, {one.calls} calls"),
        Text(f"  every call allowed: {one.unattended} runs ({share:.1f} %)"),
        Text(asked + (f", undecidable: {one.undecidable}" if one.undecidable else "")),
    ]
    lines += _ruled("asked or denied by rule, the first that applies to a call", one.rules)
    return lines + _ruled("undecidable, because", one.unknown)


def _ruled(what: str, counts: dict[str, int]) -> list[Text]:
    ruled = sorted(counts.items(), key=lambda rule: (-rule[1], rule[0]))
    lines = [Text(f"  {what}:")] if ruled else []
    lines += [Text(f"    {visible(name)}: {count}", "dim") for name, count in ruled[:SHOWN]]
    return lines + ([Text(f"    and {len(ruled) - SHOWN} more", "dim")] if len(ruled) > SHOWN else [])
