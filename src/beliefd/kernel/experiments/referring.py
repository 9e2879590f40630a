"""Data of a plan that are named, not typed: `{"observed": ["obs-..."]}` stands where numbers would."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.values import Object, shown

OBSERVED: Final = "observed"
MOST_VALUES: Final = 80_000
"""So many values a plan may name in all: sixteen inputs of a model, each as long as data may be."""
NO_DATA: Final = ("bounds", "axes")
"""Lists of numbers that say how to test, not what was seen."""
MODELS: Final = ("model_simulation",)
"""What tests a model of the world, not the world: a model is what its author says."""


def named(params: Object) -> tuple[str, ...]:
    """The observations that a plan names, each once, in order."""
    return tuple(dict.fromkeys(name for names in _references(params) for name in names))


def repeated(params: Object) -> bool:
    """Is an observation named twice in one list of data?"""
    return any(len(set(names)) < len(names) for names in _references(params))


def typed(template: str, params: Object) -> bool:
    """Does a plan itself hold what it tests its claim by?"""
    return template in MODELS or not named(params) or bool(numbers_in(params))


def resolved(params: Object, values_of: Callable[[str], Sequence[float]]) -> Object:
    """The same with numbers in place of names."""
    found: Object = _replaced(params, values_of)
    return found


def stand_ins(observations: Mapping[str, Observation]) -> Callable[[str], Sequence[float]]:
    """As many numbers as were observed, with the same ends: enough to check a plan by.

    INVARIANT: a plan that names too much is refused before there is a list of it.
    """
    counted = 0

    def values_of(name: str) -> Sequence[float]:
        nonlocal counted
        one = observations.get(name)
        if one is None:
            text = f"no observation `{shown(name)}` in this session"
            raise BeliefdError(Code.OBSERVATION_NOT_FOUND, text, {"path": "$.params"})
        counted += one.count
        if counted > MOST_VALUES:
            raise invalid(f"the plan names more than {MOST_VALUES} values", "$.params")
        return [one.low, one.high, *[one.low] * (one.count - 2)][: one.count]

    return values_of


def reference(names: Sequence[str]) -> Object:
    """What stands in a plan for the values of observations."""
    return {OBSERVED: list(names)}


def numbers_in(params: Any) -> list[float]:
    """The data in the parameters of a plan, once they are resolved."""
    if isinstance(params, dict):
        return [number for key, item in params.items() if key not in NO_DATA for number in numbers_in(item)]
    if isinstance(params, list | tuple):
        found = [item for item in params if isinstance(item, int | float)]
        return [float(item) for item in found] + [n for item in params for n in numbers_in(item)]
    return []


def _is_reference(value: Any) -> bool:
    names = value.get(OBSERVED) if isinstance(value, dict) and len(value) == 1 else None
    return isinstance(names, list | tuple) and bool(names) and all(isinstance(one, str) for one in names)


def _references(value: Any) -> Iterator[Sequence[str]]:
    if _is_reference(value):
        yield value[OBSERVED]
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)


def _replaced(value: Any, values_of: Callable[[str], Sequence[float]]) -> Any:
    if _is_reference(value):
        return [number for name in value[OBSERVED] for number in values_of(name)]
    if isinstance(value, dict):
        return {key: _replaced(item, values_of) for key, item in value.items()}
    return [_replaced(item, values_of) for item in value] if isinstance(value, list | tuple) else value
