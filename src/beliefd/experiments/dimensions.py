"""Units through arithmetic: what a model's output is measured in, if its inputs say what they are."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from beliefd.kernel.experiments.expressions import Expression, Name, Number, parse
from beliefd.kernel.experiments.params import ByExpression, ModelSimulation

Unit = Mapping[str, Fraction]
"""Base units and their exponents; none is a bare number."""
BARE: Final[Unit] = {}
_PART = re.compile(r"(?P<operator>[*/.]?)(?P<name>[A-Za-z%°µ$€]+)(?:\^(?P<power>-?\d+))?")


class Mismatch(Exception):
    """Metres were added to seconds."""


def agrees(params: ModelSimulation, unit: str) -> bool:
    """Is the output measured in `unit`? Inputs that declare no units leave nothing to disagree with."""
    if not any(given.unit for given in params.inputs):
        return True
    if not isinstance(params.model, ByExpression):
        return True
    names = {given.name: read(given.unit or "1") for given in params.inputs}
    try:
        return _unit(parse(params.model.expression, names, "$.params.model.expression"), names) == read(unit)
    except Mismatch:
        return False


def read(text: str) -> Unit:
    """`kg*m/s^2` as exponents. What does not look like a product of units is a unit of its own."""
    if text == "1":
        return BARE
    found: dict[str, Fraction] = {}
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (at > 0) != bool(part["operator"]):
            return {text: Fraction(1)}
        power = Fraction(part["power"] or 1) * (-1 if part["operator"] == "/" else 1)
        found[part["name"]] = found.get(part["name"], Fraction(0)) + power
        at = part.end()
    return {name: power for name, power in found.items() if power}


def _unit(expression: Expression, names: Mapping[str, Unit]) -> Unit:
    if isinstance(expression, Number):
        return BARE
    if isinstance(expression, Name):
        return names[expression.name]
    units = [_unit(argument, names) for argument in expression.arguments]
    what = expression.what
    if what in ("*", "/"):
        return _product(units[0], units[1], 1 if what == "*" else -1)
    if what == "**":
        return _power(units[0], expression.arguments[1])
    if what == "sqrt":
        return {name: power / 2 for name, power in units[0].items()}
    if what in ("exp", "log", "sin", "cos", "tanh"):
        return _same([*units, BARE])
    if what in ("<", "<=", ">", ">="):
        _same(_beside_numbers(expression.arguments, units))
        return BARE
    if what == "where":
        return _same(_beside_numbers(expression.arguments[1:], units[1:]))
    return _same(_beside_numbers(expression.arguments, units))


def _beside_numbers(arguments: tuple[Expression, ...], units: list[Unit]) -> list[Unit]:
    """A constant that is added or compared takes the unit of what it stands beside."""
    pairs = zip(arguments, units, strict=True)
    return [unit for argument, unit in pairs if not isinstance(argument, Number)] or [BARE]


def _same(units: list[Unit]) -> Unit:
    if any(unit != units[0] for unit in units):
        raise Mismatch
    return units[0]


def _product(one: Unit, other: Unit, sign: int) -> Unit:
    powers = {
        name: one.get(name, Fraction(0)) + sign * other.get(name, Fraction(0)) for name in {*one, *other}
    }
    return {name: power for name, power in powers.items() if power}


def _power(unit: Unit, exponent: Expression) -> Unit:
    if not unit:
        return BARE
    if not isinstance(exponent, Number):
        raise Mismatch
    found = {name: power * Fraction(exponent.value).limit_denominator(1000) for name, power in unit.items()}
    return {name: power for name, power in found.items() if power}
