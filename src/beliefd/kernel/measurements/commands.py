"""What can be asked about measurements."""

from typing import Annotated, Final

import msgspec

from beliefd.kernel.claims.bundle import Samples
from beliefd.kernel.values import Id, Method, Text, Unit, Value

MAX_TOKENS: Final = 20_000
MIN_LABELLED: Final = 20
MAX_LABELLED: Final = 5_000
MAX_LABELS: Final = 1_000
MAX_ASKED: Final = 20
FROM_ANSWERS: Final[tuple[Method, ...]] = ("semantic_entropy", "model_disagreement")
MATERIALS: Final = ("answers", "asked", "confidence", "conformal")

LogProbability = Annotated[float, msgspec.Meta(le=0.0, ge=-1e6)]
Tokens = Annotated[tuple[LogProbability, ...], msgspec.Meta(min_length=1, max_length=MAX_TOKENS)]
Probabilities = Annotated[tuple[Unit, ...], msgspec.Meta(min_length=2, max_length=MAX_LABELS)]


class Asked(Value, frozen=True):
    """The server's own model is asked `k` times. Without a `question` it is asked whether the words hold."""

    question: Text | None = None
    k: Annotated[int, msgspec.Meta(ge=2, le=MAX_ASKED)] | None = None


class Labelled(Value, frozen=True):
    """Confidences of earlier answers, and whether those were right."""

    confidences: Annotated[tuple[Unit, ...], msgspec.Meta(min_length=MIN_LABELLED, max_length=MAX_LABELLED)]
    correct: Annotated[tuple[bool, ...], msgspec.Meta(min_length=MIN_LABELLED, max_length=MAX_LABELLED)]


class Confidence(Value, frozen=True):
    """How sure a model is: log-probabilities of its tokens, or a stated number with what calibrates it."""

    token_logprobs: (
        Annotated[tuple[LogProbability, ...], msgspec.Meta(min_length=1, max_length=MAX_TOKENS)] | None
    ) = None
    stated: Unit | None = None
    calibration: Labelled | None = None

    def __post_init__(self) -> None:
        if (self.token_logprobs is None) == (self.stated is None):
            raise ValueError("give either `token_logprobs` or `stated`")
        if self.stated is not None and self.calibration is None:
            raise ValueError("a stated number alone measures nothing: add a `calibration`")


class Conformal(Value, frozen=True):
    """Scores of a classifier, and the kept calibration set that says what they are worth."""

    probabilities: Probabilities
    calibration_set: Id
    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | None = None
    alpha: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.1
    group: Id | None = None


class Measure(Value, frozen=True, tag_field="verb", tag="MEASURE"):
    """Measure how uncertain `statement` is, from one kind of raw material, and keep a receipt of it."""

    statement: Text
    method: Method
    answers: Samples | None = None
    asked: Asked | None = None
    confidence: Confidence | None = None
    conformal: Conformal | None = None

    def __post_init__(self) -> None:
        given = [name for name in MATERIALS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of `answers`, `asked`, `confidence` and `conformal`")
        fits = ("answers", "asked") if self.method in FROM_ANSWERS else (self.method.partition("_")[0],)
        if given[0] not in fits:
            raise ValueError(
                f"{self.method} is measured from `{fits[0]}`, not from `{given[0]}`, in field `method`"
            )
        if self.answers is not None and not any(answer.strip() for answer in self.answers):
            raise ValueError("all answers are empty in field `answers`")


MeasurementCommand = Measure
