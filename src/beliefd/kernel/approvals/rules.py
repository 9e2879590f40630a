"""What people, proposers and time may do to what waits: decide, edit, withdraw, expire, grant.

What follows from a decision depends on the subject: `bundles`, `candidates` and `intents` say it. The checks
that come before are the same for all.
"""

from collections.abc import Callable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals import bundles, candidates, definitions, intents
from beliefd.kernel.approvals.commands import (
    DecideApproval,
    ExpireApproval,
    GiveGrant,
    RevokeGrant,
    WithdrawApproval,
)
from beliefd.kernel.approvals.eligibility import (
    escalated_rule,
    expired,
    grantable,
    may_decide,
    required_approvals,
)
from beliefd.kernel.approvals.events import (
    ApprovalClosed,
    ApprovalDecided,
    Ending,
    GrantGiven,
    GrantRevoked,
)
from beliefd.kernel.approvals.shaping import shapers
from beliefd.kernel.approvals.standing import (
    is_by_rights,
    is_recorded,
    names_behind,
    names_of,
    person_of,
    revoked_among,
)
from beliefd.kernel.approvals.state import (
    OPEN,
    Approval,
    BundleSubject,
    CallSubject,
    DefinitionSubject,
    DeltaSubject,
    Grant,
    InformationSubject,
    IntentSubject,
)
from beliefd.kernel.approvals.today import rules_today
from beliefd.kernel.approvals.words import decided, not_offered
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import HUMAN_ALWAYS, ApproverRule
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import PEOPLE, later

Decide = Callable[[Session, Approval, DecideApproval, Facts], ApprovalDecided | Refused]
Close = Callable[[Session, ApprovalClosed, Approval, str, Facts], ApprovalClosed]

DECIDES: Final[dict[type, Decide]] = {
    BundleSubject: bundles.decide,
    CallSubject: candidates.decide,
    DeltaSubject: candidates.decide,
    IntentSubject: intents.decide,
    DefinitionSubject: definitions.decide,
}
CLOSES: Final[dict[type, Close]] = {
    BundleSubject: bundles.close,
    InformationSubject: bundles.close,
    IntentSubject: intents.close,
}
"""What else ends with an item of the inbox, by what the item is about."""


def decide_approval(session: Session, command: DecideApproval, facts: Facts) -> ApprovalDecided | Refused:
    """INVARIANT: a word counts for the exact content only, by an eligible other person, in time, once."""
    approval = session.approvals.by_id.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if command.decision == "SEEN":
        return _seen(approval, command, facts)
    problem = (
        _not_open(approval, facts)
        or _not_eligible(session, approval, command, facts)
        or _not_bound(approval, command)
        or _proposed_by_nobody(approval, command, facts)
    )
    return problem or DECIDES[type(approval.subject)](session, approval, command, facts)


def _seen(approval: Approval, command: DecideApproval, facts: Facts) -> ApprovalDecided | Refused:
    """Takes what is for information off the list. INVARIANT: nothing comes of it but that."""
    if approval.status != "information":
        return not_offered(approval) if approval.status == "pending" else _settled(approval)
    if facts.principal.role not in PEOPLE:
        text = f"role `{facts.principal.role}` reads no inbox: a person has to have seen it"
        return refused(Code.FORBIDDEN, text, "$.decision")
    return _not_bound(approval, command) or decided(
        command, facts, approval.closed("seen", by=facts.principal.id)
    )


