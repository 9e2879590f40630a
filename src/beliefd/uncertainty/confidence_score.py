"""Confidence score: what a model says or implies about itself, and how much of that is true.

A raw confidence is often too high. With labelled answers it is calibrated, by a temperature on its logit
(Guo et al., 2017) or by isotonic regression (Zadrozny and Elkan, 2002), and the expected calibration error
says how far confidence and accuracy were apart.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import invalid
from beliefd.uncertainty.result import DEFAULT_POLICY, Measured, stated

METHOD: Final = "confidence_score"
MIN_CALIBRATION: Final = 20
BINS: Final = 10
_EDGE: Final = 1e-6
_GOLDEN: Final = (math.sqrt(5) - 1) / 2


class Bin(Struct, frozen=True):
    """One bar of a reliability diagram."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


class Temperature(Struct, frozen=True):
    """Divides the logit: above 1 it takes confidence back, below 1 it adds some."""

    temperature: float
    kind: str = "temperature"

    def apply(self, confidence: float) -> float:
        return _logistic(_logit(confidence) / self.temperature)


class Isotonic(Struct, frozen=True):
    """A rising staircase: `values[i]` holds from `starts[i]` on."""

    starts: tuple[float, ...]
    values: tuple[float, ...]
    kind: str = "isotonic"

    def apply(self, confidence: float) -> float:
        return self.values[max(0, bisect_right(self.starts, confidence) - 1)]


Calibration = Temperature | Isotonic


def confidence_score(
    confidence: float | None = None,
    token_logprobs: Sequence[float] | None = None,
    calibration: Calibration | None = None,
    policy: UncertaintyPolicy = DEFAULT_POLICY,
) -> Measured:
    """One minus a confidence: a stated one, or the geometric mean of the tokens' probabilities."""
    if (confidence is None) == (token_logprobs is None):
        raise invalid("give either `confidence` or `token_logprobs`", "$.confidence")
    if token_logprobs is not None:
        raw, source = from_tokens(token_logprobs), f"{len(token_logprobs)} token log-probabilities"
    else:
        raw, source = _checked(confidence), "a stated confidence"
    if calibration is None:
        said = f"confidence {raw:.3f} from {source}, not calibrated: models tend to be overconfident"
        told = stated(METHOD, 1 - raw, said, policy)
        return Measured(uncertainty=told, measured=token_logprobs is not None)
    trusted = calibration.apply(raw)
    said = f"confidence {trusted:.3f} from {source} of {raw:.3f}, calibrated ({calibration.kind})"
    return Measured(uncertainty=stated(METHOD, 1 - trusted, said, policy))


def from_tokens(token_logprobs: Sequence[float]) -> float:
    if not token_logprobs:
        raise invalid("an answer has no tokens", "$.token_logprobs")
    for place, value in enumerate(token_logprobs):
        if not math.isfinite(value) or value > 0:
            raise invalid("a log-probability is finite and not above 0", f"$.token_logprobs[{place}]")
    return math.exp(math.fsum(token_logprobs) / len(token_logprobs))


def fit_temperature(confidences: Sequence[float], correct: Sequence[bool]) -> Temperature:
    """The temperature of least log loss, by golden section on its logarithm."""
    check_calibration(confidences, correct)
    logits = [_logit(confidence) for confidence in confidences]

    def loss(log_temperature: float) -> float:
        scale = math.exp(-log_temperature)
        return math.fsum(
            _softplus(-logit * scale) if right else _softplus(logit * scale)
            for logit, right in zip(logits, correct, strict=True)
        )

    low, high = math.log(0.05), math.log(20.0)
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    inner_loss, outer_loss = loss(inner), loss(outer)
    while high - low > 1e-6:
        if inner_loss < outer_loss:
            high, outer, outer_loss = outer, inner, inner_loss
            inner = high - _GOLDEN * (high - low)
            inner_loss = loss(inner)
        else:
            low, inner, inner_loss = inner, outer, outer_loss
            outer = low + _GOLDEN * (high - low)
            outer_loss = loss(outer)
    return Temperature(math.exp((low + high) / 2))


def fit_isotonic(confidences: Sequence[float], correct: Sequence[bool]) -> Isotonic:
    """Pool adjacent violators: the rising staircase of least squares."""
    check_calibration(confidences, correct)
    tied: dict[float, list[int]] = {}
    for confidence, right in zip(confidences, correct, strict=True):
        tied.setdefault(confidence, []).append(int(right))
    blocks: list[tuple[float, float, int]] = []  # where it starts, sum, count
    for start in sorted(tied):
        block = (start, float(sum(tied[start])), len(tied[start]))
        while blocks and blocks[-1][1] / blocks[-1][2] >= block[1] / block[2]:
            before = blocks.pop()
            block = (before[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    return Isotonic(tuple(block[0] for block in blocks), tuple(block[1] / block[2] for block in blocks))


def reliability(confidences: Sequence[float], correct: Sequence[bool], bins: int = BINS) -> tuple[Bin, ...]:
    """Bins of equal width with what was claimed and what was true; empty bins are left out."""
    members: dict[int, list[int]] = {}
    for place, confidence in enumerate(confidences):
        members.setdefault(min(bins - 1, int(_checked(confidence) * bins)), []).append(place)
    return tuple(
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=len(places),
            confidence=math.fsum(confidences[place] for place in places) / len(places),
            accuracy=sum(correct[place] for place in places) / len(places),
        )
        for number, places in sorted(members.items())
    )


def expected_calibration_error(
    confidences: Sequence[float], correct: Sequence[bool], bins: int = BINS
) -> float:
    """Mean distance of accuracy from confidence, weighted by the bins' sizes (Naeini et al., 2015)."""
    found = reliability(confidences, correct, bins)
    return math.fsum(one.count * abs(one.accuracy - one.confidence) for one in found) / len(confidences)


def check_calibration(confidences: Sequence[float], correct: Sequence[bool]) -> None:
    """Refuse sets from which nothing could be learnt."""
    if len(confidences) != len(correct):
        raise invalid(f"{len(confidences)} confidences, but {len(correct)} labels", "$.calibration")
    if len(confidences) < MIN_CALIBRATION:
        raise invalid(
            f"{len(confidences)} labelled answers are too few to calibrate; give at least {MIN_CALIBRATION}",
            "$.calibration",
        )
    if len(set(correct)) < 2:
        raise invalid("all labels are the same; calibration needs right and wrong answers", "$.calibration")
    for place, confidence in enumerate(confidences):
        if not math.isfinite(confidence):
            raise invalid(f"`{confidence}` is no finite number", f"$.calibration.confidences[{place}]")
    for confidence in confidences:
        _checked(confidence)


def _checked(confidence: float | None) -> float:
    if confidence is None or not 0 <= confidence <= 1:
        raise invalid(f"`{confidence}` is no confidence between 0 and 1", "$.confidence")
    return confidence


def _logit(confidence: float) -> float:
    bounded = min(1 - _EDGE, max(_EDGE, confidence))
    return math.log(bounded / (1 - bounded))


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
