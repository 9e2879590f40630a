"""Policies drawn for people: what is in force, and what a policy would make of calls."""

from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, names, view
from beliefd.cli.views.substrate import VERDICT_STYLE, reason_words
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.kernel.values import shown_time
from beliefd.protocol.explaining import Deciding, PolicyExplanation, Reading, Under
from beliefd.protocol.policy import PolicyAnswer
from beliefd.protocol.reviewing import PolicyFinding, PolicyReview

if TYPE_CHECKING:
    from beliefd.policy.coverage import Coverage
    from beliefd.policy.lint import Linted
    from beliefd.policy.lint.finding import Finding
    from beliefd.policy.trial import Tried

ORIGIN = {
    "default": "nobody chose one: the defaults hold",
    "given": "given by the program that opened the store",
    "file": "from a file of the operator's",
}
LISTED: Final = 20
LONG_PART: Final = 500
"""Letters. Whoever adopts a policy wants to see that it is theirs, not read it again."""


@view.register
def policy_in_force(answer: PolicyAnswer) -> RenderableType:
    """The policy by what in it is not the default; of what is long, the names."""
    adopted = f"adopted by {visible(answer.adopted_by or '')} at {shown_time(answer.adopted_at or '')}"
    lines = [Text.assemble(("policy ", "dim"), answer.policy_hash), Text(ORIGIN.get(answer.source, adopted))]
    changed = _changed(msgspec.to_builtins(answer.policy), msgspec.to_builtins(Policy()))
    is_whole = True
    for part, fields in changed.items():
        if isinstance(fields, list | tuple):
            lines.append(Text.assemble((f"{part}:", "bold"), "" if fields else " none"))
            lines += (Text(f"  {visible(one[:LONG_PART])}") for one in map(_in_words, fields[:LISTED]))
            is_whole &= len(fields) <= LISTED
            continue
        written = json_text(fields)
        if len(written) > LONG_PART:
            names = f": {visible(', '.join(fields))}" if isinstance(fields, dict) else ""
            written, is_whole = f"{len(fields)}{names}", False
        lines.append(Text.assemble((f"{part}: ", "bold"), written))
    if not is_whole:
        lines.append(Text("all of it: `beliefd policy show --json`", "dim"))
    return Group(*lines)


def _in_words(value: Any) -> str:
    """A capability, a promise and the like on one line: its name first, and what is not said left out."""
    if isinstance(value, dict):
        said = {name: words for name, one in value.items() if (words := _in_words(one))}
        name = said.pop("name", "")
        rest = ", ".join(f"{key.replace('_', ' ')} {words}" for key, words in said.items())
        return f"{name}: {rest}" if name and rest else name or rest
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(_in_words, value)))
    return "" if value is None else value if isinstance(value, str) else json_text(value)


