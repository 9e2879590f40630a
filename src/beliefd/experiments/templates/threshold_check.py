"""threshold_check: is the mean of the values on the claimed side of a threshold?"""

from msgspec import Struct

from beliefd.experiments.means import mean_of
from beliefd.experiments.plan import Drawn, Findings, Plan, Template
from beliefd.experiments.regions import beyond
from beliefd.experiments.templates.averages import bounds_of, concluded, controls, draw, independent, observed
from beliefd.kernel.experiments.params import ThresholdCheck


class Result(Struct, frozen=True):
    """`passes` is what the mean alone says; the outcome also asks whether noise could have made it so."""

    passes: bool
    value: float
    margin: float
    ci_low: float
    ci_high: float


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    params = plan.of(ThresholdCheck)
    above = params.direction == "above"
    found = mean_of(observed(plan), bounds_of(plan))
    mean = found.sample.mean
    margin = mean - params.threshold if above else params.threshold - mean
    result = Result(margin > 0, mean, margin, *found.interval(1 - plan.alpha))
    model = f"{independent(plan)}: is their mean {params.direction} the threshold?"
    return concluded(plan, drawn, beyond(params.threshold, above), model, result)


TEMPLATE = Template(
    name="threshold_check", version=2, result=Result, conclude=conclude, draw=draw, controls=controls
)
