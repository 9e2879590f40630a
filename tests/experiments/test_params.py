"""Parameters are closed, bounded and without free text; what is wrong with them is told with its path."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.params import MAX_NUMBERS, PARAMS, ByExpression, checked_params, checked_spec
from beliefd.kernel.experiments.plan import AtLeast, Budget, ExperimentSpec, Ordered, TemplateName
from tests.experiments.support import GOOD, frozen, simulation

INPUT = {"name": "a", "distribution": {"is": "normal", "mean": 0, "std": 1}}
UNCLEAR = {"id": "a", "direction": "unclear"}
SEEN = {"observed_values": [1, 2]}
BAD: list[tuple[TemplateName, dict[str, Any], str]] = [
    ("bootstrap_ci", {}, "$.params.data"),
    ("bootstrap_ci", {"data": [1.0]}, "$.params.data"),
    ("bootstrap_ci", {"data": [1.0, "x"]}, "$.params.data[1]"),
    ("bootstrap_ci", {"data": [1.0, float("nan")]}, "$.params.data[1]"),
    ("bootstrap_ci", {"data": [1.0, float("inf")]}, "$.params.data[1]"),
    ("bootstrap_ci", {"data": [1.0] * (MAX_NUMBERS + 1)}, "$.params.data"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "n_bootstrap": 99}, "$.params.n_bootstrap"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "n_bootstrap": 5_001}, "$.params.n_bootstrap"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "confidence_level": 0.999}, "$.params.confidence_level"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "note": "because"}, "$.params.note"),
    ("bayesian_update", {"observations": []}, "$.params.observations"),
    ("bayesian_update", {"observations": [1], "prior_std": 0}, "$.params.prior_std"),
    ("threshold_check", {"values": [1], "threshold": 1, "direction": "up"}, "$.params.direction"),
    ("numeric_consistency", {**GOOD["numeric_consistency"], "tolerance": -1}, "$.params.tolerance"),
    # A summary without the observations it is made of.
    ("sensitivity_suite", {"base": {"estimate": 1, "ci_low": 0, "ci_high": 2}}, "$.params.base"),
    ("sensitivity_suite", {}, "$.params.observed_values"),
    ("sensitivity_suite", {**SEEN, "axes": [1.0] * 7}, "$.params.axes"),
    ("sensitivity_suite", {**SEEN, "axes": ["temperature"]}, "$.params.axes[0]"),
    ("sensitivity_suite", {**SEEN, "prior_widening_factor": 1}, "$.params.prior_widening_factor"),
    ("sensitivity_suite", {**SEEN, "bounds": [0, 1.5]}, "$.params.observed_values[1]"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "bounds": [1.5, 3]}, "$.params.data[0]"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "bounds": [3, 3]}, "$.params.bounds"),
    ("bootstrap_ci", {"data": [1.0, 2.0], "bounds": [3]}, "$.params.bounds"),
    ("contradiction_detect", {"items": [{"id": "a b", "direction": "supports"}]}, "$.params.items[0].id"),
    ("contradiction_detect", {"items": [{"id": "a", "direction": "supports"}] * 2}, "$.params"),
    ("contradiction_detect", {"items": [{**UNCLEAR, "id": str(n)} for n in range(101)]}, "$.params.items"),
    ("citation_check", {"required": [], "bundle": []}, "$.params.required"),
    ("citation_check", {"required": ["a"], "bundle": [{"id": "a"}]}, "$.params.bundle[0].source"),
    ("effect_direction", {"observations": [1, 2], "expected": "up"}, "$.params.expected"),
    ("model_simulation", {**simulation(), "inputs": [INPUT, INPUT]}, "$.params"),
    ("model_simulation", {**simulation("a + b")}, "$.params.model.expression"),
    ("model_simulation", {**simulation("the drug works")}, "$.params.model.expression"),
    ("model_simulation", {**simulation(), "inputs": [{**INPUT, "name": "Long"}]}, "$.params.inputs[0].name"),
    ("model_simulation", {**simulation(), "inputs": [{**INPUT, "distribution": {"is": "cauchy"}}]},
     "$.params.inputs[0].distribution.is"),
    ("model_simulation", {**simulation(), "model": {"language": "python", "source": "def model(): ..."}},
     "$.params.model.source"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "path"), BAD)
def test_a_bad_parameter_is_refused_with_its_path(
    name: TemplateName, params: dict[str, Any], path: str
) -> None:
    with pytest.raises(BeliefdError) as refused:
        checked_params(name, params)
    assert refused.value.code is Code.INVALID_REQUEST
    assert refused.value.details == {"path": path}
    assert refused.value.message[0].islower() or refused.value.message[0] == "`"


@pytest.mark.parametrize("name", PARAMS)
def test_good_parameters_become_the_template_s_own_type(name: TemplateName) -> None:
    assert type(checked_params(name, GOOD[name])) is PARAMS[name]


def texts(kind: Any, seen: set[Any]) -> list[tuple[str, inspect.StrType]]:
    """Every text that can stand anywhere in a type, with the name of its field."""
    found: list[tuple[str, inspect.StrType]] = []
    if isinstance(kind, inspect.Metadata):
        return texts(kind.type, seen)
    if isinstance(kind, inspect.UnionType):
        return [text for one in kind.types for text in texts(one, seen)]
    if isinstance(kind, inspect.VarTupleType):
        return texts(kind.item_type, seen)
    if isinstance(kind, inspect.StructType) and kind.cls not in seen:
        seen.add(kind.cls)
        for field in kind.fields:
            inner = texts(field.type, seen)
            found += [(place or f"{kind.cls.__name__}.{field.name}", text) for place, text in inner]
    return [*found, ("", kind)] if isinstance(kind, inspect.StrType) else found


def test_no_sentence_fits_into_any_parameter() -> None:
    """An expression is the one text without a pattern: its grammar has no word that was not declared."""
    found = [text for kind in PARAMS.values() for text in texts(inspect.type_info(kind), set())]
    assert len(found) > 10
    for place, text in found:
        if place.startswith(ByExpression.__name__):
            continue
        assert text.pattern is not None, place
        assert not re.search(text.pattern, "the drug lowers blood pressure"), place
    assert not [
        one for kind in PARAMS.values() for one in str(inspect.type_info(kind)).split() if "AnyType" in one
    ]


def spec(name: TemplateName, **changes: Any) -> ExperimentSpec:
    return replace(frozen(name, GOOD[name]).spec, **changes)


@pytest.mark.parametrize(
    ("plan", "path"),
    [
        (spec("threshold_check", criterion=Ordered(side="above", than=0.0)), "$.criterion"),
        (spec("bootstrap_ci", criterion=AtLeast(at_least=0.9)), "$.criterion"),
        (spec("bayesian_update", params={"observations": [1.0]}), "$.params.region"),
        (spec("bayesian_update", criterion=Ordered(side="above", than=0.0)), "$.params.region"),
        (spec("model_simulation", params={**simulation(), "region": None}), "$.params.region"),
        (spec("bootstrap_ci", budget=Budget(replicates=1_000)), "$.budget.replicates"),
    ],
)
def test_a_plan_whose_parts_do_not_fit_together_is_refused(plan: ExperimentSpec, path: str) -> None:
    with pytest.raises(BeliefdError) as refused:
        checked_spec(plan)
    assert refused.value.details == {"path": path}


names = st.sampled_from(["data", "values", "items", "base", "model", "inputs", "region", "axes", "unit"])
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def refusal(name: TemplateName, params: dict[str, Any]) -> BeliefdError | None:
    try:
        checked_params(name, params)
    except BeliefdError as error:
        return error
    return None


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(PARAMS)), st.dictionaries(names, anything))
def test_whatever_is_sent_is_read_or_refused(name: TemplateName, params: dict[str, Any]) -> None:
    found = refusal(name, params)
    if found is not None:
        assert found.code is Code.INVALID_REQUEST
        assert found.details is not None
        assert found.details["path"].startswith("$.params")
