"""`python -m benchmarks [NAME ...] [--quick] [--json]`: run, print the table, fail if a target is missed."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.append import append
from benchmarks.arbitration import arbitration
from benchmarks.archive import archive
from benchmarks.backtest import backtest
from benchmarks.canonical import canonical
from benchmarks.claims import claims
from benchmarks.console import console
from benchmarks.dojo import dojo
from benchmarks.experiments import experiments
from benchmarks.figures import Benchmark, Figure, Run
from benchmarks.gateway import gateway
from benchmarks.hostile import hostile
from benchmarks.http import http
from benchmarks.length import length
from benchmarks.million import million
from benchmarks.permits import permits
from benchmarks.postgres import postgres
from benchmarks.proofs import proofs
from benchmarks.prove import prove
from benchmarks.replay import replay
from benchmarks.scale import scale
from benchmarks.scan import scan
from benchmarks.uncertainty import uncertainty

BENCHMARKS: Final[dict[str, Benchmark]] = {
    "append": append,
    "postgres": postgres,
    "scale": scale,
    "replay": replay,
    "http": http,
    "million": million,
    "length": length,
    "console": console,
    "canonical": canonical,
    "claims": claims,
    "arbitration": arbitration,
    "permits": permits,
    "prove": prove,
    "proofs": proofs,
    "archive": archive,
    "uncertainty": uncertainty,
    "experiments": experiments,
    "scan": scan,
    "hostile": hostile,
    "dojo": dojo,
    "backtest": backtest,
    "gateway": gateway,
}


WIDTH: Final = 150


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark `{min(unknown)}`; there are {', '.join(BENCHMARKS)}")
    progress = Console(stderr=True)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="beliefd-bench-", dir=options.folder) as folder:
        run = Run(Path(folder), options.quick, options.seconds)
        for name in options.names or BENCHMARKS:
            started = time.perf_counter()
            figures += BENCHMARKS[name](run)
            progress.print(f"{name}: {time.perf_counter() - started:.1f} s", highlight=False)
    if options.json:
        print(msgspec.json.format(msgspec.json.encode([_row(figure) for figure in figures])).decode())
    else:
        Console(width=WIDTH).print(_table(figures, judged=not options.quick))
    return 1 if not options.quick and any(figure.met is False for figure in figures) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; all if none"
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to see that it runs: nothing is judged"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="the long form, for so long: `hostile` has one"
    )
    parser.add_argument("--hour", action="store_const", dest="seconds", const=3600.0, help="for an hour")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--folder", type=Path, help="where files go: its disk is the one that is measured")
    return parser


def _row(figure: Figure) -> dict[str, object]:
    row: dict[str, object] = msgspec.to_builtins(figure)
    return {**row, "target": str(figure.target) if figure.target else None, "met": figure.met}


def _table(figures: list[Figure], judged: bool) -> Table:
    table = Table()
    for heading in ("", "what", "ours", "peer's", "unit", "peer", "ratio", "of", "target", "met"):
        table.add_column(heading, justify="right" if heading in ("ours", "peer's", "ratio") else "left")
    for figure in figures:
        table.add_row(
            figure.benchmark,
            figure.what,
            _number(figure.ours),
            _number(figure.peer),
            figure.unit,
            figure.peer_is,
            _number(figure.ratio),
            figure.ratio_is,
            str(figure.target or ""),
            {None: "", True: "yes", False: "no"}[figure.met] if judged else "",
        )
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 0.1 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
