"""Detectors beside each other, drawn for people: a table of what each finds on each set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible

if TYPE_CHECKING:
    from beliefd.adversarial.compare import Line
    from beliefd.adversarial.evaluate import Rate


def detectors(lines: "Sequence[Line]", rate: float) -> RenderableType:
    from beliefd.adversarial.evaluate import THRESHOLD

    half = lines[0].half if lines else "dev"
    table = Table(
        "set", "detector", f"hits > {THRESHOLD:.2f}", "false alarms",
        f"hits at {rate:.0%}", "false alarms there",
        title=f"half: {half}; 95 % Wilson intervals in brackets",
    )  # fmt: skip
    for at, line in enumerate(lines):
        last = at + 1 == len(lines) or lines[at + 1].name != line.name
        table.add_row(
            visible(line.name),
            visible(line.detector),
            *map(shown, (line.hits, line.false_alarms, line.hits_at_rate, line.false_alarms_at_rate)),
            end_section=last,
        )
    note = (
        f"hits at {rate:.0%}: above the lowest threshold that no more harmless texts of the dev half exceed"
    )
    return Group(table, Text(note, "dim"))


def shown(rate: "Rate") -> str:
    """How many were flagged, and the rate with its interval; `-` if there was nothing to flag."""
    if not rate.total:
        return "-"
    low, high = rate.interval
    return f"{rate.flagged}/{rate.total} {100 * rate.rate:.1f} % ({100 * low:.1f}-{100 * high:.1f})"
