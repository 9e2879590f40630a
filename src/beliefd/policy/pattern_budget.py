"""How many patterns a policy may hold, and how large all of them may be: looked at before it is compiled."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.predicates import JOINING
from beliefd.kernel.substrate.schemas import BadPattern, BadSchema, Pattern, Schema
from beliefd.kernel.substrate.text_bounds import patterns_of

MOST_PATTERNS: Final = 2_000
MOST_COMPILED: Final = 4 * 1024 * 1024
"""All patterns of a policy together, in bytes as they are compiled."""


class Held(Struct, frozen=True):
    """Something with patterns in it: a text to look for, or a schema."""

    path: str
    raw: Any
    patterns: int

    @property
    def compiled_bytes(self) -> int:
        """Of what is none there are none: that is told elsewhere."""
        try:
            made = Pattern(self.raw) if isinstance(self.raw, str) else Schema(self.raw)
        except (BadPattern, BadSchema):
            return 0
        return made.compiled_bytes


class OverBudget(Struct, frozen=True):
    """Where there are too many patterns, or too large ones, and in words."""

    path: str
    message: str


def over_budget(policy: Policy) -> OverBudget | None:
    """INVARIANT: what a policy is compiled to takes up no more than this, whoever wrote it."""
    held, count = [], 0
    for one in _held(policy):
        count += one.patterns
        if count > MOST_PATTERNS:
            return OverBudget(one.path, f"a policy may hold {MOST_PATTERNS} patterns, and this is one more")
        held.append(one)
    size = 0
    for one in held:
        size += one.compiled_bytes
        if size > MOST_COMPILED:
            words = f"all patterns of a policy may take up {MOST_COMPILED} bytes when they are compiled"
            return OverBudget(one.path, f"{words}, and with this one it is more")
    return None


def _held(policy: Policy) -> Iterator[Held]:
    for name, tool in policy.tools.items():
        yield from _schema(tool.schema, f"$.tools.{name}.schema")
    for name, schema in policy.schemas.items():
        yield from _schema(schema, f"$.schemas.{name}")
    for kind, rules in (("constraints", policy.constraints), ("rules", policy.rules or {})):
        for key, raw in rules.items():
            if isinstance(raw, dict):
                yield from _condition(raw.get("when"), f"$.{kind}.{key}.when")
    for at, promise in enumerate(policy.prove or ()):
        yield from _condition(promise.when, f"$.prove[{at}].when")


def _schema(raw: Any, path: str) -> Iterator[Held]:
    if count := sum(1 for _ in patterns_of(raw)):
        yield Held(path, raw, count)


def _condition(raw: Any, path: str) -> Iterator[Held]:
    """What is no condition holds no patterns: it is not compiled either."""
    waiting = [(raw, path)]
    while waiting:
        one, place = waiting.pop()
        args = one.get("args") if isinstance(one, dict) else None
        if not isinstance(args, list | tuple):
            continue
        if one.get("op") in JOINING:
            waiting += [(item, f"{place}.args[{at}]") for at, item in enumerate(args)]
        elif len(args) == 2 and one.get("op") == "matches" and isinstance(args[1], str):
            yield Held(f"{place}.args[1]", args[1], 1)
        elif len(args) == 2 and one.get("op") == "schema":
            yield from _schema(args[1], f"{place}.args[1]")
