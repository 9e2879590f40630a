"""model_simulation: in which share of draws does a user's model end in the claimed region? An e-process.

An input that is drawn from data is a sample and not the truth, however often it is drawn. So there is a
second test, of rows: each takes one value of every such input, and no value is taken twice. If the data are
independent, so are the rates of the rows, whose mean is the true rate and whose range is known.
"""

import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from beliefd.experiments.diagnostics import effective_samples, excess, standard_error
from beliefd.experiments.dimensions import agrees
from beliefd.experiments.distributions import quantiles, widened
from beliefd.experiments.means import stretches, uppers
from beliefd.experiments.orders import ORDER_ARM, draw_orders, order_arm, order_chance
from beliefd.experiments.plan import Arm, Decision, Diagnosis, Drawn, Findings, Floats, Plan, Template
from beliefd.experiments.regions import Span, claimed, decided, failure, slack
from beliefd.experiments.rng import streamed, uniforms
from beliefd.experiments.sandbox.models import output
from beliefd.experiments.sequential import Walk, confidence_sequence, decisive, ever_shown, walk
from beliefd.experiments.sobol import BASE, evaluations, totals
from beliefd.kernel.experiments.params import USUAL_SHARE, ByExpression, Data, ModelSimulation, claimed_region
from beliefd.kernel.experiments.plan import AtLeast

FEWEST: Final = 1_000
"""Replicates before a run may end: fewer can decide, but too few are left to judge the run by."""
MOST_DESCRIBED: Final = 1 << 18
"""Of very many outputs the first so many stand for all, where they are only described."""
TOYS, TOY_STEPS, TOY_LEVEL = 200, 500, 0.05
OTHERS: Final = {"root1": 1, "root2": 2, "wider": 3, "heavy_tails": 4}
ROWS: Final = 5


class Result(Struct, frozen=True):
    """`rate` is the share of replicates in the region, those without an output not being in it."""

    rate: float
    ci_low: float
    ci_high: float
    output_mean: float
    output_std: float
    decided_after: int


def main(plan: Plan) -> Arm:
    return Arm("main", 0, plan.replicates, _cost(plan))


def controls(plan: Plan, used: int) -> tuple[Arm, ...]:
    others = tuple(Arm(name, index, used, _cost(plan)) for name, index in OTHERS.items())
    toy = Arm("toy", 10, TOYS, TOY_STEPS * 200.0)
    sobol = Arm("sobol", 20, BASE, _cost(plan) * 2 * len(_params(plan).inputs))
    return (*others, toy, sobol, *_rows_arm(plan, used), *_order_arms(plan))


