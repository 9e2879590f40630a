"""Policies drawn for people: what is in force, and what a policy would make of calls."""

from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, names, view
from beliefd.cli.views.substrate import VERDICT_STYLE, reason_words
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.protocol.policy import PolicyAnswer

if TYPE_CHECKING:
    from beliefd.policy.trial import Tried

ORIGIN = {
    "default": "nobody chose one: the defaults hold",
    "given": "given by the program that opened the store",
    "file": "from a file of the operator's",
}


@view.register
def policy_in_force(answer: PolicyAnswer) -> RenderableType:
    """The policy by what in it is not the default."""
    adopted = f"adopted by {visible(answer.adopted_by or '')} at {answer.adopted_at}"
    lines = [Text.assemble(("policy ", "dim"), answer.policy_hash), Text(ORIGIN.get(answer.source, adopted))]
    changed = _changed(msgspec.to_builtins(answer.policy), msgspec.to_builtins(Policy()))
    for part, fields in changed.items():
        lines.append(Text.assemble((f"{part}: ", "bold"), json_text(fields)))
    return Group(*lines)


def _changed(value: Any, default: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(default, dict):
        return value
    other = {name: inner for name, inner in value.items() if inner != default.get(name)}
    return {name: _changed(inner, default.get(name)) for name, inner in other.items()}


@view.register
def explanation(answer: Explanation) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble((answer.verdict, VERDICT_STYLE[answer.verdict]), f" {answer.reason_code}"),
        *(reason_words(reason) for reason in answer.reasons),
    ]
    if answer.allowed_by:
        lines.append(Text(f"  allowed by {names(answer.allowed_by)}", "dim"))
    lines.append(Text(f"  not judged here: {', '.join(answer.left_out)}", "dim"))
    return Group(*lines)


def cases(tried: "list[Tried]") -> RenderableType:
    lines: list[RenderableType] = []
    for case in tried:
        mark = ("ok   ", "green") if case.ok else ("FAIL ", "bold red")
        lines.append(Text.assemble(mark, visible(case.name)))
        if not case.ok:
            wanted = f"{case.expected.verdict} {case.expected.reason_code or ''}".strip()
            lines.append(Text(f"     expected {wanted}, got:"))
            lines.append(explanation(case.explanation))
    passed = sum(case.ok for case in tried)
    lines.append(Text(f"{passed} passed, {len(tried) - passed} failed"))
    return Group(*lines)
