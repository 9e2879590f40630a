"""The log drawn for people."""

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import view
from beliefd.protocol.log import AskedWitness, LogView


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
    )


def _asked(witness: AskedWitness) -> Text:
    if witness.failure is not None:
        return Text.assemble(("asked ", "dim"), (visible(witness.failure.message), "red"))
    cosigned = "nothing yet" if witness.size is None else f"{witness.size} leaves cosigned"
    return Text.assemble(("asked ", "dim"), visible(witness.url), f", {cosigned}")
