"""The log drawn for people."""

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import view
from beliefd.protocol.log import AnchorView, AskedWitness, LogView


@view.register
def log(answer: LogView) -> RenderableType:
    covered = Text.assemble(
        f"{answer.size} leaves, ",
        (f"{answer.covered} covered", "green" if answer.covered == answer.size else "yellow"),
        " by the newest checkpoint",
    )
    keys = [Text.assemble(("key ", "dim"), visible(key)) for key in answer.keys]
    return Group(
        Text(visible(answer.origin or "no checkpoint was signed yet"), "bold"),
        covered,
        *keys,
        *(Text.assemble(("witness ", "dim"), visible(key)) for key in answer.witnesses),
        *map(_asked, answer.asked_witnesses),
        *(_anchor(one, answer.size) for one in answer.anchors),
    )


def _anchor(anchor: AnchorView, leaves: int) -> Text:
    size = anchor.size or 0
    told = "nothing anchored yet" if anchor.size is None else f"{size} leaves anchored"
    rest = f", {leaves - size} not" if anchor.size is not None and size < leaves else ""
    failed = f"; {visible(anchor.failure)}" if anchor.failure else ""
    return Text.assemble(("anchor ", "dim"), visible(anchor.place), f", {told}{rest}", (failed, "red"))


def _asked(witness: AskedWitness) -> Text:
    if witness.failure is not None:
        return Text.assemble(("asked ", "dim"), (visible(witness.failure.message), "red"))
    cosigned = "nothing yet" if witness.size is None else f"{witness.size} leaves cosigned"
    return Text.assemble(("asked ", "dim"), visible(witness.url), f", {cosigned}")
