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
from beliefd.kernel.substrate.paths import keys_of
from beliefd.kernel.substrate.policy_keys import NAMES, POLICY, is_of_policy
from beliefd.kernel.substrate.predicates import CALL, CALL_FACTS
from beliefd.kernel.substrate.rulebook import NO_RULES, rule_set
from beliefd.kernel.values import Role, Tier
from beliefd.ledger.chain import policy_hash
from beliefd.policy.fact_names import fact_fields
from beliefd.policy.proving.conditions import Conditions
from beliefd.policy.proving.domains import ABSENT, ANY_KIND, FALSE, NUMBER, OBJECT, TEXT, TIME, TRUE, Domain
from beliefd.policy.proving.logic import Formula, both, either, implied, negated
from beliefd.policy.proving.paths import AGENT, AGENT_TIER, ARGS, MODE, MUTATES, NOW, ROLE, TOOL, TOOL_TIER

TIERS: Final = tuple(tier.name for tier in Tier)
POLICY_MODE: Final = f"{POLICY}.mode"
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
    ROLE: {"kinds": (), "only": tuple(role.value for role in Role)},
    MODE: {"kinds": (), "only": MODES},
    AGENT_TIER: {"kinds": (), "only": TIERS},
    TOOL_TIER: {"kinds": (), "only": TIERS},
}
"""What the kernel writes down about a call that no person has confirmed; all other fields are never there."""


class Own(Struct, frozen=True):
    """What a tool says of itself, where a policy does not know it: anything. It `reaches` the network, is
    `offline`, or does not say."""

    tier: Formula
    mutates: Formula
    reaches: Formula
    offline: Formula
    name: str

    def needs(self, capability: str) -> Formula:
        return z3.Bool(f"{self.name}:capability:{capability}")


