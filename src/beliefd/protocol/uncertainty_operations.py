"""The rows of measuring uncertainty, of which nothing is recorded, and those of kept calibration sets."""

from typing import Any, Final

from beliefd.kernel.errors import Code
from beliefd.protocol import uncertainty_messages as messages
from beliefd.protocol.operation import OPERATORS, Operation, Parameter

CALIBRATION_PATH: Final = "/v1/calibrations/{name}"


def _measuring(name: str, method: str, body: Any, summary: str, errors: tuple[Code, ...] = ()) -> Operation:
    return Operation(
        name=name,
        tag="uncertainty",
        method="POST",
        path=f"/v1/uncertainty/{method}",
        body=body,
        answer=messages.MeasuredUncertainty,
        summary=summary,
        errors=errors,
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
        errors=(Code.NOT_FOUND,),
    ),
    Operation(
        name="store_calibration",
        tag="uncertainty",
        method="PUT",
        path=CALIBRATION_PATH,
        body=messages.StoreCalibration,
        answer=messages.CalibrationAnswer,
        roles=OPERATORS,
        errors=(Code.CONFLICT,),
        summary="Keep a calibration set under a name, in place of the one before",
    ),
    Operation(
        name="append_calibration",
        tag="uncertainty",
        method="POST",
        path=CALIBRATION_PATH,
        body=messages.AppendCalibration,
        answer=messages.CalibrationAnswer,
        roles=OPERATORS,
        errors=(Code.CONFLICT, Code.NOT_FOUND),
        summary="Add to a calibration set, and be warned if what is added looks different",
    ),
    Operation(
        name="show_calibration",
        tag="uncertainty",
        method="GET",
        path=CALIBRATION_PATH,
        answer=messages.CalibrationAnswer,
        query=(Parameter(name="version", kind=messages.Version, summary="The newest when left out"),),
        errors=(Code.NOT_FOUND,),
        summary="What a calibration set is about, and how small an alpha it allows",
    ),
)
