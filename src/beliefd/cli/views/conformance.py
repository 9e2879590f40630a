"""What `beliefd conform` prints: clauses by specification, then what failed and what was not run."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible

if TYPE_CHECKING:
    from beliefd.conformance.report import Report

STYLES = {"passed": "green", "failed": "bold red", "not run": "yellow"}


def conformed(report: "Report") -> RenderableType:
    return Group(*_lines(report))


def _lines(report: "Report") -> Iterator[Text]:
    for title, clauses in groupby(report.clauses, lambda clause: clause.specification):
        yield Text(title, style="bold")
        for clause in clauses:
            vectors = ", ".join(clause.vectors)
            words = f"{clause.section:<16}{clause.says}"
            yield Text.assemble(
                "  ", (f"{clause.state:<9}", STYLES[clause.state]), words, (f"  {vectors}", "dim")
            )
    for check in report.checks:
        if check.state == "failed":
            yield Text.assemble(("failed ", STYLES["failed"]), visible(f"{check.reason}"))
    not_run = [check for check in report.checks if check.state == "not run"]
    for reason, several in groupby(sorted(not_run, key=lambda one: one.reason or ""), lambda one: one.reason):
        yield Text.assemble(("not run ", STYLES["not run"]), f"{len(list(several))} vectors: {reason}")
    yield _summary(report)


def _summary(report: "Report") -> Text:
    def counted(states: list[str]) -> str:
        return f"{states.count('passed')} of {len(states)}"

    clauses = counted([one.state for one in report.clauses])
    vectors = counted([one.state for one in report.checks])
    return Text(f"{visible(report.of)}: {clauses} clauses shown, {vectors} vectors passed")
