"""Capabilities that policy issues: to whom, for which tools, for how long and how much.

They are bound to their holder, who needs no token for them: who speaks is known already. They count only as
far as the policy of the moment would issue them again.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import ANY, Capability, Scope, Used, widened
from beliefd.kernel.substrate.capability_policy import CapabilityRule
from beliefd.kernel.substrate.provenance import Provenance, source_of
from beliefd.kernel.substrate.reserving import as_spent
from beliefd.kernel.values import Principal, later, seconds

NO_SECRET: Final = ""
"""No text has this for its hash: a capability without a secret is proven by nothing but who speaks."""


def rules_for(policy: Policy, who: Principal) -> tuple[CapabilityRule, ...]:
    """What policy issues to somebody."""
    rules = () if policy.capabilities is UNSET else policy.capabilities
    return tuple(rule for rule in rules if rule.issues_to(who))


def held_by_rule(session: Session, rule: CapabilityRule, who: Principal) -> Capability | None:
    """The newest capability that a rule has issued to somebody in this session."""
    name = session.substrate.issued.get(issued_key(rule.name, who.id))
    return None if name is None else session.substrate.capabilities[name]


def issued_key(rule: str, agent_id: str) -> str:
    """A line feed stands in no id."""
    return f"{rule}\n{agent_id}"


def withdrawn(policy: Policy, who: Principal, lineage: tuple[Capability, ...]) -> str | None:
    """Why policy does not stand behind a capability any more: it no longer issues it, or issues less."""
    rules = () if policy.capabilities is UNSET else policy.capabilities
    for one in lineage:
        if one.rule is UNSET:
            continue
        rule = next((rule for rule in rules if rule.name == one.rule), None)
        # What somebody may who has handed it on is not known here; that the rule is there, is.
        if rule is None or (one.agent_id == who.id and not rule.issues_to(who)):
            return f"policy no longer issues `{one.rule}` to `{one.agent_id}`"
        if (extra := widened(rule.scope, one.scope)) is not None:
            return f"policy issues less by now than `{one.capability_id}` says: not {extra}"
    return None


def fresh(session: Session, rules: Iterable[CapabilityRule], facts: Facts) -> tuple[Capability, ...]:
    """What these rules issue to who speaks, where nothing is held of them that counts.

    INVARIANT: what was revoked is not issued again, and a new one does not bring spent budgets back.
    """
    found: list[Capability] = []
    for rule in rules:
        earlier = held_by_rule(session, rule, facts.principal)
        if earlier is None or _is_over(earlier, facts):
            found.append(_by_rule(rule, facts, len(found), earlier))
    return tuple(found)


def _is_over(capability: Capability, facts: Facts) -> bool:
    if capability.revoked_at is not None:
        return False
    expired = seconds(facts.now) >= seconds(capability.expires_at)
    return expired or withdrawn(facts.policy, facts.principal, (capability,)) is not None


def _by_rule(rule: CapabilityRule, facts: Facts, index: int, earlier: Capability | None) -> Capability:
    return Capability(
        capability_id=f"cap-{facts.event_id}-{index}",
        agent_id=facts.principal.id,
        scope=rule.scope,
        issued_at=facts.now,
        expires_at=later(facts.now, rule.expires_in_seconds),
        issued_by=f"policy://{rule.name}",
        secret_hash=NO_SECRET,
        used=Used() if earlier is None else as_spent(earlier).used,
        rule=rule.name,
        **traced(facts),
    )


def traced(facts: Facts, parent: str | None = None) -> dict[str, Any]:
    """What a capability says of how it came about: nobody is asked, it is known here."""
    if facts.policy.provenance.capabilities == "plain":
        return {}
    source, through = source_of(facts.principal.role), () if parent is None else (parent,)
    said = Provenance(source=source, permissions=through, timestamp=facts.now)
    return {"policy_hash": facts.policy_hash, "provenance": said}


def still_held(session: Session, agent_id: str, policy: Policy, now: str) -> tuple[str, ...]:
    """What an agent may still call tools with, by name: what counts now, and what policy would renew."""
    rules = () if policy.capabilities is UNSET else policy.capabilities
    held, known = session.substrate, dict[str, bool]()
    names = frozenset(rule.name for rule in rules)

    def counts(one: Capability) -> bool:
        if one.rule is UNSET:
            return one.revoked_at is None and seconds(now) < seconds(one.expires_at)
        newest = held.issued.get(issued_key(one.rule, one.agent_id)) == one.capability_id
        renewed = one.agent_id == agent_id and newest
        return (
            one.rule in names
            and one.revoked_at is None
            and (renewed or seconds(now) < seconds(one.expires_at))
        )

    return tuple(
        name
        for name in sorted(held.capabilities)
        if held.capabilities[name].agent_id in (ANY, agent_id)
        and _all_count(held.capabilities, held.capabilities[name], counts, known)
    )


def _all_count(
    held: Mapping[str, Capability],
    one: Capability,
    counts: Callable[[Capability], bool],
    known: dict[str, bool],
) -> bool:
    """Do a capability and all that it came out of count? What is `known` is not walked twice."""
    path: list[Capability] = []
    above: Capability | None = one
    while above is not None and above.capability_id not in known:
        path.append(above)
        above = None if above.parent is None else held[above.parent]
    found = above is None or known[above.capability_id]
    for each in reversed(path):
        found = known[each.capability_id] = found and counts(each)
    return found


def with_issued(session: Session, issued: tuple[Capability, ...]) -> Session:
    held = session.substrate
    capabilities, names = held.capabilities, held.issued
    for one in issued:
        assert one.rule is not UNSET  # noqa: S101 - made by a rule
        capabilities = capabilities.insert(one.capability_id, one)
        names = names.insert(issued_key(one.rule, one.agent_id), one.capability_id)
    return replace(session, substrate=replace(held, capabilities=capabilities, issued=names))


def rule_covering(rules: Iterable[CapabilityRule], scope: Scope) -> CapabilityRule | str:
    """The first rule that issues as much, or what is more than the last one does."""
    extra: str | None = "everything"
    for rule in rules:
        if (extra := widened(rule.scope, scope)) is None:
            return rule
    return extra or ""
