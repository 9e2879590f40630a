"""All calls in all states at once: one variable per path that policies read, and what is fixed about each."""

from collections.abc import Mapping
from functools import cache, cached_property
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import z3
from msgspec import UNSET, Struct

from beliefd.kernel.names import ALL
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.modes import MODES
from beliefd.kernel.substrate.namespaces import WRITERS
from beliefd.kernel.substrate.predicates import CALL, CALL_FACTS
from beliefd.kernel.values import Role, Tier
from beliefd.policy.fact_names import fact_fields
from beliefd.policy.proving.conditions import Conditions
from beliefd.policy.proving.domains import ABSENT, ANY_KIND, FALSE, NUMBER, OBJECT, TEXT, TIME, TRUE, Domain
from beliefd.policy.proving.logic import Formula, either
from beliefd.policy.proving.paths import AGENT, AGENT_TIER, ARGS, MODE, MUTATES, NOW, ROLE, TOOL, TOOL_TIER

TIERS: Final = tuple(tier.name for tier in Tier)
ALWAYS: Final = (TOOL, MODE, ROLE, AGENT_TIER, NOW)
Side = Literal["old", "new"]

_NOWHERE: Final[Mapping[str, Any]] = {"kinds": (ABSENT,), "only": ()}
_CALL: Final[dict[str, dict[str, Any]]] = {
    CALL: {"kinds": (OBJECT,)},
    ARGS: {"kinds": (OBJECT,)},
    TOOL: {"kinds": (TEXT,)},
    AGENT: {"kinds": (TEXT,)},
    f"{CALL}.v": {"kinds": (NUMBER,)},
    f"{CALL}.confirmed": {"kinds": (FALSE,)},
    MUTATES: {"kinds": (TRUE, FALSE)},
    NOW: {"kinds": (TIME,), "only": ()},
    ROLE: {"kinds": (), "only": tuple(role.value for role in Role)},
    MODE: {"kinds": (), "only": MODES},
    AGENT_TIER: {"kinds": (), "only": TIERS},
    TOOL_TIER: {"kinds": (), "only": TIERS},
}
"""What the kernel writes down about a call that no person has confirmed; all other fields are never there."""


class Own(Struct, frozen=True):
    """What a tool says of itself, where a policy does not know it: anything."""

    tier: Formula
    mutates: Formula
    name: str

    def needs(self, capability: str) -> Formula:
        return z3.Bool(f"{self.name}:capability:{capability}")


