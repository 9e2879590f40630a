"""`beliefd calibration`: sets for conformal prediction, kept on a server or in a store."""

from pathlib import Path
from typing import Any

import click
from click import argument, option

from beliefd.cli.options import FILE_PATH
from beliefd.cli.output import DECISION_EXITS
from beliefd.cli.target import Question, asks
from beliefd.kernel.errors import invalid

NAME = argument("name")
FILE = argument("path", metavar="FILE", type=FILE_PATH)
VERSION = option("--version", type=click.IntRange(1), help="The newest, unless given.")


@click.group()
def calibration() -> None:
    """Keep calibration sets, and predict by their name."""


@asks(
    calibration,
    NAME,
    FILE,
    option("--model", required=True, metavar="ID", help="Whose answers the scores are of."),
    option("--score", type=click.Choice(["lac", "aps"]), default="lac", show_default=True),
    create=True,
)
def put(name: str, path: Path, **about: Any) -> Question:
    """Keep what FILE holds as NAME: `scores`, or `probabilities` with `labels`; perhaps `groups`."""
    given = _read(path)
    return lambda calls: calls.store_calibration(name, **about, **given)


@asks(calibration, NAME, FILE)
def append(name: str, path: Path) -> Question:
    """Add what FILE holds to NAME. Tells if it does not look like what was there."""
    given = _read(path)
    return lambda calls: calls.append_calibration(name, **given)


@asks(calibration, NAME, VERSION)
def show(name: str, version: int | None) -> Question:
    """What NAME is about, and how small an alpha it allows."""
    return lambda calls: calls.show_calibration(name, version=version)


@asks(
    calibration,
    NAME,
    FILE,
    option("--alpha", type=click.FloatRange(0.0001, 0.9999), default=0.1, show_default=True),
    VERSION,
    exits=lambda answer: DECISION_EXITS[answer.gate_recommendation],
)
def predict(name: str, path: Path, **asked: Any) -> Question:
    """Which labels cannot be ruled out for the `probabilities` in FILE. Exits 3 if it should wait."""
    given = _read(path)
    if "probabilities" not in given:
        raise invalid("`probabilities` is missing", "$.probabilities")
    row = given.pop("probabilities")
    return lambda calls: calls.measure_conformal_set(row, name, **given, **asked)


def _read(path: Path) -> dict[str, Any]:
    from beliefd.documents import read_document

    document = read_document(path)
    known = {"scores", "probabilities", "labels", "groups", "group", "recent"}
    if not isinstance(document, dict) or not document.keys() <= known:
        raise invalid(f"`{path}` must be an object with some of {', '.join(sorted(known))}", "$")
    return document
