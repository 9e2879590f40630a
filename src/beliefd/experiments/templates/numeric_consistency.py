"""numeric_consistency: does a claimed value agree with what was observed, within a tolerance?"""

import numpy as np
from msgspec import Struct

from beliefd.experiments.means import sample
from beliefd.experiments.plan import Drawn, Findings, Plan, Template
from beliefd.experiments.regions import Span
from beliefd.experiments.templates.averages import concluded, controls, draw, observed
from beliefd.kernel.experiments.params import NumericConsistency


class Result(Struct, frozen=True):
    """`consistent` is what the mean alone says; the outcome asks whether the data can bear it."""

    consistent: bool
    observed_mean: float
    deviation: float
    ci_low: float
    ci_high: float


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    """Two one-sided tests: agreement has to be shown, not only failed to be disproved."""
    params = plan.of(NumericConsistency)
    found = sample(observed(plan))
    # 1.1 is within 0.1 of 1.0, whatever binary fractions make of that.
    slack = 4 * float(np.spacing(max(abs(params.claimed_value), abs(found.mean))))
    reach = params.tolerance + slack
    claimed = Span(params.claimed_value - reach, params.claimed_value + reach)
    deviation = abs(params.claimed_value - found.mean)
    result = Result(deviation <= reach, found.mean, deviation, *found.interval(1 - plan.alpha))
    model = f"{found.n} independent observations with normal noise: is their mean within the tolerance?"
    return concluded(plan, drawn, claimed, model, result)


TEMPLATE = Template(
    name="numeric_consistency", result=Result, conclude=conclude, draw=draw, controls=controls
)
