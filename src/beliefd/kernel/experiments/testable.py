"""A claim as it is given to whoever designs an experiment for it: numbers and ids, no prose."""

from typing import Annotated

import msgspec

from beliefd.kernel.experiments.plan import DEFAULT_ALPHA, Budget, Finite, Seed, UnitName
from beliefd.kernel.values import Id, Value


class TestableClaim(Value, frozen=True):
    """That a quantity is `claimed_value`, give or take `tolerance`; and what has been observed of it."""

    __test__ = False  # its name begins like that of a test, and it is none

    claim_id: Id
    claimed_value: Finite
    observed_values: Annotated[tuple[Finite, ...], msgspec.Meta(min_length=1, max_length=5_000)]
    tolerance: Annotated[float, msgspec.Meta(gt=0, le=1.7976931348623157e308)] = 0.1
    unit: UnitName = "1"
    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = DEFAULT_ALPHA
    seed: Seed = 0
    budget: Budget = Budget()
    eliminates_if_supported: tuple[Id, ...] = ()
    eliminates_if_refuted: tuple[Id, ...] = ()