class World:
    """The variables that one or two policies read. Paths mean the same for both, but for those `apart`."""

    def __init__(self, policies: Mapping[Side, Policy]) -> None:
        self.policies = policies
        self.domains: dict[str, Domain] = {}
        self.reaches = z3.Bool("may reach the network")
        for path in ALWAYS:
            self.at(path, "new").value  # noqa: B018 - it comes up in every call
        self.at(NOW, "new").timed = True
        self.conditions = {side: self._conditions(side) for side in policies}

    def _conditions(self, side: Side) -> Conditions:
        policy = self.policies[side]
        raw = {**{name: tool.schema for name, tool in policy.tools.items()}, **policy.schemas}
        return Conditions(lambda path: self.at(path, side), raw, lambda: self.at(NOW, side).time)

    def at(self, path: str, side: Side) -> Domain:
        name = f"{side}:{path}" if self.apart(path) else path
        if name not in self.domains:
            self.domains[name] = self._made(path, name, side)
        return self.domains[name]

    def apart(self, path: str) -> bool:
        """Can a path hold one thing under one policy and another under the other, for the same call?"""
        if path in (TOOL_TIER, MUTATES) or path.partition(".")[0] == "policy":
            return True
        if path == CALL_FACTS or path.startswith(f"{CALL_FACTS}."):
            return self._differ("context")
        return self._differ("rules") and any(
            path == key or path.startswith(f"{key}.") for key in self._derived
        )

    def _differ(self, member: str) -> bool:
        values = [getattr(policy, member, UNSET) for policy in self.policies.values()]
        return any(value != values[0] for value in values)

    @cached_property
    def _derived(self) -> frozenset[str]:
        """Keys that rules derive."""
        rules = [getattr(policy, "rules", UNSET) or {} for policy in self.policies.values()]
        found = [rule.get("derive", {}) for one in rules for rule in one.values() if isinstance(rule, dict)]
        return frozenset(key for derived in found if isinstance(derived, dict) for key in derived)

    def held_by_key(self, domain: Domain) -> Formula:
        """What is no object is a field of what stands under a shorter key: then one of these is there."""
        steps = domain.path.split(".")
        keys = [".".join(steps[:at]) for at in range(2, len(steps))]
        shorter = [self.domains.get(key) for key in keys]
        if steps[0] not in WRITERS or not keys or self.apart(domain.path):
            return True
        there = [one.present() for one in shorter if one is not None and not self.apart(one.path)]
        if len(there) < len(keys):
            return True
        objects = [code for code, one in domain.literals.values() if isinstance(one, dict)]
        is_key = either(domain.is_kind(OBJECT), *(domain.value == code for code in objects))
        return either(domain.absent(), is_key, *there)

    @property
    def coming_up(self) -> dict[str, Domain]:
        """The variables that formulas speak of, by name."""
        return {name: one for name, one in self.domains.items() if one.comes_up}

    @property
    def reads_time(self) -> bool:
        """Does any condition depend on what time it is?"""
        ages = (leaf.op == "age_over" for one in self.coming_up.values() for leaf in one.leaves.values())
        return bool(self.domains[NOW].leaves) or any(ages)

    def own(self, side: Side) -> Own:
        any_tool = [policy.tools.get(ALL) for policy in self.policies.values()]
        name = f"{side}:own" if any(one != any_tool[0] for one in any_tool) else "own"
        return Own(z3.Int(f"{name}:tier"), z3.Bool(f"{name}:mutates"), name)

    def _made(self, path: str, name: str, side: Side) -> Domain:
        if path == CALL or path.startswith(f"{CALL}."):
            if path.startswith(f"{ARGS}."):
                return Domain(path, name)
            return Domain(path, name, **_CALL.get(path, _NOWHERE))
        if self.policies[side].context is not UNSET and path.startswith(CALL_FACTS):
            if path == CALL_FACTS:
                return Domain(path, name, (OBJECT,))
            if path.startswith(f"{CALL_FACTS}."):
                return self._fact(path, name, side)
        head, *rest = path.split(".")
        if head not in WRITERS or not rest or not rest[0]:
            return Domain(path, name, **_NOWHERE)
        if len(rest) > 1:
            return Domain(path, name)
        # INVARIANT of the kernel: what stands under a key is an object.
        domain = Domain(path, name, (ABSENT, OBJECT))
        domain.objects_only = True
        return domain

    def _fact(self, path: str, name: str, side: Side) -> Domain:
        """A fact about the call: of its type, and there if facts are known and it is not one of those that
        may be left out."""
        field = path.removeprefix(f"{CALL_FACTS}.")
        kind = fact_fields().get(field)
        if kind is None:
            inside = field.partition(".")[0] in fact_fields()
            return Domain(path, name) if inside else Domain(path, name, **_NOWHERE)
        kinds, words = _of_type(kind)
        domain = Domain(path, name, {ABSENT, *kinds}, words)
        if ABSENT not in kinds:
            known = z3.Bool(f"facts known {side if self.apart(path) else ''}")
            domain.also.append(lambda: (domain.value != ABSENT) == known)
        return domain


@cache
def _of_type(kind: Any) -> tuple[frozenset[int], tuple[str, ...] | None]:
    """The kinds of values that a type has, and the words, where it has only some."""
    if kind is bool:
        return frozenset({TRUE, FALSE}), ()
    if kind is int:
        return frozenset({NUMBER}), ()
    if get_origin(kind) is Literal:
        return frozenset(), tuple(map(str, get_args(kind)))
    if get_origin(kind) in (Union, UnionType):
        found = [_of_type(one) for one in get_args(kind)]
        words = [word for _, some in found for word in some or ()]
        closed = all(some is not None for _, some in found)
        return frozenset[int]().union(*(kinds for kinds, _ in found)), tuple(words) if closed else None
    if kind is type(UNSET):
        return frozenset({ABSENT}), ()
    return ANY_KIND - {ABSENT}, None
