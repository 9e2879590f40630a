"""Proofs drawn for people: what holds, and the call that shows what does not."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import json_text, view
from beliefd.protocol.proofs import FoundCall, Proof, ProofAnswer

STYLE = {"proved": "green", "counterexample": "bold red", "refuted": "bold red", "cannot_say": "yellow"}


@view.register
def proof_answer(answer: ProofAnswer) -> RenderableType:
    return proofs(answer, ())


def proofs(answer: ProofAnswer, commands: Sequence[str]) -> RenderableType:
    lines = [line for one in answer.proofs for line in _proof(one)]
    if commands:
        lines.append(Text("judged again with:", "dim"))
    return Group(*lines, *(Text(f"  {visible(one)}", no_wrap=True, overflow="ignore") for one in commands))


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
