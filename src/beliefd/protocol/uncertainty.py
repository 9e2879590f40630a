"""Uncertainty: raw material for the four methods, what comes of it, and kept calibration sets."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.claims.bundle import Recommendation
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Id, JudgeName, Method, Note, Unit, Value
from beliefd.protocol.operation import OPERATORS, Answer, Operation, Parameter, Vocabulary, asks, reads

MAX_ANSWERS = 200
MAX_TOKENS = 100_000
MAX_LABELS = 10_000
MAX_SCORES = 1_000_000
MAX_STORED = 100_000

Answers = Annotated[tuple[Note, ...], Meta(min_length=2, max_length=MAX_ANSWERS)]
LogProbability = Annotated[float, Meta(le=0.0)]
Tokens = Annotated[tuple[LogProbability, ...], Meta(min_length=1, max_length=MAX_TOKENS)]
Row = Annotated[tuple[Unit, ...], Meta(min_length=2, max_length=MAX_LABELS)]
Version = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
ScoreKind = Literal["lac", "aps"]
Scores = Annotated[tuple[float, ...], Meta(max_length=MAX_SCORES)]

CALIBRATION: Final = "/v1/calibrations/{name}"
LABELLED: Final[dict[str, Any]] = {
    "probabilities": [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6], [0.4, 0.5, 0.1]],
    "labels": [0, 1, 2, 0],
}


class MeasureSemanticEntropy(Value, frozen=True):
    """Sampled answers to one question. With log-probabilities of their tokens, likely answers weigh more.

    Without a `judge` it is the one that the server was started with.

    `nearest_neighbour` looks at how alike the wordings are instead of counting meanings.
    """

    answers: Answers
    judge: JudgeName | None = None
    kind: Literal["clusters", "nearest_neighbour"] = "clusters"
    token_logprobs: Annotated[tuple[Tokens, ...], Meta(max_length=MAX_ANSWERS)] | None = None


class MeasureModelDisagreement(Value, frozen=True):
    """Answers of several models, or of one model at several temperatures."""

    answers: Answers
    judge: JudgeName | None = None


class LabelledConfidences(Value, frozen=True):
    """Confidences of answers that are known to be right or wrong."""

    confidences: Annotated[tuple[Unit, ...], Meta(max_length=MAX_SCORES)]
    correct: Annotated[tuple[bool, ...], Meta(max_length=MAX_SCORES)]
    kind: Literal["temperature", "isotonic"] = "temperature"


class MeasureConfidence(Value, frozen=True):
    """A stated confidence or the log-probabilities of an answer's tokens, and what to calibrate it with."""

    confidence: Unit | None = None
    token_logprobs: Tokens | None = None
    calibration: LabelledConfidences | None = None


class ConformalCalibration(Value, frozen=True):
    """Class probabilities of questions whose label is known, by its place in the row."""

    probabilities: Annotated[tuple[Row, ...], Meta(max_length=MAX_SCORES)]
    labels: Annotated[tuple[Annotated[int, Meta(ge=0, lt=MAX_LABELS)], ...], Meta(max_length=MAX_SCORES)]
    groups: Annotated[tuple[Id, ...], Meta(max_length=MAX_SCORES)] | None = None


class MeasureConformalSet(Value, frozen=True):
    """Class probabilities of a new question, and the set to calibrate with: given, or the name of a kept one.

    Of a kept set the newest version is used, unless one is named.
    `recent` are nonconformity scores seen lately, to be warned when they have drifted.
    """

    probabilities: Row
    calibration: ConformalCalibration | None = None
    calibration_set: Id | None = None
    calibration_version: Version | None = None
    labels: Annotated[tuple[Id, ...], Meta(max_length=MAX_LABELS)] | None = None
    group: Id | None = None
    alpha: Annotated[float, Meta(ge=0.0001, le=0.9999)] = 0.1
    score: ScoreKind | None = None
    recent: Scores = ()