def _rows_arm(plan: Plan, used: int) -> tuple[Arm, ...]:
    """As many draws as the main arm took, but each row the same number of times."""
    count = _rows(plan)
    return (Arm("rows", ROWS, count * max(1, used // count), _cost(plan)),) if count else ()


def _order_arms(plan: Plan) -> tuple[Arm, ...]:
    return tuple(
        replace(order_arm(values), name=f"order_{name}", index=ORDER_ARM + place)
        for place, (name, values) in enumerate(_data(plan).items())
    )


def _data(plan: Plan) -> dict[str, Floats]:
    """The inputs that are drawn from data."""
    inputs = _params(plan).inputs
    return {
        one.name: np.asarray(one.distribution.values) for one in inputs if isinstance(one.distribution, Data)
    }


def _rows(plan: Plan) -> int:
    """How many rows the data can fill; 0 if there are none."""
    return min((len(values) for values in _data(plan).values()), default=0)


def _params(plan: Plan) -> ModelSimulation:
    return plan.of(ModelSimulation)


def _cost(plan: Plan) -> float:
    """Nanoseconds per replicate: by the length of an expression, or what an interpreter takes."""
    params = _params(plan)
    if isinstance(params.model, ByExpression):
        return 20.0 * len(params.inputs) + 0.6 * len(params.model.expression)
    return 10_000.0


def draw(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    params = _params(plan)
    width = len(params.inputs)
    if arm.name == "toy":
        return _toys(plan, arm, first, count)
    if arm.name == "sobol":
        return evaluations(plan.seed, arm.index, first, count, width, lambda rows: _run(plan, params, rows.T))
    if arm.name.startswith("order_"):
        return draw_orders(_data(plan)[arm.name.removeprefix("order_")], plan.seed, arm, first, count)
    if arm.name == "wider":
        given = tuple(
            replace(one, distribution=widened(one.distribution, params.widening)) for one in params.inputs
        )
        params = replace(params, inputs=given)
    heavy = arm.name == "heavy_tails"
    if not isinstance(params.model, ByExpression):
        # Other languages take a whole block at once: to start their interpreter costs more than memory does.
        columns = uniforms(plan.seed, arm.index, first, count, width).T
        if arm.name == "rows":
            _fix(plan, columns, first)
        return _run(plan, params, columns, heavy)[:, None]
    found = np.empty((count, 1))
    for start, columns in streamed(plan.seed, arm.index, first, count, width):
        if arm.name == "rows":
            _fix(plan, columns, start)
        _run(plan, params, columns, heavy, found[start - first : start - first + columns.shape[1], 0])
    return found


def _fix(plan: Plan, columns: Floats, start: int) -> None:
    """Let each replicate take the values of its row: the middle of a value's share is where it is drawn."""
    row = np.arange(start, start + columns.shape[1]) % _rows(plan)
    for column, one in zip(columns, _params(plan).inputs, strict=True):
        if isinstance(one.distribution, Data):
            column[:] = (row + 0.5) / len(one.distribution.values)


def _run(
    plan: Plan, params: ModelSimulation, columns: Floats, heavy: bool = False, out: Floats | None = None
) -> Floats:
    """The outputs, in `out` if there is one: then the columns are not needed any more, and written over."""
    inputs = {
        one.name: quantiles(one.distribution, column, heavy, None if out is None else column)
        for one, column in zip(params.inputs, columns, strict=True)
    }
    return output(params.model, inputs, plan.sources, out)


def _toys(plan: Plan, arm: Arm, first: int, count: int) -> Floats:
    """Walks in worlds that sit on the edge: is the rate shown to be above, is it shown to be below?"""
    rate = _share(plan)
    rows = uniforms(plan.seed, arm.index, first, count, TOY_STEPS) < rate
    return np.column_stack([ever_shown(rows, rate, TOY_LEVEL, above) for above in (True, False)]).astype(
        float
    )


def _share(plan: Plan) -> float:
    return plan.criterion.at_least if isinstance(plan.criterion, AtLeast) else USUAL_SHARE


def _span(plan: Plan) -> Span:
    return claimed(claimed_region(_params(plan), plan.criterion))


def enough(plan: Plan, outputs: Floats) -> bool:
    """Looks at the end of each block only: any rule for stopping is as valid as any other."""
    values = outputs[:, 0]
    held, failed = _span(plan).holds(values), ~np.isfinite(values)
    return len(values) >= FEWEST and decisive(held, failed, _share(plan), plan.alpha)


def conclude(plan: Plan, drawn: Drawn) -> Findings:
    outputs = drawn["main"][:, 0]
    held, failed = _span(plan).holds(outputs), ~np.isfinite(outputs)
    walked = walk(held, failed, _share(plan), plan.alpha)
    decision = _decision(plan, drawn, walked)
    count, good = len(outputs), int((held & ~failed).sum())
    known = outputs[:MOST_DESCRIBED][~failed[:MOST_DESCRIBED]]
    return Findings(
        model=f"a stated model of {len(_params(plan).inputs)} inputs, distributed as declared: is its output "
        f"in the region in at least {_share(plan):g} of all draws?",
        decision=decision,
        failure_mode=failure(
            decision, "null_effect", "violated_assumption" if failed.any() else "nonidentifiable"
        ),
        result=Result(
            good / count,
            *confidence_sequence(good, count - good, plan.alpha),
            float(known.mean()) if len(known) else 0.0,
            float(known.std()) if len(known) else 0.0,
            walked.steps,
        ),
        diagnosis=_diagnosis(plan, drawn, walked, decision),
        replicates=count,
        failed_replicates=int(failed.sum()),
        stopped_early=count < plan.replicates,
    )


def _decision(plan: Plan, drawn: Drawn, walked: Walk) -> Decision:
    """INVARIANT: drawing data again and again makes them no more than they are, so the rows have to agree."""
    count = _rows(plan)
    if not count or walked.outcome == "unresolved":
        return Decision(walked.outcome, walked.error_level)
    outputs = drawn["rows"][:, 0].reshape(-1, count)
    held, failed, share = _span(plan).holds(outputs), ~np.isfinite(outputs), _share(plan)
    low, high = (held & ~failed).mean(axis=0), (held | failed).mean(axis=0)
    # Rates may not vary where the data do, so what the order of the data says is asked of them.
    stretch = np.asarray([max(float(stretches(values[None, :], True)[0]) for values in _data(plan).values())])
    level = uppers(-low[None, :], 0.0).stretched(stretch).below(np.asarray([-share]), False)[0]
    against = uppers(high[None, :], 1.0).stretched(stretch).below(np.asarray([share]), True)[0]
    if walked.outcome == "support":
        return decided(max(walked.error_level, float(level)), 1.0, plan.alpha)
    return decided(1.0, max(walked.error_level, float(against)), plan.alpha)


def _order_chance(plan: Plan, drawn: Drawn) -> float | None:
    """The smallest for any of the data; to look at several of them costs as many times as much."""
    found = [order_chance(values, drawn[f"order_{name}"]) for name, values in _data(plan).items()]
    known = [chance for chance in found if chance is not None]
    return min(1.0, len(known) * min(known)) if known else None


def _diagnosis(plan: Plan, drawn: Drawn, walked: Walk, decision: Decision) -> Diagnosis:
    span, rate, outputs = _span(plan), _share(plan), drawn["main"][:, 0]
    rates = {name: float(span.holds(drawn[name][:, 0]).mean()) for name in OTHERS}
    flips = tuple(
        name
        for name, seen in rates.items()
        if (decision.outcome == "support" and seen < rate) or (decision.outcome == "refute" and seen >= rate)
    )
    false = max(int(drawn["toy"][:, side].sum()) for side in (0, 1))
    held = span.holds(outputs).astype(np.float64)
    some = outputs[:MOST_DESCRIBED]
    known = some[np.isfinite(some)]
    size = effective_samples(held)
    names = [one.name for one in _params(plan).inputs]
    indices = totals(drawn["sobol"]) if len(names) > 1 else None
    return Diagnosis(
        toy_error=excess(false, len(drawn["toy"]), TOY_LEVEL),
        variance=(float(known.var()) or None) if len(known) else None,
        unit_agrees=agrees(_params(plan), plan.unit),
        effective_samples=size,
        order_chance=_order_chance(plan, drawn),
        slack=slack(span, known),
        complete=bool(len(known)),
        flips=flips,
        told={
            "monte_carlo_error": standard_error(held),
            "effective_samples": size,
            "log_e_support": walked.log_support,
            "log_e_refute": walked.log_refute,
            "false_decision_rate": false / len(drawn["toy"]),
            "rates": rates,
            "flips": list(flips),
            "flip_distance": _flip_distance(span, known, rate),
            "sobol_totals": None if indices is None else dict(zip(names, indices, strict=True)),
        },
    )


def _flip_distance(span: Span, known: Floats, rate: float) -> float | None:
    """The smallest shift of all outputs that turns the claim round, in standard deviations of the output."""
    spread = float(known.std()) if len(known) else 0.0
    if spread == 0 or not math.isfinite(spread):
        return None
    return abs(float(np.quantile(span.inside(known), 1 - rate))) / spread


TEMPLATE = Template(
    name="model_simulation",
    version=2,
    result=Result,
    conclude=conclude,
    main=main,
    draw=draw,
    controls=controls,
    enough=enough,
)
