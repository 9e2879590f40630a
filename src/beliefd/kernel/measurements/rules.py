"""How a receipt comes to be. There is no other way: a caller can name one, and never make one up."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.measurements.commands import MATERIALS, Measure
from beliefd.kernel.measurements.events import Measured
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.measurements.receipts import receipt
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules


def measure(_: Session, command: Measure, facts: Facts) -> Measured | Refused:
    found = facts.findings
    if not isinstance(found, MeasurementFindings):
        return refused(Code.INVALID_REQUEST, "nothing was measured", "$")
    if found.problem:
        return refused(Code.INVALID_REQUEST, found.problem, found.path)
    material = next(given for name in MATERIALS if (given := getattr(command, name)) is not None)
    name = f"msr-{facts.event_id}"
    return Measured(measurement=receipt(name, command.method, command.statement, found, material, facts))


RULES: Final[Rules] = {Measure: measure}
