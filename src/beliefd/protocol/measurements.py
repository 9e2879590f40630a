"""Measurements: receipts that say how an uncertainty was measured, of which words, and from what."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.values import Method
from beliefd.protocol.operation import PAGE, SESSION, Answer, Vocabulary, reads, writes

MEASUREMENT: Final = f"{SESSION}/measurements/{{measurement_id}}"


class MeasurementView(Answer, frozen=True):
    """A receipt. `label` is what it is worth to who asks, or to who proposes: whose answers they are counts.

    `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement.
    """

    measurement_id: str
    statement: str
    method: Method
    value: float
    label: Label
    how: str
    interpretation: str
    judge: str
    k: int
    model: str
    question: str
    answers: list[str]
    failed: bool
    material: str
    words: str
    measured_by: str
    measured_at: str
    witnesses: list[str]
    audit_event_id: str


class MeasurementPage(Answer, frozen=True):
    """With their words and without their answers."""

    measurements: list[MeasurementView]
    next: str | None = None


class MeasurementRows(Vocabulary):
    """Receipts of measured uncertainty, which claims cite"""

    measure = writes(
        f"{SESSION}/measurements",
        Measure,
        MeasurementView,
        "Measure how uncertain a statement is, and keep a receipt that claims can cite",
        status=201,
        example={
            "statement": "the pool ran out of connections",
            "method": "semantic_entropy",
            "answers": ["the pool is exhausted", "the pool ran out", "no connections were left in the pool"],
        },
    )
    list_measurements = reads(
        f"{SESSION}/measurements", MeasurementPage, "The receipts of a session", query=PAGE
    )
    show_measurement = reads(
        MEASUREMENT,
        MeasurementView,
        "One receipt with its answers",
        errors=(Code.MEASUREMENT_NOT_FOUND,),
    )