class World:
    """The variables that one or two policies read. Paths mean the same for both, but for those `apart`."""

    def __init__(self, policies: Mapping[Side, Policy]) -> None:
        self.policies = policies
        self.domains: dict[str, Domain] = {}
        self.rules = {
            side: rule_set(one, policy_hash(one)) if one.rules else NO_RULES for side, one in policies.items()
        }
        self.names_host = z3.Bool("names a host")
        for path in ALWAYS:
            self.at(path, "new").value  # noqa: B018 - it comes up in every call
        self.conditions = {side: self._conditions(side) for side in policies}

    def _conditions(self, side: Side) -> Conditions:
        policy = self.policies[side]
        raw = {**{name: tool.schema for name, tool in policy.tools.items()}, **policy.schemas}
        return Conditions(lambda path, fields: self.at(path, side, fields), raw, self.rules[side])

    def at(self, path: str, side: Side, fields: tuple[str, ...] = ()) -> Domain:
        """The variable of a path, or of `fields` in a copy of what stands there: a longer key hides fields,
        and not those of a copy."""
        path = MODE if path == POLICY_MODE else path
        whole = ".".join((path, *fields))
        name = f"{side}:{whole}" if self.apart(path) else whole
        name = f"{name} copied from {path}" if fields else name
        if name not in self.domains:
            self.domains[name] = self._made(whole, name, side)
        return self.domains[name]

    def apart(self, path: str) -> bool:
        """Can a path hold one thing under one policy and another under the other, for the same call?"""
        if path in (TOOL_TIER, MUTATES) or is_of_policy(path):
            return True
        if path == NOW:
            return len(set(map(_tells_time, self.policies.values()))) > 1
        if path == CALL_FACTS or path.startswith(f"{CALL_FACTS}."):
            return self._differ("context")
        # What holds a field where one of them derives a fact falls under that one, and not under the other.
        return self._differ("rules") and any(key in self._parents for key in keys_of(path))

    def unlike(self, path: str) -> bool:
        """Can what a condition reads at a path differ under the two policies, for the same call?"""
        derived = any(key in one.by_key for one in self.rules.values() for key in keys_of(path))
        return self.apart(path) or (derived and not self._derive_alike)

    @cached_property
    def _strict(self) -> bool:
        """Is a state that can be read in two ways denied, and not taken by its longest key?"""
        return all(policy.arbitration.strict for policy in self.policies.values())

    @cached_property
    def _derive_alike(self) -> bool:
        members = ("rules", "schemas", "tools", "arbitration")
        reads_policy = any(one.reads_policy for one in self.rules.values())
        return not reads_policy and not any(map(self._differ, members))

    def _differ(self, member: str) -> bool:
        values = [getattr(policy, member, UNSET) for policy in self.policies.values()]
        return any(value != values[0] for value in values)

    @cached_property
    def _parents(self) -> frozenset[str]:
        """Keys above those that rules derive."""
        return frozenset(key for one in self.rules.values() for key in one.parents if "." in key)

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
        return either(domain.absent(), domain.is_object(), *there)

    def holds_fields(self, domain: Domain) -> Formula:
        """What is no object, and stands right below a key of two names, is a field of what stands there: it
        is counted with the others, and is what a value has in its place, if no longer key hides that."""
        key = ".".join(domain.path.split(".")[:2])
        holder = self.domains.get(key)
        if holder is None or not (holder.objects_only and holder.comes_up):
            return True
        names = ((name.rpartition("."), one) for name, one in self.coming_up.items())
        below = {field: one for (above, _, field), one in names if above == key}
        found = [
            implied(holder.value == code, one.is_in(value, field, hidden=not self._strict))
            for code, value in holder.literals.values()
            for field, one in below.items()
        ]
        if holder.counted:
            # The version is a field, too, and always there.
            others = (one for field, one in below.items() if field != "v")
            fields = [both(one.present(), negated(one.is_object())) for one in others]
            counted = z3.Sum([z3.If(is_field, 1, 0) for is_field in fields])
            found.append(implied(holder.is_kind(OBJECT), holder.length > counted))
        return both(*found)

    def read_twice(self, domain: Domain) -> Formula:
        """An argument to which a path of two steps leads in two ways has a name of its own, and is a field
        under the shorter one. Of longer paths nothing is said."""
        above, _, field = domain.path.rpartition(".")
        if above.rpartition(".")[0] != ARGS:
            return True
        found = [domain.present()]
        if (holder := self.domains.get(above)) is not None and holder.comes_up:
            found.append(holder.is_object())
            found += [holder.value != code for code, one in holder.objects if field not in one]
        return implied(domain.twofold, both(*found))

    @property
    def coming_up(self) -> dict[str, Domain]:
        """The variables that formulas speak of, by name."""
        return {name: one for name, one in self.domains.items() if one.comes_up}

    def usual(self) -> dict[str, Formula]:
        """By path, where not every value is one that the evaluator is asked about."""
        found = ((one.path, one.usual()) for one in self.coming_up.values())
        return {path: one for path, one in found if one is not True}

    @property
    def reads_time(self) -> bool:
        """Does any condition depend on what time it is?"""
        ages = (leaf.op == "age_over" for one in self.coming_up.values() for leaf in one.leaves.values())
        return any(one.path == NOW and one.leaves for one in self.domains.values()) or any(ages)

    def own(self, side: Side) -> Own:
        any_tool = [policy.tools.get(ALL) for policy in self.policies.values()]
        name = f"{side}:own" if any(one != any_tool[0] for one in any_tool) else "own"
        mutates, reaches, offline = (z3.Bool(f"{name}:{word}") for word in ("mutates", "reaches", "offline"))
        return Own(z3.Int(f"{name}:tier"), mutates, reaches, offline, name)

    def _made(self, path: str, name: str, side: Side) -> Domain:
        if path == CALL or path.startswith(f"{CALL}."):
            if path.startswith(f"{ARGS}."):
                return Domain(path, name)
            if path == NOW and _tells_time(self.policies[side]):
                return _now(name)
            return Domain(path, name, **_CALL.get(path, _NOWHERE))
        if self.policies[side].context is not UNSET and path.startswith(CALL_FACTS):
            if path == CALL_FACTS:
                return Domain(path, name, (OBJECT,))
            if path.startswith(f"{CALL_FACTS}."):
                return self._fact(path, name, side)
        if is_of_policy(path):
            return self._of_policy(path, name, side)
        head, _, rest = path.partition(".")
        if head not in WRITERS or not rest:
            return Domain(path, name, **_NOWHERE)
        if "." in rest:
            return Domain(path, name)
        # INVARIANT of the kernel: what stands under a key is an object.
        domain = Domain(path, name, (ABSENT, OBJECT))
        domain.objects_only = True
        return domain

    def _of_policy(self, path: str, name: str, side: Side) -> Domain:
        """What the kernel says of the policy itself. Who adopted it, and when, is not known here."""
        policy, field = self.policies[side], path.removeprefix(f"{POLICY}.")
        if path == POLICY:
            return Domain(path, name, (OBJECT,))
        if field == "hash":
            return Domain(path, name, (), (policy_hash(policy),))
        if field == "version" and policy.version is not UNSET:
            return Domain(path, name, (), (policy.version,))
        if field == "version":
            domain = Domain(path, name, (NUMBER,), ())
            domain.also.append(lambda: domain.number == policy.v)
            return domain
        return Domain(path, name, (ABSENT, TEXT)) if field in NAMES else Domain(path, name, **_NOWHERE)

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


def _tells_time(policy: Policy) -> bool:
    """What is decided as it was before there was a time in a call finds none there."""
    return policy.arbitration.constraints > 1


def _now(name: str) -> Domain:
    domain = Domain(NOW, name, (TIME,))
    domain.timed = domain.narrow = True
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
