"""What the demo shows: a live board in a terminal, plain lines anywhere else."""

import time
from typing import TYPE_CHECKING, Literal

from beliefd.cli.output import console, visible
from beliefd.cli.views.beliefs import STATUS_STYLE, measure

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text

    from beliefd.protocol.beliefs import BeliefSnapshot

INDENT = 3
Mark = Literal["allowed", "refused", "verified", "waits"]
MARK_STYLE = {"refused": "bold red", "waits": "bold yellow"}
BLOCKS = " ▁▂▃▄▅▆▇█"


class Screen:
    """What is seen while the demo runs. Without a terminal there is no waiting and no redrawing."""

    def __init__(self, pace: float) -> None:
        self._pace = pace
        self.console = console()
        self.is_live = self.console.is_terminal
        self._live: Live | None = None
        self._entropies: list[float] = []
        self._n_acts = 0

    def __enter__(self) -> "Screen":
        if self.is_live:
            from rich.live import Live

            self._live = Live(console=self.console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def act(self, title: str) -> None:
        from rich.text import Text

        self._n_acts += 1
        self._print(Text.assemble("\n", (f"{self._n_acts}. {title}", "bold")))

    def say(self, text: str, style: str = "") -> None:
        from rich.text import Text

        self._print(Text(visible(text), style), indent=INDENT)

    def mark(self, mark: Mark, text: str) -> None:
        from rich.text import Text

        style = MARK_STYLE.get(mark, "bold green")
        self._print(Text.assemble((mark, style), f" {visible(text)}"), indent=INDENT)
        self._rest()

    def board(self, snapshot: "BeliefSnapshot", eliminated_by: dict[str, str], hypotheses: list[str]) -> None:
        """Which hypotheses survive, what eliminated the others, and how the entropy went down."""
        self._entropies.append(snapshot.entropy_proxy)
        if self._live is None:
            self._print(measure(snapshot), indent=INDENT)
            return
        self._live.update(_board(snapshot, eliminated_by, hypotheses, self._entropies), refresh=True)
        self._rest()

    def _print(self, text: "Text", indent: int = 0) -> None:
        from rich.padding import Padding
        from rich.text import Text

        if self.is_live:
            self.console.print(Padding(text, (0, 0, 0, indent)))
        else:
            self.console.print(Text.assemble(" " * indent, text), soft_wrap=True)

    def _rest(self) -> None:
        if self.is_live:
            time.sleep(self._pace)


def _board(
    snapshot: "BeliefSnapshot", eliminated_by: dict[str, str], hypotheses: list[str], entropies: list[float]
) -> "RenderableType":
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 3))
    cells = [_cell(name, eliminated_by.get(name)) for name in hypotheses]
    half = (len(cells) + 1) // 2
    for index in range(half):
        grid.add_row(*cells[index::half])
    most = max(entropies) or 1.0
    curve = "".join(BLOCKS[round(bits / most * (len(BLOCKS) - 1))] for bits in entropies)
    history = Text.assemble(("entropy ", "dim"), (curve, "cyan"))
    return Panel(
        Group(grid, Text(""), measure(snapshot), history),
        title=Text(snapshot.status, STATUS_STYLE[snapshot.status]),
        expand=False,
        border_style="dim",
    )


def _cell(name: str, probe_id: str | None) -> "RenderableType":
    from rich.text import Text

    if probe_id is None:
        return Text.assemble(("● ", "cyan"), (visible(name), "bold"))
    return Text.assemble(("✗ ", "red"), (visible(name), "dim strike"), (f"  {visible(probe_id)}", "dim"))
