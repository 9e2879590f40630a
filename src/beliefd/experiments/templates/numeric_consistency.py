"""numeric_consistency: does a claimed value agree with what was observed, within a tolerance?"""

from msgspec import Struct

from beliefd.experiments.means import mean_of
from beliefd.experiments.plan import Drawn, Findings, Plan, Template
from beliefd.experiments.regions import about
from beliefd.experiments.templates.averages import bounds_of, concluded, controls, draw, independent, observed
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
    found = mean_of(observed(plan), bounds_of(plan))
    mean = found.sample.mean
    claimed = about(params.claimed_value, params.tolerance, mean)
    deviation, agrees = abs(params.claimed_value - mean), claimed.low <= mean <= claimed.high
    result = Result(agrees, mean, deviation, *found.interval(1 - plan.alpha))
    model = f"{independent(plan)}: is their mean within the tolerance?"
    return concluded(plan, drawn, claimed, model, result)


TEMPLATE = Template(
    name="numeric_consistency", version=2, result=Result, conclude=conclude, draw=draw, controls=controls
)
