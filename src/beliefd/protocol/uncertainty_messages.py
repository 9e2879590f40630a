"""Raw material for the four uncertainty methods, and what comes of it (claim-bundle, uncertainty methods)."""

from typing import Annotated, Literal

from msgspec import Meta

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.claims.bundle import Method, Recommendation
from beliefd.kernel.values import Id, Note, Unit, Value
from beliefd.protocol.answers import Answer

MAX_ANSWERS = 200
MAX_TOKENS = 100_000
MAX_LABELS = 10_000
MAX_SCORES = 1_000_000
MAX_STORED = 100_000

Answers = Annotated[tuple[Note, ...], Meta(min_length=2, max_length=MAX_ANSWERS)]
LogProbability = Annotated[float, Meta(le=0.0)]
Tokens = Annotated[tuple[LogProbability, ...], Meta(min_length=1, max_length=MAX_TOKENS)]
Judge = Literal["lexical", "embedding", "nli", "llm"]
Row = Annotated[tuple[Unit, ...], Meta(min_length=2, max_length=MAX_LABELS)]
Version = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
ScoreKind = Literal["lac", "aps"]
Scores = Annotated[tuple[float, ...], Meta(max_length=MAX_SCORES)]


class MeasureSemanticEntropy(Value, frozen=True):
    """Sampled answers to one question. With log-probabilities of their tokens, likely answers weigh more.

    `nearest_neighbour` looks at how alike the wordings are instead of counting meanings.
    """

    answers: Answers
    judge: Judge = "lexical"
    kind: Literal["clusters", "nearest_neighbour"] = "clusters"
    token_logprobs: Annotated[tuple[Tokens, ...], Meta(max_length=MAX_ANSWERS)] | None = None


class MeasureModelDisagreement(Value, frozen=True):
    """Answers of several models, or of one model at several temperatures."""

    answers: Answers
    judge: Judge = "lexical"


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
