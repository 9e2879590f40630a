"""threshold_check: is the mean of the values on the claimed side of a threshold?"""

from msgspec import Struct

from beliefd.experiments.means import sample
from beliefd.experiments.plan import Drawn, Findings, Plan, Template
from beliefd.experiments.regions import Span, failure_of, judged
from beliefd.experiments.templates.averages import controls, diagnosis, draw, no_main, observed
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
    claimed = Span(low=params.threshold, strict=True) if above else Span(high=params.threshold, strict=True)
    found = sample(observed(plan))
    decision = judged(claimed, *found.levels, plan.alpha)
    margin = found.mean - params.threshold if above else params.threshold - found.mean
    diagnosed, told = diagnosis(plan, drawn, claimed, decision)
    return Findings(
        model=f"{found.n} independent values, normal noise: is their mean {params.direction} the threshold?",
        outcome=decision.outcome,
        error_level=decision.error_level,
        failure_mode="nonidentifiable" if found.n < 2 else failure_of(claimed, decision),
        result=Result(margin > 0, found.mean, margin, *found.interval(1 - plan.alpha)),
        diagnosis=diagnosed,
        diagnostics=told,
    )


TEMPLATE = Template(
    name="threshold_check",
    version=1,
    result=Result,
    main=no_main,
    controls=controls,
    draw=draw,
    conclude=conclude,
)
