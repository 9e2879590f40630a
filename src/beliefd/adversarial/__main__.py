"""`python -m beliefd.adversarial [FILE] [--json]`: measure the built-in detector on labelled text."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from beliefd.adversarial.evaluate import BadItem, Rate, Report, corpus, evaluate, read_items


def _numbers(rate: Rate) -> dict[str, Any]:
    low, high = rate.interval
    return {"flagged": rate.flagged, "total": rate.total, "rate": rate.rate, "interval": [low, high]}


def _both(hits: Rate, false_alarms: Rate) -> dict[str, Any]:
    return {"hits": _numbers(hits), "false_alarms": _numbers(false_alarms)}


def as_json(report: Report) -> dict[str, Any]:
    return {
        "detector": report.detector,
        "threshold": report.threshold,
        "totals": [
            {"split": split, **_both(report.total(split, "hostile"), report.total(split, "benign"))}
            for split in report.splits
        ],
        "kinds": [
            {"split": row.split, "label": row.label, "kind": row.kind, **_numbers(row.flagged)}
            for row in report.rows
        ],
        "sweep": [
            {"split": step.split, "threshold": step.threshold, **_both(step.hits, step.false_alarms)}
            for step in report.sweep
        ],
    }


def _shown(rate: Rate) -> tuple[str, str]:
    low, high = rate.interval
    return (
        f"{rate.flagged}/{rate.total}",
        f"{rate.rate:6.1%}  ({low:.1%} to {high:.1%})" if rate.total else "-",
    )


def print_tables(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    # Piped output has no terminal to fit into: no figure may be cut off.
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    console.print(
        f"{report.detector}, flagged above {report.threshold:.2f}; 95 % Wilson intervals in brackets"
    )
    kinds = Table("split", "label", "kind", "flagged", "rate", title="by kind")
    for split in report.splits:
        for label in ("hostile", "benign"):
            for row in report.rows:
                if (row.split, row.label) == (split, label):
                    kinds.add_row(split, label, row.kind, *_shown(row.flagged))
            name = "hit rate" if label == "hostile" else "false alarms"
            kinds.add_row(
                split, label, name, *_shown(report.total(split, label)), style="bold", end_section=True
            )
    console.print(kinds)
    sweep = Table(
        "split", "threshold", "hits", "hit rate", "false alarms", "false alarm rate", title="by threshold"
    )
    for step in report.sweep:
        sweep.add_row(step.split, f"{step.threshold:.2f}", *_shown(step.hits), *_shown(step.false_alarms))
    console.print(sweep)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m beliefd.adversarial", description=__doc__)
    parser.add_argument(
        "file", nargs="?", type=Path, help="JSON Lines with text and label; default: our corpus"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(arguments)
    try:
        if options.file is None:
            items = corpus()
        else:
            items = tuple(read_items(options.file.read_text(encoding="utf-8").split("\n")))
    except (OSError, UnicodeDecodeError, BadItem) as error:
        print(f"cannot read `{options.file}`: {error}", file=sys.stderr)
        return 2
    report = evaluate(items)
    if options.json:
        print(json.dumps(as_json(report), indent=2))
    else:
        print_tables(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
