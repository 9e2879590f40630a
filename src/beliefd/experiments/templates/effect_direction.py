"""effect_direction: is there an effect, and which way does it point?"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beliefd.experiments.means import Mean, mean_of
from beliefd.experiments.plan import Decision, Drawn, Findings, Plan, Template
from beliefd.experiments.regions import Span, judged
from beliefd.experiments.templates.averages import bounds_of, concluded, controls, draw, independent, observed
from beliefd.kernel.experiments.params import EffectDirection
from beliefd.kernel.experiments.plan import FailureMode

Direction = Literal["positive", "negative", "zero", "unclear"]


class Result(Struct, frozen=True):
    """`direction` is what was shown at alpha; what could not be shown is unclear, which is not zero."""

    matches: bool
    direction: Direction
    confidence: float
    effect: float
    ci_low: float
    ci_high: float


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    params = plan.of(EffectDirection)
    found = mean_of(observed(plan), bounds_of(plan))
    direction, level = _direction(found, params.negligible, plan.alpha)
    model = f"{independent(plan)}: is their mean {_asked(params)}?"
    matches = direction == params.expected
    result = Result(matches, direction, 1 - level, found.sample.mean, *found.interval(1 - plan.alpha))
    findings = concluded(plan, drawn, _spans(params.negligible)[params.expected], model, result)
    return replace(findings, failure_mode=_failure(params.expected, direction, findings.decision))


def _spans(negligible: float) -> dict[str, Span]:
    return {
        "positive": Span(low=negligible, strict=True),
        "negative": Span(high=-negligible, strict=True),
        "zero": Span(-negligible, negligible),
    }


def _asked(params: EffectDirection) -> str:
    return "zero, but for what is negligible" if params.expected == "zero" else params.expected


def _direction(found: Mean, negligible: float, alpha: float) -> tuple[Direction, float]:
    """The direction that is shown, and at which level. At most one of the three can be."""
    names: tuple[Direction, ...] = ("positive", "negative", "zero")
    for name in names:
        decision = judged(_spans(negligible)[name], *found.levels, alpha)
        if decision.outcome == "support":
            return name, decision.error_level
    return "unclear", 1.0


def _failure(expected: str, direction: Direction, decision: Decision) -> FailureMode | None:
    if decision.outcome == "support":
        return None
    if direction == "zero":
        return "null_effect"
    if direction == "unclear":
        return "nonidentifiable" if expected == "zero" else "null_effect"
    return "violated_assumption" if expected == "zero" else "sign_flip"


TEMPLATE = Template(
    name="effect_direction", version=2, result=Result, conclude=conclude, draw=draw, controls=controls
)
