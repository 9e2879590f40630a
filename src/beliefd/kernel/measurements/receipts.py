"""Making a receipt."""

from typing import Any

import msgspec

from beliefd.kernel.canonical import digest
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import SERVER, statement_of
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.measurements.state import Measurement, gist_digest, words_digest
from beliefd.kernel.values import Method


def receipt(
    name: str, method: Method, statement: str, found: MeasurementFindings, material: Any, facts: Facts
) -> Measurement:
    """INVARIANT: who drew the answers makes it witnessed: the server, by a question that nobody chose, or
    somebody who is no agent."""
    who = facts.principal
    witnesses = (SERVER,) if found.answers and not found.own_question else statement_of(who)
    return Measurement(
        measurement_id=name,
        event_id=facts.event_id,
        method=method,
        value=found.value,
        k=found.k,
        material=digest(msgspec.to_builtins(found.answers or material)),
        words=words_digest(statement),
        gist=gist_digest(statement),
        measured_by=who.id,
        measured_at=facts.now,
        interpretation=found.interpretation,
        judge=found.judge,
        model=found.model,
        witnesses=witnesses,
        failed=found.failed,
    )
