"""Conditions over small domains: every way in which the values that they name can come out."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import prod
from typing import Any, Final, get_args

from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.predicates import Predicate
from beliefd.kernel.values import Role, Tier
from beliefd.policy.samples import by_path, is_exhaustive, state_of, telling

MOST: Final = 4_096
"""So many states are looked at for one question; what needs more is left to the prover."""
NOW: Final = "2026-01-01T00:00:00.000000Z"
KERNEL: Final[dict[str, tuple[Any, ...]]] = {
    "call.v": (1,),
    "call.role": tuple(one.value for one in Role),
    "call.agent_tier": tuple(one.name for one in Tier),
    "call.mode": get_args(ModeName),
    "call.confirmed": (True, False),
}
"""What the kernel writes down of every call and change, and the values that it writes."""
NESTED_TOO_FAR: Final = 12


Values = Callable[[str], tuple[Any, ...] | None]
"""(path) -> all that can stand there, where that is known."""


def states(
    predicates: Iterable[Predicate], fits: SchemaCheck, known: Values = KERNEL.get
) -> Iterator[dict[str, Any]] | None:
    """States in which these conditions come out in every way that their values allow; None if there are too
    many, if one path leads through another, or if no values stand for all."""
    read = by_path(predicates)
    paths = sorted(read)
    if len(paths) > NESTED_TOO_FAR or any(
        other.startswith(f"{path}.") for path in paths for other in paths if other != path
    ):
        return None
    if not all(known(path) or is_exhaustive(read[path], NOW, fits) for path in paths):
        return None
    domains = [known(path) or telling(read[path], NOW, fits) for path in paths]
    if prod(map(len, domains)) > MOST:
        return None
    return (state_of(dict(zip(paths, values, strict=True)), NOW) for values in product(*domains))
