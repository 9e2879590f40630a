"""Which calls an update can change at all, and which of its changes lie outside of what is proved."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import UNSET

from beliefd.kernel.names import ALL
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import widened
from beliefd.kernel.substrate.capability_policy import CapabilityRule
from beliefd.kernel.substrate.constraints import INVARIANTS, Constraint
from beliefd.kernel.substrate.modes import MODES, rule_of
from beliefd.kernel.substrate.namespaces import write_capability
from beliefd.kernel.substrate.predicates import schemas_named
from beliefd.kernel.substrate.rulebook import reads_policy, rule_set, rulebook
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.ledger.chain import policy_hash

FOR_ALL: Final = ("arbitration", "context", "rules", "schemas", "modes")
"""Members that bear on every call."""
ARGUMENTS: Final = tuple(name for name in ToolDefinition.__struct_fields__ if name.endswith("_args"))
"""Members of a tool that say which of its arguments are paths, addresses and commands."""
WHOLE: Final = ("catalogues", "scheduling")
"""Members that decide whether a call is let through, and that nothing is proved about."""
CHECKED: Final = ("sources", "inputs", "permissions")
"""Members of `provenance` by which proposals are refused."""
VERSIONS: Final = ("scheduling", "meaning")
"""Members of `arbitration` of which an earlier one lets through what a later one refuses."""
WRITES: Final = write_capability("")


def affected(
    old: Policy, new: Policy, before: dict[str, Constraint], after: dict[str, Constraint]
) -> frozenset[str] | None:
    """The tools whose calls an update may change; None if that may be any."""
    if any(getattr(old, name, UNSET) != getattr(new, name, UNSET) for name in FOR_ALL):
        return None
    if any(reads_policy(one, policy_hash(one)) for one in (old, new)):
        return None
    tools = set(_differing(old.tools, new.tools))
    tools |= set(_differing(old.tiers.tools, new.tiers.tools))
    # A condition about another tool may name the schema of one.
    if any(name.endswith(ALL) for name in tools) or _named(old, new) & tools:
        return None
    tools |= {*old.approvals.tools_without_person} ^ {*new.approvals.tools_without_person}
    for one in changed(before, after):
        if one.subject.tool_id is None:
            return None
        tools.add(one.subject.tool_id)
    return frozenset(tools)


def _named(*policies: Policy) -> frozenset[str]:
    """The schemas that conditions name."""
    found = frozenset[str]()
    for one in policies:
        conditions = (constraint.when for constraint in rulebook(one, policy_hash(one)).constraints)
        clauses = (clause.when for rule in rule_set(one, policy_hash(one)).rules for clause in rule.clauses)
        found |= frozenset().union(*(schemas_named(when) for when in (*conditions, *clauses) if when))
    return found


def _differing(left: Mapping[str, object], right: Mapping[str, object]) -> Iterator[str]:
    return (name for name in {*left, *right} if left.get(name) != right.get(name))


def changed(before: dict[str, Constraint], after: dict[str, Constraint]) -> Iterator[Constraint]:
    for key in {**before, **after}:
        was, now = before.get(key), after.get(key)
        if was is None or now is None or was.raw != now.raw or was.malformed != now.malformed:
            yield from (one for one in (was, now) if one is not None)


def outside(
    old: Policy, new: Policy, before: Mapping[str, Constraint], after: Mapping[str, Constraint]
) -> list[str]:
    """What an update may loosen beside constraints on calls, tools, tiers and modes; named as the policy
    names it."""
    found = [name for name in WHOLE if getattr(old, name, UNSET) != getattr(new, name, UNSET)]
    found += _on_changes(old, new, before, after)
    found += [f"provenance.{name}" for name in CHECKED if _unchecked(new, name) and not _unchecked(old, name)]
    was, now = old.arbitration, new.arbitration
    found += [f"arbitration.{name}" for name in VERSIONS if getattr(now, name) < getattr(was, name)]
    found += _said_no_more(old, new)
    if any(not _is_issued(rule, old) for rule in new.capabilities or ()):
        found.append("capabilities")
    shares = [(rule_of(mode, old).budget_share, rule_of(mode, new).budget_share) for mode in MODES]
    if any(after > before for before, after in shares):
        found.append("modes.rules.budget_share")
    return found


def _unchecked(policy: Policy, name: str) -> bool:
    return str(getattr(policy.provenance, name)) == "any"


def _on_changes(
    old: Policy, new: Policy, before: Mapping[str, Constraint], after: Mapping[str, Constraint]
) -> Iterator[str]:
    """Invariants, and constraints on writes, that may let more changes of the state through."""
    schemas = {*_differing(old.schemas, new.schemas), *_differing(old.tools, new.tools)}
    for key in sorted({**before, **after}):
        was, now = before.get(key), after.get(key)
        same = was is not None and now is not None and (was.raw, was.malformed) == (now.raw, now.malformed)
        if key.startswith(INVARIANTS) and was is not None:
            if not same:
                yield key
            elif was.when is not None and schemas_named(was.when) & schemas:
                yield "schemas"
            elif old.rules != new.rules:
                yield "rules"
        elif not same and any(_loosens_writes(was, now)):
            yield key


def _loosens_writes(was: Constraint | None, now: Constraint | None) -> Iterator[bool]:
    """Is a deny gone, or an allow new? What is about everything is about calls, too, and proved for these."""
    for one, effect in ((was, "deny"), (now, "allow")):
        if one is not None and (one.subject.capability or "").startswith(WRITES):
            yield one.effect == effect


def _said_no_more(old: Policy, new: Policy) -> Iterator[str]:
    """What a tool says, and scopes, budgets and hooks go by, where it says less of it or something else."""
    for tool_id, before in sorted(old.tools.items()):
        after = new.tools.get(tool_id, ToolDefinition())
        for name in ARGUMENTS:
            if not {*(getattr(before, name) or ())} <= {*(getattr(after, name) or ())}:
                yield f"tools.{tool_id}.{name}"
        if before.uses and before.uses != after.uses:
            yield f"tools.{tool_id}.uses"
        if before.executor != after.executor:
            yield f"tools.{tool_id}.executor"
        if tool_id == ALL and before.schema != after.schema:
            yield f"tools.{tool_id}.schema"


def _is_issued(rule: CapabilityRule, old: Policy) -> bool:
    """Did the policy before issue as much, to as many, for as long?"""
    return any(
        {*rule.roles} <= {*one.roles}
        and {*rule.principals} <= {*one.principals}
        and rule.expires_in_seconds <= one.expires_in_seconds
        and widened(one.scope, rule.scope) is None
        for one in old.capabilities or ()
    )
