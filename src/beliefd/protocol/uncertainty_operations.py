"""The rows of measuring uncertainty: raw material in, a value with its reason out; nothing is recorded."""

from typing import Any, Final

from beliefd.protocol import uncertainty_messages as messages
from beliefd.protocol.operation import Operation


def _measuring(name: str, method: str, body: Any, summary: str) -> Operation:
    return Operation(
        name=name,
        tag="uncertainty",
        method="POST",
        path=f"/v1/uncertainty/{method}",
        body=body,
        answer=messages.MeasuredUncertainty,
        summary=summary,
    )


UNCERTAINTY_OPERATIONS: Final[tuple[Operation, ...]] = (
    _measuring(
        "measure_semantic_entropy",
        "semantic_entropy",
        messages.MeasureSemanticEntropy,
        "How many meanings sampled answers have",
    ),
    _measuring(
        "measure_model_disagreement",
        "model_disagreement",
        messages.MeasureModelDisagreement,
        "How far the answers of several models are apart",
    ),
    _measuring(
        "measure_confidence",
        "confidence_score",
        messages.MeasureConfidence,
        "What a confidence is worth, calibrated if labelled answers are given",
    ),
    _measuring(
        "measure_conformal_set",
        "conformal_set",
        messages.MeasureConformalSet,
        "Which labels cannot be ruled out, with coverage that holds for finite samples",
    ),
)
