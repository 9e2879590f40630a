"""Measurements: receipts that say how an uncertainty was measured, of which words, and from what."""

from collections.abc import Iterator, Sequence
from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Label
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.values import Method, shown
from beliefd.protocol.operation import PAGE, SESSION, Answer, Vocabulary, reads, writes

SHOWN: Final = 20
"""So many of a row of numbers are told; all of them stand in the event."""
MEASUREMENT: Final = f"{SESSION}/measurements/{{measurement_id}}"


class MeasurementView(Answer, frozen=True):
    """A receipt. `label` is what it is worth to who asks, or to who proposes: whose answers they are counts.

    `k` answers were compared, which `material` is the digest of; `words` is the digest of the statement.
    `numbers` says what was measured where that are no answers: log-probabilities, a stated confidence and the
    pairs that calibrate it, class probabilities. Of long rows it tells the first.
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
    numbers: list[str] = []


class MeasurementPage(Answer, frozen=True):
    """With their words, and without their answers and numbers."""

    measurements: list[MeasurementView]
    next: str | None = None


def numbers_told(command: Measure, who: str) -> list[str]:
    """What was measured that is not in words, and who chose what it is compared with."""
    return [*_confidence_told(command, who), *_conformal_told(command)]


def _confidence_told(command: Measure, who: str) -> Iterator[str]:
    if (given := command.confidence) is None:
        return
    if given.token_logprobs is not None:
        yield f"{len(given.token_logprobs)} log-probabilities of tokens: {_row(given.token_logprobs)}"
    else:
        yield f"a stated confidence of {given.stated:g}"
    if (known := given.calibration) is not None:
        pairs = [
            f"{confidence:g} {'right' if right else 'wrong'}"
            for confidence, right in zip(known.confidences, known.correct, strict=False)
        ]
        right = sum(known.correct)
        yield f"calibrated by {len(pairs)} pairs that {shown(who)} gave, {right} of them right: {_row(pairs)}"


def _conformal_told(command: Measure) -> Iterator[str]:
    if (given := command.conformal) is None:
        return
    yield f"probabilities of {len(given.probabilities)} labels: {_row(given.probabilities)}"
    group = f", group {shown(given.group)}" if given.group else ""
    yield f"calibrated by the kept set {shown(given.calibration_set)}, alpha {given.alpha:g}{group}"


def _row(values: Sequence[object]) -> str:
    told = ", ".join([f"{one:g}" if isinstance(one, float) else str(one) for one in values[:SHOWN]])
    return told if len(values) <= SHOWN else f"{told} and {len(values) - SHOWN} more"


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