def withdraw_approval(session: Session, command: WithdrawApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.by_id.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status != "pending":
        return _settled(approval)
    if facts.principal.id not in approval.proposers:
        return refused(Code.FORBIDDEN, "only who proposed it can withdraw it", "$.approval_id")
    why = f"withdrawn by `{facts.principal.id}`" + (f": {command.reason}" if command.reason else "")
    after = approval.closed("withdrawn", by=facts.principal.id)
    return _ended(session, approval, "withdrawn", after, why, facts)


def expire_approval(session: Session, command: ExpireApproval, facts: Facts) -> ApprovalClosed | Refused:
    approval = session.approvals.by_id.get(command.approval_id)
    if approval is None:
        return _no_such_approval(command.approval_id)
    if approval.status not in OPEN:
        return _settled(approval)
    if not expired(approval, facts.now):
        return refused(Code.CONFLICT, f"it is open until {approval.expires_at}", "$.approval_id")
    rule = escalated_rule(approval.rule, facts.policy.approvals, is_recorded(facts))
    outcome = _on_expiry(approval, rule, facts)
    successor = None if outcome != "escalate" or rule is None else _escalated(approval, rule, facts)
    if outcome == "keep":
        after = replace(approval, overdue=True)
    else:
        after = approval.closed("timed_out", None if successor is None else successor.approval_id)
    why = f"nobody decided until {approval.expires_at}"
    return _ended(session, approval, outcome, after, why, facts, successor)


def _on_expiry(approval: Approval, rule: ApproverRule | None, facts: Facts) -> Ending:
    if isinstance(approval.subject, InformationSubject):
        return "lapse"
    outcome = facts.policy.approvals.on_expiry
    # INVARIANT: time makes nothing easier. What nobody may approve finds no approver by waiting, nor does
    # what takes more people than there are to escalate to; what has been escalated has nowhere else to go.
    if outcome == "escalate" and (approval.rule.nobody or approval.escalated or rule is None):
        return "refuse"
    return outcome


def _escalated(approval: Approval, rule: ApproverRule, facts: Facts) -> Approval:
    return replace(
        approval,
        approval_id=f"apr-{facts.event_id}",
        event_id=facts.event_id,
        rule=rule,
        opened_at=facts.now,
        expires_at=later(facts.now, facts.policy.approvals.expires_seconds),
        approvals=(),
        earlier=(*approval.earlier, *approval.approvals),
        escalated=True,
    )


def _ended(
    session: Session,
    approval: Approval,
    outcome: Ending,
    after: Approval,
    why: str,
    facts: Facts,
    successor: Approval | None = None,
) -> ApprovalClosed:
    event = ApprovalClosed(
        event_id=facts.event_id,
        approval_id=approval.approval_id,
        outcome=outcome,
        approval=after,
        successor=successor,
    )
    close = CLOSES.get(type(approval.subject))
    return event if close is None else close(session, event, approval, why, facts)


def _not_open(approval: Approval, facts: Facts) -> Refused | None:
    if approval.status != "pending":
        return _settled(approval)
    if expired(approval, facts.now):
        return refused(Code.CONFLICT, f"its time ran out at {approval.expires_at}", "$.approval_id")
    return None


def _not_eligible(
    session: Session, approval: Approval, command: DecideApproval, facts: Facts
) -> Refused | None:
    who = facts.principal
    if who.id in approval.proposers:
        return refused(Code.FORBIDDEN, "who proposed it cannot decide it", "$.approval_id")
    # A no needs no second person: whoever holds the credentials of an agent may stop it.
    names = frozenset(names_of(who, facts))
    if command.decision != "REJECTED" and names & shapers(session, approval, facts):
        text = "who shaped it cannot approve it, under whatever name: another person must decide"
        return refused(Code.FORBIDDEN, text, "$.approval_id")
    rules = rules_today(approval, command.decision, facts)
    if any(rule.nobody for rule in rules):
        verb = "reject" if command.decision == "REJECTED" else "approve or edit"
        return refused(Code.FORBIDDEN, f"policy lets nobody {verb} this", "$.decision")
    for rule in rules:
        if not may_decide(rule, who):
            able = ", ".join(f"`{name}`" for name in required_approvals(rule))
            return refused(Code.FORBIDDEN, f"`{who.id}` may not decide it; it takes {able}", "$")
    if command.decision == "APPROVED" and any(
        names & names_behind(word, facts) for word in approval.approvals
    ):
        return refused(Code.CONFLICT, "you have approved it already; another person must agree", "$")
    return None


def _proposed_by_nobody(approval: Approval, command: DecideApproval, facts: Facts) -> Refused | None:
    """INVARIANT: what is let pass has proposers who may still propose."""
    if command.decision not in ("APPROVED", "MODIFIED"):
        return None
    gone = revoked_among(tuple(dict.fromkeys((approval.proposer.id, *approval.proposers))), facts)
    if gone is None:
        return None
    why = "its tokens are revoked"
    if is_by_rights(facts):
        why += ", or give no right in this space, or its account is suspended"
    text = f"`{gone}` proposed it and may not speak any more: {why}. It can be rejected"
    return refused(Code.CONFLICT, text, "$.approval_id", revoked=gone)


def _not_bound(approval: Approval, command: DecideApproval) -> Refused | None:
    if command.content_hash != approval.content_hash:
        return refused(
            Code.CONFLICT,
            "`content_hash` is not that of what waits; look at it again",
            "$.content_hash",
            content_hash=approval.content_hash,
        )
    edits, is_intent = command.decision == "MODIFIED", isinstance(approval.subject, IntentSubject)
    if (edits and not is_intent) != bool(command.claims):
        return refused(
            Code.INVALID_REQUEST, "`claims` go with MODIFIED of a bundle, and only with it", "$.claims"
        )
    if command.to_status is not None and not (is_intent and edits):
        text = "`to_status` goes with MODIFIED of an intent, and only with it"
        return refused(Code.INVALID_REQUEST, text, "$.to_status")
    return None


def _settled(approval: Approval) -> Refused:
    """Too late: tell what was decided and by whom, so that the second of two people knows."""
    if approval.status == "information":
        return refused(
            Code.CONFLICT,
            "it is for information; there is nothing to decide, it can be SEEN",
            "$.approval_id",
        )
    by = "" if approval.decided_by is None else f", by `{approval.decided_by}`"
    return refused(
        Code.CONFLICT,
        f"approval `{approval.approval_id}` is {approval.status} already{by}",
        "$.approval_id",
        status=approval.status,
        decided_by=approval.decided_by,
        successor=approval.successor,
    )


def _no_such_approval(approval_id: str) -> Refused:
    return refused(Code.APPROVAL_NOT_FOUND, f"no approval `{approval_id}` in this session", "$.approval_id")


def give_grant(session: Session, command: GiveGrant, facts: Facts) -> GrantGiven | Refused:
    # INVARIANT: no standing consent exists for DELETE or PRIVILEGE.
    forbidden = [tier for tier in command.tiers if tier in HUMAN_ALWAYS]
    if forbidden:
        return refused(Code.FORBIDDEN, f"{forbidden[0]} cannot be granted in advance", "$.tiers")
    for tier in command.tiers:
        if not may_decide(facts.policy.approvals.rule_for(tier), facts.principal):
            return refused(Code.FORBIDDEN, f"`{facts.principal.id}` may not approve {tier}", "$.tiers")
        if not grantable(tier, facts.policy.approvals):
            return refused(Code.FORBIDDEN, f"{tier} takes several people each time", "$.tiers")
    who = facts.principal
    if {who.id, who.person} & {command.principal, person_of(command.principal, facts)}:
        text = "nobody can grant to themselves, nor to an agent of their own"
        return refused(Code.FORBIDDEN, text, "$.principal")
    grant = Grant(
        grant_id=f"grant-{facts.event_id}",
        principal=command.principal,
        tiers=command.tiers,
        granted_by=facts.principal.id,
        granted_at=facts.now,
        expires_at=later(facts.now, command.expires_in_seconds),
        max_uses=command.max_uses,
        giver=facts.principal if is_recorded(facts) else UNSET,
    )
    return GrantGiven(grant=grant)


def revoke_grant(session: Session, command: RevokeGrant, facts: Facts) -> GrantRevoked | Refused:
    grant = session.approvals.grants.get(command.grant_id)
    if grant is None:
        return refused(Code.NOT_FOUND, f"no grant `{command.grant_id}` in this session", "$.grant_id")
    if facts.principal.role not in PEOPLE:
        return refused(Code.FORBIDDEN, f"role `{facts.principal.role}` may not revoke grants", "$.grant_id")
    return GrantRevoked(grant=replace(grant, revoked_at=grant.revoked_at or facts.now))


RULES: Final[Rules] = {
    DecideApproval: decide_approval,
    WithdrawApproval: withdraw_approval,
    ExpireApproval: expire_approval,
    GiveGrant: give_grant,
    RevokeGrant: revoke_grant,
}
