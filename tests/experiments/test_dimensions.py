"""Units go through a model's arithmetic, and metres are never added to seconds."""

from fractions import Fraction

import pytest

from beliefd.experiments.dimensions import agrees, read
from beliefd.kernel.experiments.params import ModelSimulation, checked_params

UNITS = {"d": "m", "t": "s", "m": "kg", "n": "1"}
INPUTS = [
    {"name": name, "unit": unit, "distribution": {"is": "uniform", "low": 1.0, "high": 2.0}}
    for name, unit in UNITS.items()
]


def model(expression: str) -> ModelSimulation:
    used = [
        given for given in INPUTS if str(given["name"]) in expression.replace("tanh", "").replace("min", "")
    ]
    params = {"model": {"language": "expression", "expression": expression}, "inputs": used}
    found = checked_params("model_simulation", params)
    assert isinstance(found, ModelSimulation)
    return found


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("d / t", "m/s"),
        ("m * d / t ** 2", "kg*m/s^2"),
        ("m * d / (t * t)", "kg*m/s^2"),
        ("(d * d) ** 0.5 + d", "m"),
        ("d + 3", "m"),
        ("d / d", "1"),
        ("d > 3", "1"),
        ("n * tanh(n)", "1"),
        ("min(d, 2) * n", "m"),
    ],
)
def test_a_product_has_the_product_of_the_units(expression: str, unit: str) -> None:
    assert agrees(model(expression), unit)
    assert not agrees(model(expression), "bananas")


@pytest.mark.parametrize("expression", ["d + t", "d < t", "tanh(d)", "min(d, t)", "d ** n", "d - t * n"])
def test_what_cannot_be_added_compared_or_raised_has_no_unit(expression: str) -> None:
    assert not any(agrees(model(expression), unit) for unit in ("m", "s", "1"))


def test_inputs_without_units_leave_nothing_to_disagree_with() -> None:
    bare = [{**given, "unit": None} for given in INPUTS[:1]]
    params = {"model": {"language": "expression", "expression": "d * 2"}, "inputs": bare}
    found = checked_params("model_simulation", params)
    assert isinstance(found, ModelSimulation)
    assert agrees(found, "ms")


def test_units_are_read_as_exponents() -> None:
    assert read("kg*m/s^2") == {"kg": Fraction(1), "m": Fraction(1), "s": Fraction(-2)}
    assert read("m/m") == read("1") == {}
    assert read("m-rem") == {"m-rem": Fraction(1)}
