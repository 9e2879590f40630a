"""Whatever a valid plan asks for, a run of it ends in a report that the ledger can keep."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beliefd.experiments.registry import template
from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.experiments.params import checked_params
from beliefd.kernel.experiments.plan import Budget, RunReport, TemplateName
from tests.experiments.support import frozen, ran

extreme = st.sampled_from([0.0, -0.0, 1e150, -1e150, 5e-324, 1e-150, 1.0, -1.0, 0.1, 9e15])
number = st.one_of(extreme, st.floats(-1e6, 1e6))
positive = st.one_of(st.sampled_from([5e-324, 1e-150, 1e150, 1.0]), st.floats(1e-6, 1e6))
numbers = st.lists(number, min_size=1, max_size=25)
some = st.one_of(numbers.filter(lambda values: len(values) > 1), number.map(lambda value: [value] * 7))
sides = st.sampled_from(["above", "below"])
directions = st.sampled_from(["positive", "negative", "zero"])
region = st.one_of(
    st.builds(lambda side, than: {"region": "ordering", "side": side, "than": than}, sides, number),
    st.builds(lambda value, off: {"region": "tolerance", "value": value, "tolerance": off}, number, positive),
    st.builds(lambda low, width: {"region": "interval", "low": low, "high": low + width}, number, positive),
)  # fmt: skip
distribution = st.one_of(
    st.builds(lambda mean, std: {"is": "normal", "mean": mean, "std": std}, number, positive),
    st.builds(lambda mean: {"is": "exponential", "mean": mean}, positive),
    st.builds(lambda values: {"is": "data", "values": values}, numbers),
    st.builds(lambda value: {"is": "fixed", "value": value}, number),
)
expression = st.sampled_from(
    ["a", "a * a", "log(a)", "exp(a)", "1 / a", "sqrt(a) ** a", "where(a > 0, a, 0 / 0)"]
)
ANY: dict[TemplateName, st.SearchStrategy[dict[str, Any]]] = {
    "bootstrap_ci": st.fixed_dictionaries({"data": some, "null_value": number, "n_bootstrap": st.just(100)}),
    "bayesian_update": st.fixed_dictionaries(
        {
            "observations": numbers,
            "prior_mean": number,
            "prior_std": positive,
            "likelihood_std": positive,
            "region": region,
            "n_samples": st.just(100),
        }
    ),
    "threshold_check": st.fixed_dictionaries(
        {"values": numbers, "threshold": number, "direction": sides}
    ),
    "numeric_consistency": st.fixed_dictionaries(
        {"claimed_value": number, "observed_values": numbers, "tolerance": positive}
    ),
    "effect_direction": st.fixed_dictionaries(
        {"observations": some, "expected": directions, "negligible": positive}
    ),
    "sensitivity_suite": st.fixed_dictionaries(
        {
            "observed_values": numbers,
            "null_value": number,
            "axes": st.lists(st.floats(0, 10), max_size=3),
            "n_perturbations": st.just(10),
        }
    ),
    "model_simulation": st.builds(
        lambda text, given, claimed: {
            "model": {"language": "expression", "expression": text},
            "inputs": [{"name": "a", "distribution": given}],
            "region": claimed,
        },
        expression, distribution, region,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANY)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_plan_ends_in_a_report_that_can_be_kept(name: TemplateName, data: st.DataObject) -> None:
    params = data.draw(ANY[name])
    try:
        checked_params(name, params)
        plan = frozen(name, params, budget=Budget(seconds=30, replicates=200))
        assert plan.spec_hash
    except (BeliefdError, ValueError):
        return  # no valid plan, or one with numbers that no ledger keeps
    report = ran(plan)
    assert canonical(msgspec.to_builtins(report))
    assert msgspec.convert(msgspec.to_builtins(report), RunReport) == report
    if report.status == "completed":
        assert report.outcome == "unresolved" or report.error_level <= 0.05
        assert set(report.result) == {field.name for field in msgspec.structs.fields(template(name).result)}
    else:
        assert (report.outcome, report.result) == ("unresolved", {})
