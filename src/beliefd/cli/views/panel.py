"""The panel of simulated experiments drawn for people."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.views.drawing import view
from beliefd.experiments.panel.results import CLAIMED, TRUE, Line, Panel, Sequence


@view.register
def panel(found: Panel) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    far = [f"{distance:g} sd" for distance in found.distances]
    table.add_row("template", "n", "false support", "worst family", *far, style="dim")
    for line in found.lines:
        table.add_row(
            line.template, str(line.n), _rate(line), line.worst, *(f"{one:.2f}" for one in line.power)
        )
    head = f"false support at most {found.alpha:g}, or {found.limit:.4f} with what chance explains: "
    head += f"{found.experiments} experiments in each of {found.families} families, two sides"
    return Group(
        Text(head, "dim"),
        table,
        *([] if found.sequence is None else [_sequence(found.sequence)]),
        *(
            Text(
                f"too often: {one.template}, n = {one.n}, {one.family}, {one.side}: {one.rate:.4f}",
                "bold red",
            )
            for one in found.exceeded
        ),
    )


def _rate(line: Line) -> Text:
    return Text(f"{line.false_support:.4f}" + (" !" if line.too_many else ""), "red" if line.too_many else "")


def _sequence(found: Sequence) -> Text:
    return Text(
        f"a look after every replicate: a share of {CLAIMED:g} is shown after {found.mean_decided_after:.0f} "
        f"replicates instead of {found.fixed_sample}, if {TRUE:g} is true; wrongly in {found.false_supports} "
        f"of {found.runs} runs, if it is not"
    )