def _changed(value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    other = {name: inner for name, inner in value.items() if inner != default.get(name)}
    return {name: _changed(inner, default.get(name)) for name, inner in other.items()}


@view.register
def explanation(answer: Explanation) -> RenderableType:
    return Group(*_verdict(answer), Text(f"  not judged here: {', '.join(answer.left_out)}", "dim"))


@view.register
def policy_explanation(answer: PolicyExplanation) -> RenderableType:
    lines = [*_verdict(answer), *(line for one in answer.deciding for line in _read_by(one))]
    if answer.remedy is not None:
        lines.append(Text.assemble(("  to pass: ", "bold"), visible(answer.remedy.words)))
        roles = sorted({role for change in answer.remedy.changes for role in change.by})
        if roles:
            lines.append(Text(f"    keys of the state are written by: {', '.join(roles)}", "dim"))
    lines += (_under(one) for one in answer.under)
    if answer.assumed:
        lines.append(Text(f"  taken to stay as it is: {', '.join(answer.assumed)}", "dim"))
    if answer.left_out:
        lines.append(Text(f"  not judged here: {', '.join(map(visible, answer.left_out))}", "dim"))
    return Group(*lines)


def _verdict(answer: Explanation | PolicyExplanation) -> list[Text]:
    lines = [
        Text.assemble((answer.verdict, VERDICT_STYLE[answer.verdict]), f" {answer.reason_code}"),
        *(reason_words(reason) for reason in answer.reasons),
    ]
    if answer.allowed_by:
        lines.append(Text(f"  allowed by {names(answer.allowed_by)}", "dim"))
    return lines


def _read_by(one: Deciding) -> list[Text]:
    """What a constraint looked at, a line each."""
    if not one.reads:
        return []
    return [Text(f"  read by {visible(one.constraint)} ({one.effect}):", "dim"), *map(_reading, one.reads)]


def _reading(one: Reading) -> Text:
    value = "not there" if not one.present else f"{one.long} bytes" if one.long else json_text(one.value)
    words = Text.assemble("    ", visible(one.path), (" = " if one.present else ": ", "dim"), value)
    if one.rule:
        words.append(f"  derived by {visible(one.rule)}", "dim")
    if one.written:
        who = f"{visible(one.written.by)} ({one.written.role})"
        words.append(f"  written by {who} at {one.written.at}, event {one.written.seq}", "dim")
    return words


WHICH = {
    "in_force": "under the policy in force",
    "before": "under the policy before",
    "defaults": "before, under the defaults",
    "against": "under the other policy",
}


def _under(one: Under) -> Text:
    words = Text.assemble(f"  {WHICH[one.which]}: ", (one.verdict, VERDICT_STYLE[one.verdict]))
    words.append(f" {one.reason_code}" + ("" if one.differs else ", the same"))
    if one.differs and one.reasons:
        words.append(f" ({visible(one.reasons[0].constraint or one.reasons[0].words)})", "dim")
    return words


def cases(tried: "list[Tried]", covered: "Coverage", wanted: float | None = None) -> RenderableType:
    """`wanted` is the coverage that was asked for, if it is not reached."""
    lines: list[RenderableType] = []
    for case in tried:
        mark = ("ok   ", "green") if case.ok else ("FAIL ", "bold red")
        lines.append(Text.assemble(mark, visible(case.name)))
        if not case.ok:
            said = f"{case.expected.verdict} {case.expected.reason_code or ''}".strip()
            lines.append(Text(f"     expected {said}, got:"))
            lines.append(explanation(case.explanation))
    what = "constraints and rules" if covered.rules else "constraints"
    total = covered.constraints + covered.rules
    lines.append(Text(f"{covered.fired} of {total} {what} tried ({covered.percent:g} %)"))
    lines += (
        Text(
            f"  never fired: {visible(one.constraint)} ({one.effect}); it takes {visible(one.wanted)}", "dim"
        )
        for one in covered.untried
    )
    if wanted is not None:
        lines.append(Text(f"coverage is below {wanted:g} %", "bold red"))
    passed = sum(case.ok for case in tried)
    lines.append(Text(f"{passed} passed, {len(tried) - passed} failed"))
    return Group(*lines)


LEVELS = {"warning": "bold yellow", "note": "dim"}


def _finding(one: "Finding | PolicyFinding") -> Text:
    place = visible(one.constraint) + (f" and {visible(one.other)}" if one.other else "")
    return Text.assemble((f"{one.level} ", LEVELS[one.level]), one.code, f" {place}: {visible(one.message)}")


@view.register
def reviewed(answer: PolicyReview) -> RenderableType:
    lines = [_finding(one) for one in answer.findings]
    lines.append(Text(f"{answer.warnings} warnings; {answer.compared}", "dim"))
    never = [one for one in answer.used if not one.count]
    some = "" if answer.complete else "the newest "
    lines.append(
        Text(
            f"{len(answer.used) - len(never)} of {len(answer.used)} rules that can stand in the way did, "
            f"in {some}{answer.decisions} decisions under this policy ({answer.percent:g} %)"
        )
    )
    for one in sorted(answer.used, key=lambda use: (-use.count, use.constraint)):
        when = "never" if one.last is None else f"last at {one.last.at} in {one.last.session_id}"
        lines.append(
            Text(
                f"  {one.count:>6}  {visible(one.constraint)} ({one.effect}), {when}",
                "" if one.count else "dim",
            )
        )
    return Group(*lines)


def linted(answer: "Linted") -> RenderableType:
    lines = [_finding(one) for one in answer.findings]
    notes = len(answer.findings) - answer.warnings
    looked_at = f"{answer.constraints} constraints" + (f" and {answer.rules} rules" if answer.rules else "")
    lines.append(Text(f"{answer.warnings} warnings, {notes} notes in {looked_at}"))
    lines.append(Text(f"  {answer.complete}", "dim"))
    return Group(*lines)
