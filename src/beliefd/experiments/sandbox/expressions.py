"""A model's expression over arrays: a walk over its tree with one NumPy call per node."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beliefd.experiments.plan import Floats
from beliefd.kernel.experiments.expressions import Apply, Expression, Name, Number

APPLIED: Final[Mapping[str, Callable[..., Any]]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "neg": np.negative, "pos": np.positive, "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "exp": np.exp,
    "floor": np.floor, "log": np.log, "max": np.maximum, "min": np.minimum, "sin": np.sin, "sqrt": np.sqrt,
    "tanh": np.tanh, "where": lambda condition, yes, no: np.where(condition != 0, yes, no),
}  # fmt: skip


EXACT: Final = frozenset({"+", "-", "*", "/"})
"""Rounded the same by every processor, and in whichever array the result is put; the others may not be."""


def evaluate(expression: Expression, inputs: Mapping[str, Floats], out: Floats | None = None) -> Floats:
    """The output for each replicate; where there is none, such as the log of -1, it is nan.

    It is put into `out` if there is one, and so is what leads to it: memory in the cache is used again.
    """
    count = len(next(iter(inputs.values())))
    found = np.asarray(_value(expression, inputs, out), dtype=np.float64)
    if out is not None:
        if found is not out:
            out[:] = found
        return out
    return found if found.shape == (count,) else np.broadcast_to(found, (count,))


def _value(expression: Expression, inputs: Mapping[str, Floats], out: Floats | None = None) -> Any:
    if isinstance(expression, Number):
        return np.float64(expression.value)
    if isinstance(expression, Name):
        return inputs[expression.name]
    if expression.what in EXACT:
        first, *others = expression.arguments
        given = [_value(first, inputs, out), *(_value(other, inputs) for other in others)]
        return APPLIED[expression.what](*given, out=_spare(expression, given) if out is None else out)
    found = APPLIED[expression.what](*(_value(argument, inputs) for argument in expression.arguments))
    # A comparison is a number like any other: sums of them count.
    return found.astype(np.float64) if found.dtype == np.bool_ else found


def _spare(expression: Apply, given: list[Any]) -> Floats | None:
    """An array among what is given that nobody else has, to put the result in; inputs are not ours."""
    for argument, value in zip(expression.arguments, given, strict=True):
        if not isinstance(argument, Name) and isinstance(value, np.ndarray) and value.ndim:
            return value
    return None
