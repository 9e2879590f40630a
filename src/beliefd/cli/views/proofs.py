"""Proofs drawn for people: what holds, and the call that shows what does not."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, view
from beliefd.protocol.proofs import FoundCall, Proof, ProofAnswer

if TYPE_CHECKING:
    from pathlib import Path

STYLE = {"proved": "green", "counterexample": "bold red", "refuted": "bold red", "cannot_say": "yellow"}


@view.register
def proof_answer(answer: ProofAnswer) -> RenderableType:
    return proofs(answer, None)


def proofs(answer: ProofAnswer, script: "Path | None") -> RenderableType:
    """The answers, and the script that has what was found judged again, if there is one."""
    lines = [line for one in answer.proofs for line in _proof(one)]
    told = [] if script is None else [Text(f"judged again by: sh {visible(str(script))}", "dim")]
    return Group(*lines, *told)


def _proof(one: Proof) -> list[RenderableType]:
    head = Text.assemble((one.answer.replace("_", " "), STYLE[one.answer]), f"  {visible(one.question)}")
    lines: list[RenderableType] = [head]
    if one.why:
        lines.append(Text(f"  {visible(one.why)}"))
    return lines if one.call is None else [*lines, *_call(one.call)]


def _call(found: FoundCall) -> list[RenderableType]:
    verdicts = found.verdicts
    before = f" (before: {visible(verdicts['old'])})" if "old" in verdicts else ""
    return [
        Text.assemble(("  call   ", "dim"), json_text(found.call)),
        Text.assemble(("  state  ", "dim"), json_text(found.state)),
        Text.assemble(("  says   ", "dim"), f"{visible(verdicts['new'])}{before}"),
    ]
