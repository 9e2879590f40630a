"""`beliefd measurement`: receipts of measured uncertainty, which claims cite."""

from typing import Any

import click
from click import argument, option

from beliefd.cli.files import read_members
from beliefd.cli.options import CONDITIONS, FILE, SESSION
from beliefd.cli.target import Question, asks

A_MEASUREMENT = "a measurement is an object with `statement`, `method` and what to measure it from"
measurement = click.Group("measurement", help="Measure how uncertain a statement is, and keep a receipt.")


@asks(measurement, SESSION, FILE, CONDITIONS)
def make(session_id: str, path: str, **conditions: Any) -> Question:
    """Measure what FILE holds (JSON or YAML; `-` is stdin), and print the receipt."""
    from beliefd.kernel.measurements.commands import Measure

    body = read_members(path, A_MEASUREMENT, Measure)
    return lambda calls: calls.measure(session_id, **body, **conditions)


@asks(measurement, SESSION, option("--cursor", metavar="ID", help="Continue after this one."))
def list_(session_id: str, **asked: Any) -> Question:
    """The receipts of a session, without their answers."""
    return lambda calls: calls.list_measurements(session_id, **asked)


@asks(measurement, SESSION, argument("measurement_id", metavar="MEASUREMENT"))
def show(session_id: str, measurement_id: str) -> Question:
    """One receipt with its answers, and whose answers they are."""
    return lambda calls: calls.show_measurement(session_id, measurement_id)
