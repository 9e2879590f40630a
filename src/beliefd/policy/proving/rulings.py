"""What one policy makes of all calls: gates, constraints, and the verdict they come to, as formulas."""

import hashlib
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, Final

import msgspec
import z3
from msgspec import UNSET

from beliefd.kernel.names import ALL, covers
from beliefd.kernel.policy import HUMAN_ALWAYS
from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.modes import MODES, turned_off
from beliefd.kernel.substrate.predicates import parse
from beliefd.kernel.substrate.tools import CallFinding, ToolDefinition
from beliefd.kernel.values import Tier
from beliefd.policy.proving.domains import TEXT, TRUE, Domain
from beliefd.policy.proving.logic import Formula, both, either, implied, negated
from beliefd.policy.proving.paths import AGENT_TIER, ARGS, MODE, MUTATES, ROLE, TOOL, TOOL_TIER
from beliefd.policy.proving.schemas import fits_arguments, learn_arguments
from beliefd.policy.proving.world import TIERS, Side, World

HARD: Final = frozenset({"block", "degrade"})
"""What ends a call; the others let it wait."""


def bears_on_calls(constraint: Constraint) -> bool:
    return constraint.malformed is not None or not constraint.key.startswith(INVARIANTS)


class Ruling:
    """One policy on one side of a question. What it reads is learned when it is made."""

    def __init__(
        self, world: World, side: Side, constraints: Iterable[Constraint], scope: frozenset[str] | None = None
    ) -> None:
        """With `scope`, all is about calls of these tools."""
        self.world, self.side, self.policy = world, side, world.policies[side]
        self.constraints = [one for one in constraints if bears_on_calls(one) and _is_about(one, scope)]
        named = self.policy.tools.items()
        self.tools = {name: one for name, one in named if name != ALL and (scope is None or name in scope)}
        self.shared: frozenset[str] = frozenset()
        self.capabilities = {one.subject.capability for one in self.constraints if one.subject.capability}
        """Those that constraints and questions are about."""
        self.unsure: set[str] = set()
        """Tools with a schema that is not worked out."""
        self._other: Ruling | None = None
        self.conditions = world.conditions[side]
        self.own = world.own(side)
        self._formulas: dict[str, Formula] = {}
        tools = world.at(TOOL, side)
        for one in self.constraints:
            if one.when is not None and one.malformed is None:
                self.conditions.learn(one.when)
            if one.subject.tool_id is not None:
                tools.learn(one.subject.tool_id)
        self._learn_tools(tools)

    def _learn_tools(self, tools: Domain) -> None:
        policy = self.policy
        for name in (*self.tools, *policy.approvals.tools_without_person):
            tools.learn(name)
        for pattern in policy.tiers.tools:
            # The bare prefix is a name, too, and is not covered.
            tools.learn(pattern.removesuffix(ALL))
            if pattern.endswith(ALL) and pattern[:-1] not in tools.prefixes:
                tools.prefixes.append(pattern[:-1])

    def learn_question(self, asked: Guarantee) -> None:
        if asked.tool is not UNSET:
            self.world.at(TOOL, self.side).learn(asked.tool)
        if asked.when is not UNSET:
            self.conditions.learn(parse(asked.when))
        if asked.capability is not UNSET:
            self.capabilities.add(asked.capability)

    def learn_schemas(self) -> None:
        """After all paths are known: the values that the tools' schemas name for them."""
        for domain in self._arguments():
            for tool in self.tools.values():
                learn_arguments(tool.schema, domain)

    def _arguments(self) -> list[Domain]:
        return [one for one in self.world.domains.values() if one.path.startswith(f"{ARGS}.")]

    def share(self, other: "Ruling", keys: frozenset[str]) -> None:
        """What says the same under both policies is one formula."""
        self.shared, self._other = keys, other

    def less(self, key: str) -> "Ruling":
        """The same policy without one constraint."""
        found = copy(self)
        found.constraints = [one for one in self.constraints if one.key != key]
        for name in ("allowable", "asks_person"):
            vars(found).pop(name, None)
        return found

    def about(self, asked: Guarantee) -> list[Formula]:
        """Is it one of the calls that a question is about?"""
        fixed = {ROLE: asked.role, AGENT_TIER: asked.agent_tier, MODE: asked.mode, TOOL: asked.tool}
        found = [
            self.world.at(path, self.side).equals(str(one)) for path, one in fixed.items() if one is not UNSET
        ]
        if asked.capability is not UNSET:
            found.append(self._needed(asked.capability))
        if asked.when is not UNSET:
            when = parse(asked.when)
            found += [self.conditions.formula(when), negated(self.conditions.unjudged(when))]
        return found

    def tool(self, tool_id: str) -> Formula:
        return self.world.at(TOOL, self.side).equals(tool_id)

    def _covered(self, pattern: str) -> Formula:
        """Is the tool one that a pattern covers?"""
        tools = self.world.at(TOOL, self.side)
        named = [tools.value == code for code, name in tools.literals.values() if covers(pattern, name)]
        if not pattern.endswith(ALL):
            return either(*named)
        longer = [at for at, one in enumerate(tools.prefixes, 1) if one.startswith(pattern[:-1])]
        others = True if pattern == ALL else either(*(tools.prefix == at for at in longer))
        return either(*named, both(tools.is_kind(TEXT), others))

    def at_least(self, tier: int) -> Formula:
        """Is the tool's tier, raised by policy, this or a higher one?"""
        if tier <= 0:
            return True
        named = [self.tool(name) for name, one in self.tools.items() if Tier[one.tier] >= tier]
        patterns = self.policy.tiers.tools.items()
        raised = [self._covered(pattern) for pattern, name in patterns if Tier[name] >= tier]
        return either(self.own.tier >= tier, *named, *raised)

    @cached_property
    def mutates(self) -> Formula:
        named = (self.tool(name) for name, one in self.tools.items() if one.mutates)
        return either(self.own.mutates, *named)

    @cached_property
    def reaches(self) -> Formula:
        """May the call reach the network? A tool is believed that it does, and that it does not if the
        policy does not say that it does."""
        said = [(self.tool(name), one.network) for name, one in self.tools.items()]
        believed = [one for one, network in said if network is False]
        online = either(*(one for one, network in said if network is True))
        silent = both(negated(self.own.offline), negated(either(*believed)))
        return either(self.world.names_host, online, self.own.reaches, silent)

    def needs(self, capability: str) -> Formula:
        named = (self.tool(name) for name, one in self.tools.items() if capability in one.capabilities)
        return either(self.own.needs(capability), *named)

    def applies(self, one: Constraint) -> Formula:
        if one.subject.tool_id is not None:
            return self.tool(one.subject.tool_id)
        return True if one.subject.capability is None else self._needed(one.subject.capability)

    def _needed(self, capability: str) -> Formula:
        key = f"capability {capability}"
        if key not in self._formulas:
            self._formulas[key] = self.needs(capability)
        return self._formulas[key]

    def holds(self, one: Constraint) -> Formula:
        """Does its condition hold? One that cannot be judged does not."""
        if one.when is None:
            return True
        return both(negated(self.conditions.unjudged(one.when)), self.conditions.formula(one.when))

    def stands(self, one: Constraint) -> Formula:
        """Does a constraint stand in the way of the call?"""
        if one.key in self.shared and self._other is not None:
            return self._other.stands(one)
        if one.key not in self._formulas:
            fires = True if one.malformed is not None else self.holds(one)
            against = negated(fires) if one.effect == "allow" and one.malformed is None else fires
            self._formulas[one.key] = both(self.applies(one), either(against, self._unclear(one)))
        return self._formulas[one.key]

    def _unclear(self, one: Constraint) -> Formula:
        """Does it read what can be read in two ways, or is too long? Then it denies, whatever it says."""
        too_long = False if one.when is None else self.conditions.unjudged(one.when)
        return either(self.conditions.twofold(one.deep), too_long)

    def unclear(self, shared: frozenset[str] = frozenset()) -> Formula:
        """Does a constraint deny that else lets a call wait?"""
        waiting = (one for one in self._of(shared) if one.on_fail not in HARD)
        unclear = ((one, self._unclear(one)) for one in waiting)
        return either(*(both(self.applies(one), found) for one, found in unclear if found is not False))

    @cached_property
    def allowable(self) -> Formula:
        """Is there an allow that is about the call?"""
        allows = [one for one in self.constraints if one.effect == "allow" and one.malformed is None]
        subjects = {one.subject: one for one in allows}
        return either(*map(self.applies, subjects.values()))

    @cached_property
    def asks_person(self) -> Formula:
        """Does the tool's tier call for a person?"""
        least = min(Tier[name] for name in HUMAN_ALWAYS)
        without = either(*map(self.tool, self.policy.approvals.tools_without_person))
        return both(self.allowable, self.at_least(least), negated(without))

    @cached_property
    def reached(self) -> Formula:
        """Does the call get as far as the constraints? Its tier, its mode and its arguments are in order, and
        the rules can be applied."""
        if self.conditions.derived.rules.problem is not None:
            return False
        return both(self._tier_suffices(), negated(self._turned_off()), self.fits)

    def _tier_suffices(self) -> Formula:
        agent = self.world.at(AGENT_TIER, self.side)
        enough = {at: either(*map(agent.equals, TIERS[at:])) for at in range(1, len(TIERS))}
        return both(*(implied(self.at_least(at), found) for at, found in enough.items()))

    def _turned_off(self) -> Formula:
        """INVARIANT: what the kernel switches off is asked of the kernel."""
        found = []
        for mode in MODES:
            at = self.world.at(MODE, self.side).equals(mode)
            for mutates in (True, False):
                for reaches in (True, False):
                    call = CallFinding(definition=ToolDefinition(mutates=mutates), network=reaches)
                    if turned_off(mode, self.policy, call):
                        changes = self.mutates if mutates else negated(self.mutates)
                        found.append(both(at, changes, self.reaches if reaches else negated(self.reaches)))
        return either(*found)

    @cached_property
    def fits(self) -> Formula:
        """Do the arguments fit the schema that the policy has for the tool?"""
        paths, found = self._arguments(), []
        for name, tool in self.tools.items():
            if not tool.schema:
                continue
            needed, exact = fits_arguments(tool.schema, paths)
            if not exact:
                self.unsure.add(name)
                needed = both(needed, z3.Bool(f"fits {_digest(tool.schema)}"))
            found.append(implied(self.tool(name), needed))
        return both(*found)

    def hard(self, shared: frozenset[str] = frozenset()) -> Formula:
        """Does something end the call? Not asked of what is `shared` with another policy, by key."""
        hard = (self.stands(one) for one in self._of(shared) if one.on_fail in HARD)
        return either(*hard, self.unclear(shared))

    def soft(self, shared: frozenset[str] = frozenset()) -> Formula:
        return either(*(self.stands(one) for one in self._of(shared) if one.on_fail not in HARD))

    def _of(self, shared: frozenset[str]) -> Iterator[Constraint]:
        return (one for one in self.constraints if one.key not in shared)

    def allows(self) -> list[Formula]:
        """It is let through, and no person is asked: all of these, and no constraint stands in the way."""
        return [self.reached, self.allowable, negated(self.asks_person)]

    def denies_not(self) -> list[Formula]:
        """It is let through or waits for somebody: all of these, and nothing hard stands in the way."""
        return [self.reached, either(self.allowable, self.waits_unallowed), negated(self.unclear())]

    @property
    def waits_unallowed(self) -> Formula:
        """Does it wait for somebody although nothing allows it? Only where not all failures count."""
        return False if self.policy.arbitration.counts_all else self.soft()

    def passing(self, of: Iterable[Constraint]) -> list[Formula]:
        return [negated(self.stands(one)) for one in of]

    @property
    def hard_ones(self) -> list[Constraint]:
        return [one for one in self.constraints if one.on_fail in HARD]

    def axioms(self) -> Iterator[Formula]:
        own = self.own
        yield own.tier >= 0
        yield own.tier < len(TIERS)
        yield negated(both(own.reaches, own.offline))
        unneeded = (negated(own.needs(name)) for name in sorted(self.capabilities))
        words = map(negated, (own.mutates, own.reaches, own.offline))
        nothing = both(own.tier == 0, *words, *unneeded)
        for name, tool in self.tools.items():
            # What its caller runs is what the policy says it is.
            if tool.is_run_by_caller:
                yield implied(self.tool(name), nothing)
        if (tier := self._read(TOOL_TIER)) is not None:
            for at, name in enumerate(TIERS):
                above = False if at + 1 == len(TIERS) else self.at_least(at + 1)
                yield tier.equals(name) == both(self.at_least(at), negated(above))
        if (mutates := self._read(MUTATES)) is not None:
            yield mutates.is_kind(TRUE) == self.mutates

    def _read(self, path: str) -> Domain | None:
        return self.world.domains.get(f"{self.side}:{path}")


def _is_about(constraint: Constraint, scope: frozenset[str] | None) -> bool:
    named = constraint.subject.tool_id
    return scope is None or named is None or named in scope


def _digest(schema: dict[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(schema, order="sorted")).hexdigest()
