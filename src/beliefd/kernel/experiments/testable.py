"""A claim as it is given to whoever designs an experiment for it: numbers and ids, no prose."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from beliefd.kernel.errors import invalid
from beliefd.kernel.experiments.plan import DEFAULT_ALPHA, Budget, Finite, Near, Ordered, UnitName, Within
from beliefd.kernel.experiments.prediction import Prediction, within
from beliefd.kernel.values import Id, Value

Tolerance = Annotated[float, msgspec.Meta(gt=0, le=1.7976931348623157e308)]
Observed = Annotated[tuple[Finite, ...], msgspec.Meta(max_length=5_000)]
DEFAULT_TOLERANCE: Final = 0.1


class TestableClaim(Value, frozen=True):
    """That the mean of a quantity lies in a region; and what has been observed of it.

    The region is `claimed_value`, give or take `tolerance`, unless another `region` is given. If `observed`
    names observations, the values are theirs, and a plan names them too.
    """

    __test__ = False  # its name begins like that of a test, and it is none

    claim_id: Id
    claimed_value: Finite
    observed_values: Annotated[tuple[Finite, ...], msgspec.Meta(min_length=1, max_length=5_000)]
    tolerance: Tolerance = DEFAULT_TOLERANCE
    unit: UnitName = "1"
    bounds: tuple[Finite, Finite] | None = None
    region: Within | Ordered | None = None
    observed: tuple[Id, ...] = ()
    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = DEFAULT_ALPHA
    budget: Budget = Budget()
    eliminates_if_supported: tuple[Id, ...] = ()
    eliminates_if_refuted: tuple[Id, ...] = ()


class ClaimToTest(Value, frozen=True):
    """A claim as somebody asks to have it tested: on observations by their ids, or on numbers that he types.

    What its proposition predicts need not be said again.
    """

    claim_id: Id
    observed: Annotated[tuple[Id, ...], msgspec.Meta(max_length=100)] = ()
    observed_values: Observed = ()
    claimed_value: Finite | None = None
    tolerance: Tolerance | None = None
    unit: UnitName | None = None
    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = DEFAULT_ALPHA
    budget: Budget = Budget()
    eliminates_if_supported: tuple[Id, ...] = ()
    eliminates_if_refuted: tuple[Id, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.observed) == bool(self.observed_values):
            raise ValueError("give either `observed`, ids of observations, or `observed_values`")


def testable(asked: ClaimToTest, prediction: Prediction | None, values: Sequence[float]) -> TestableClaim:
    """The whole claim: what was asked for, and for the rest what was predicted."""
    predicted = None if prediction is None else prediction.criterion
    near = predicted if isinstance(predicted, Near) else None
    region = predicted if isinstance(predicted, Within | Ordered) else None
    if region is not None and (asked.claimed_value is not None or asked.tolerance is not None):
        told = "its proposition predicts a region; leave `claimed_value` and `tolerance` out"
        raise invalid(told, "$.claim.claimed_value")
    value = asked.claimed_value if near is None or asked.claimed_value is not None else near.value
    if region is not None:
        value = region.than if isinstance(region, Ordered) else (region.low + region.high) / 2
    if value is None:
        raise invalid("no proposition predicts a value; say which is claimed", "$.claim.claimed_value")
    return TestableClaim(
        claim_id=asked.claim_id,
        claimed_value=value,
        observed_values=tuple(values),
        tolerance=asked.tolerance or (DEFAULT_TOLERANCE if near is None else near.tolerance),
        unit=asked.unit or ("1" if prediction is None else prediction.unit),
        bounds=None if prediction is None else within(prediction, min(values), max(values)),
        region=region,
        observed=asked.observed,
        alpha=asked.alpha,
        budget=asked.budget,
        eliminates_if_supported=asked.eliminates_if_supported or _falls(prediction, "supported"),
        eliminates_if_refuted=asked.eliminates_if_refuted or _falls(prediction, "refuted"),
    )


def _falls(prediction: Prediction | None, outcome: str) -> tuple[str, ...]:
    return () if prediction is None else getattr(prediction, f"eliminates_if_{outcome}")
