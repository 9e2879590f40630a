"""`beliefd calibration`: sets for conformal prediction, kept on a server or in a store."""

import sys
from pathlib import Path
from typing import Any

import click

from beliefd.cli.judging import EXITS
from beliefd.cli.target import Target, target_options

NAME = click.argument("name")
FILE = click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))

VERSION = click.option("--version", type=click.IntRange(1), help="The newest, unless given.")


@click.group()
def calibration() -> None:
    """Keep calibration sets, and predict by their name."""


@calibration.command()
@NAME
@FILE
@click.option("--model", required=True, metavar="ID", help="Whose answers the scores are of.")
@click.option("--score", type=click.Choice(["lac", "aps"]), default="lac", show_default=True)
@target_options
def put(target: Target, name: str, path: Path, model: str, score: str) -> None:
    """Keep what FILE holds as NAME: `scores`, or `probabilities` with `labels`; perhaps `groups`."""
    from beliefd.cli import uncertainty_views

    given = _read(path)
    answer = target.ask(
        lambda calls: calls.store_calibration(name, model=model, score=score, **given), create=True
    )
    target.show(answer, uncertainty_views.calibration)


@calibration.command()
@NAME
@FILE
@target_options
def append(target: Target, name: str, path: Path) -> None:
    """Add what FILE holds to NAME. Tells if it does not look like what was there."""
    from beliefd.cli import uncertainty_views

    given = _read(path)
    target.show(
        target.ask(lambda calls: calls.append_calibration(name, **given)), uncertainty_views.calibration
    )


@calibration.command()
@NAME
@VERSION
@target_options
def show(target: Target, name: str, version: int | None) -> None:
    """What NAME is about, and how small an alpha it allows."""
    from beliefd.cli import uncertainty_views

    answer = target.ask(lambda calls: calls.show_calibration(name, version=version))
    target.show(answer, uncertainty_views.calibration)


@calibration.command()
@NAME
@FILE
@click.option("--alpha", type=click.FloatRange(0.0001, 0.9999), default=0.1, show_default=True)
@VERSION
@target_options
def predict(target: Target, name: str, path: Path, alpha: float, version: int | None) -> None:
    """Which labels cannot be ruled out for the `probabilities` in FILE. Exits 3 if it should wait."""
    from beliefd.cli import uncertainty_views
    from beliefd.kernel.errors import invalid

    given = _read(path)
    if "probabilities" not in given:
        raise invalid("`probabilities` is missing", "$.probabilities")
    row = given.pop("probabilities")
    given |= {"alpha": alpha, "version": version}
    answer = target.ask(lambda calls: calls.measure_conformal_set(row, name, **given))
    target.show(answer, uncertainty_views.measured)
    sys.exit(EXITS[answer.gate_recommendation])


def _read(path: Path) -> dict[str, Any]:
    from beliefd.documents import read_document
    from beliefd.kernel.errors import invalid

    document = read_document(path)
    known = {"scores", "probabilities", "labels", "groups", "group", "recent"}
    if not isinstance(document, dict) or not document.keys() <= known:
        raise invalid(f"`{path}` must be an object with some of {', '.join(sorted(known))}", "$")
    return document
