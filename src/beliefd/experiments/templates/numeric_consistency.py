"""numeric_consistency: does a claimed value agree with what was observed, within a tolerance?"""

import numpy as np
from msgspec import Struct

from beliefd.experiments.means import sample
from beliefd.experiments.plan import Drawn, Findings, Plan, Template
from beliefd.experiments.regions import Span, failure_of, judged
from beliefd.experiments.templates.averages import controls, diagnosis, draw, no_main, observed
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
    decision = judged(claimed, *found.levels, plan.alpha)
    deviation = abs(params.claimed_value - found.mean)
    diagnosed, told = diagnosis(plan, drawn, claimed, decision)
    return Findings(
        model=f"{found.n} independent observations with normal noise: is their mean within the tolerance?",
        outcome=decision.outcome,
        error_level=decision.error_level,
        failure_mode="nonidentifiable" if found.n < 2 else failure_of(claimed, decision),
        result=Result(deviation <= reach, found.mean, deviation, *found.interval(1 - plan.alpha)),
        diagnosis=diagnosed,
        diagnostics=told,
    )


TEMPLATE = Template(
    name="numeric_consistency",
    version=1,
    result=Result,
    main=no_main,
    controls=controls,
    draw=draw,
    conclude=conclude,
)
