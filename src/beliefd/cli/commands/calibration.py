"""`beliefd calibration`: sets for conformal prediction, kept on a server or in a store."""

from typing import Any

import click
from click import argument, option

from beliefd.cli.files import read_members
from beliefd.cli.options import FILE
from beliefd.cli.output import DECISION_EXITS
from beliefd.cli.target import Question, asks

NAME = argument("name")
A_SET = "a calibration set is an object with `scores`, or with `probabilities` and `labels`"
A_ROW = "what to predict is an object with `probabilities`"
VERSION = option("--version", type=click.IntRange(1), help="The newest, unless given.")
calibration = click.Group("calibration", help="Keep calibration sets, and predict by their name.")


@asks(
    calibration,
    NAME,
    FILE,
    option("--model", required=True, metavar="ID", help="Whose answers the scores are of."),
    option("--score", type=click.Choice(["lac", "aps"]), default="lac", show_default=True),
    create=True,
)
def put(name: str, path: str, **about: Any) -> Question:
    """Keep what FILE holds as NAME: `scores`, or `probabilities` with `labels`; perhaps `groups`."""
    from beliefd.protocol.uncertainty import StoreCalibration

    given = read_members(path, A_SET, StoreCalibration, name=name, **about)
    return lambda calls: calls.store_calibration(name, **about, **given)


@asks(calibration, NAME, FILE)
def append(name: str, path: str) -> Question:
    """Add what FILE holds to NAME. Warns if it differs from what was there."""
    from beliefd.protocol.uncertainty import AppendCalibration

    given = read_members(path, A_SET, AppendCalibration, name=name)
    return lambda calls: calls.append_calibration(name, **given)


@asks(calibration, NAME, VERSION)
def show(name: str, version: int | None) -> Question:
    """What NAME holds, and the smallest alpha that it allows."""
    return lambda calls: calls.show_calibration(name, version=version)


@asks(
    calibration,
    NAME,
    FILE,
    option("--alpha", type=click.FloatRange(0.0001, 0.9999), default=0.1, show_default=True),
    VERSION,
    exits=lambda answer: DECISION_EXITS[answer.gate_recommendation],
)
def predict(name: str, path: str, **asked: Any) -> Question:
    """Which labels cannot be ruled out for the `probabilities` in FILE. Exits 3 if it should wait."""
    from beliefd.protocol.uncertainty import MeasureConformalSet

    given = read_members(
        path,
        A_ROW,
        MeasureConformalSet,
        calibration=None,
        calibration_set=name,
        calibration_version=asked["version"],
        alpha=asked["alpha"],
    )
    row = given.pop("probabilities")
    return lambda calls: calls.measure_conformal_set(row, name, **given, **asked)
