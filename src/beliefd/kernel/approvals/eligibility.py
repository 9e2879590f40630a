"""Who may decide what waits, until when, and which standing grant speaks for them."""

from collections.abc import Collection, Iterable

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.standing import authority_of, is_by_rights, names_of
from beliefd.kernel.approvals.state import Approval, ApprovalDecision, Grant
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import HUMAN_ALWAYS, ApprovalPolicy, ApproverRule
from beliefd.kernel.state import Session
from beliefd.kernel.values import PEOPLE, Principal, seconds


def required_approvals(rule: ApproverRule) -> tuple[str, ...]:
    """Who can decide, as the bundle's `required_approvals` tells it."""
    return (*rule.principals, *(f"role://{role}" for role in rule.roles))


def may_decide(rule: ApproverRule, principal: Principal) -> bool:
    # INVARIANT: whoever a rule names, a program approves nothing.
    named = principal.role in rule.roles or principal.id in rule.principals
    return named and principal.role in PEOPLE


def rules_for(
    approval: Approval, decision: ApprovalDecision, policy: ApprovalPolicy, tier_today: str, recorded: bool
) -> tuple[ApproverRule, ...]:
    """Every rule that whoever decides must meet.

    To let something pass, that is the rule it was put into the inbox with and today's, for its tier then and
    for its tier today: a policy that has become stricter holds for what waits already, one that has become
    looser does not. To reject something that nobody may approve, those will do who decide everything else.
    """
    if decision == "REJECTED":
        return (policy.otherwise if approval.rule.nobody else approval.rule,)
    today = tuple(policy.rule_for(tier) for tier in dict.fromkeys((approval.tier, tier_today)))
    if not approval.escalated:
        return approval.rule, *today
    # INVARIANT: waiting makes nothing easier. Who decides is another, how many must agree is not, and what
    # nobody may approve today nobody approves. Entries that are older than this rule are decided without it.
    numbers = tuple(ApproverRule(roles=PEOPLE, required=rule.required) for rule in today if recorded)
    nobody = tuple(rule for rule in today if recorded and rule.nobody)
    return approval.rule, *numbers, policy.escalate_to, *nobody


def escalated_rule(rule: ApproverRule, policy: ApprovalPolicy, recorded: bool) -> ApproverRule | None:
    """Who decides what waited under a rule in vain: as many as before, at least. None if they are too few."""
    others = policy.escalate_to
    if not recorded or others.required >= rule.required:
        return others
    enough = others.roles or len(set(others.principals)) >= rule.required
    return replace(others, required=rule.required) if enough else None


def expired(approval: Approval, now: str) -> bool:
    return not approval.overdue and seconds(now) >= seconds(approval.expires_at)


def grantable(tier: str, policy: ApprovalPolicy) -> bool:
    """One person's consent in advance cannot stand for two people, nor for nobody."""
    rule = policy.rule_for(tier)
    return tier not in HUMAN_ALWAYS and rule.required == 1 and not rule.nobody


def covering_grant(
    session: Session, tiers: Iterable[str], people: Collection[str], facts: Facts
) -> str | None:
    """The standing grant under which the speaker needs no person for these tiers, if there is one.

    `people` are all who propose it, or have shaped it before.
    """
    policy = facts.policy.approvals
    needed = {tier for tier in tiers if tier in policy.require_human}
    if not needed or not all(grantable(tier, policy) for tier in needed):
        return None
    for grant_id in sorted(session.approvals.grants):
        grant: Grant = session.approvals.grants[grant_id]
        live = grant.revoked_at is None and grant.uses < grant.max_uses
        timely = seconds(facts.now) < seconds(grant.expires_at)
        covers = grant.principal == facts.principal.id and needed <= set(grant.tiers)
        if live and timely and covers and _giver_stands(grant, needed, people, facts):
            return grant_id
    return None


def _giver_stands(grant: Grant, needed: Iterable[str], people: Collection[str], facts: Facts) -> bool:
    """INVARIANT: a grant is worth what its giver may say now, under the policy of now, to somebody else: to
    none of the people who propose or shaped it, whoever speaks for them."""
    found = authority_of(facts)
    if found is None:
        return True
    giver = found.get(grant.granted_by, grant.giver)
    if giver is None or giver is UNSET:
        return giver is UNSET  # older than the record of who gave it, and no credential is known
    rules = (facts.policy.approvals.rule_for(tier) for tier in needed)
    if not all(may_decide(rule, giver) for rule in rules):
        return False
    then = names_of(grant.giver or giver, facts) if is_by_rights(facts) else ()
    return not {*names_of(giver, facts), *then} & set(people)