class AppendCalibration(Value, frozen=True):
    """More for a calibration set: class probabilities with known labels, or the scores themselves."""

    name: Id
    probabilities: Annotated[tuple[Row, ...], Meta(max_length=MAX_STORED)] | None = None
    labels: (
        Annotated[tuple[Annotated[int, Meta(ge=0, lt=MAX_LABELS)], ...], Meta(max_length=MAX_STORED)] | None
    ) = None
    scores: Annotated[tuple[Unit, ...], Meta(max_length=MAX_STORED)] | None = None
    groups: Annotated[tuple[Id, ...], Meta(max_length=MAX_STORED)] | None = None


class StoreCalibration(AppendCalibration, frozen=True, kw_only=True):
    """A calibration set to keep, and whose answers it is about. The score is chosen once, for good."""

    model: Id
    score: ScoreKind = "lac"


class CalibrationAnswer(Answer, frozen=True):
    """A kept calibration set. `least_alpha` is the smallest that its size, or its smallest group, allows."""

    name: str
    model: str
    score: ScoreKind
    version: int
    sha256: str
    created_at: str
    count: int
    groups: dict[str, int]
    least_alpha: float
    warning: str | None


class MeasuredUncertainty(Answer, frozen=True):
    """The contract's four fields, and how they came about. `clusters` holds places in `answers`.

    `calibration` is the hash of the version of the kept set that was used.
    """

    method: Method
    value: float
    interpretation: str
    gate_recommendation: Recommendation
    measured: bool
    clusters: list[list[int]]
    nats: float | None
    judge: str | None
    judge_calls: int
    labels: list[str] | None
    warning: str | None
    calibration: str | None


class UncertaintyRows(Vocabulary):
    """How sure one may be, measured instead of declared"""

    measure_semantic_entropy = asks(
        "/v1/uncertainty/semantic_entropy",
        MeasureSemanticEntropy,
        MeasuredUncertainty,
        "How many meanings sampled answers have",
        example={"answers": ["Paris", "It is Paris", "Lyon"], "judge": "lexical"},
    )
    measure_model_disagreement = asks(
        "/v1/uncertainty/model_disagreement",
        MeasureModelDisagreement,
        MeasuredUncertainty,
        "How far the answers of several models are apart",
        example={"answers": ["yes", "no", "maybe"]},
    )
    measure_confidence = asks(
        "/v1/uncertainty/confidence_score",
        MeasureConfidence,
        MeasuredUncertainty,
        "What a confidence is worth, calibrated if labelled answers are given",
        example={"token_logprobs": [-0.02, -0.4, -0.11]},
    )
    measure_conformal_set = asks(
        "/v1/uncertainty/conformal_set",
        MeasureConformalSet,
        MeasuredUncertainty,
        "Which labels cannot be ruled out, with coverage that holds for finite samples",
        errors=(Code.NOT_FOUND,),
        example={
            "probabilities": [0.7, 0.2, 0.1],
            "labels": ["bad_deploy", "disk_full", "replication_lag"],
            "alpha": 0.2,
            "calibration": LABELLED,
        },
    )
    store_calibration = Operation(
        method="PUT",
        path=CALIBRATION,
        body=StoreCalibration,
        answer=CalibrationAnswer,
        roles=OPERATORS,
        errors=(Code.CONFLICT,),
        summary="Keep a calibration set under a name, in place of the one before",
        example={"model": "classifier-7", **LABELLED},
    )
    append_calibration = Operation(
        method="POST",
        path=CALIBRATION,
        body=AppendCalibration,
        answer=CalibrationAnswer,
        roles=OPERATORS,
        errors=(Code.CONFLICT, Code.NOT_FOUND),
        summary="Add to a calibration set, and be warned if what is added looks different",
        example={"probabilities": [[0.6, 0.3, 0.1]], "labels": [0]},
    )
    show_calibration = reads(
        CALIBRATION,
        CalibrationAnswer,
        "What a calibration set is about, and how small an alpha it allows",
        query=(Parameter(name="version", kind=Version, summary="The newest when left out"),),
        errors=(Code.NOT_FOUND,),
    )
