"""What somebody said about an item of the inbox, and the event that records it."""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.eligibility import may_decide
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.approvals.shaping import shapers
from beliefd.kernel.approvals.standing import is_recorded, names_behind, people_among, speaker_of
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.approvals.today import rules_today, tier_today
from beliefd.kernel.claims.bundle import HumanApproval
from beliefd.kernel.claims.gates.human import GATE as HUMAN
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import ApproverRule
from beliefd.kernel.state import Session

WORDS: Final[dict[str, Literal["APPROVED", "REJECTED"]]] = {"APPROVED": "APPROVED", "REJECTED": "REJECTED"}
"""INVARIANT: no other decision counts as a word for or against what waits."""


def heard(approval: Approval, command: DecideApproval, facts: Facts) -> Approval:
    """The item with one more yes or no on it."""
    word = HumanApproval(
        approver=facts.principal.id,
        timestamp=facts.now,
        decision=WORDS[command.decision],
        reason=command.reason,
    )
    if is_recorded(facts):
        who = facts.principal
        word = replace(word, gates=approval.asking, owner=who.owner, role=who.role)
    return replace(approval, approvals=(*approval.approvals, word))


def agreed(session: Session, approval: Approval, facts: Facts) -> bool:
    """Have as many people said yes as every rule wants?"""
    rules = rules_today(approval, "APPROVED", facts)
    required = max(rule.required for rule in rules)
    if not is_recorded(facts):
        return len(approval.approvals) >= required
    return len(people_for(session, approval, approval.approvals, rules, facts)) >= required


def people_for(
    session: Session,
    approval: Approval,
    words: Iterable[HumanApproval],
    rules: Iterable[ApproverRule],
    facts: Facts,
) -> list[frozenset[str]]:
    """INVARIANT: people count, not ids, and each as long as they might still say it: with the credentials and
    the role of now, under the rules of now, and not about what they shaped themselves."""
    found: list[frozenset[str]] = []
    for word in words:
        who = speaker_of(word, facts)
        if who is UNSET or (who is not None and all(may_decide(rule, who) for rule in rules)):
            found.append(names_behind(word, facts))
    shaped_it = shapers(session, approval, facts)
    return [one for one in people_among(found) if not one & shaped_it]


def answered_gates(session: Session, approval: Approval, facts: Facts) -> frozenset[str]:
    """The gates whose questions people were shown and have answered: on this item, and on those before it."""
    if not is_recorded(facts):
        return frozenset({*approval.approved_gates, approval.gate, HUMAN})
    before = [word for word in approval.earlier if word.decision == "APPROVED"]
    if any(word.gates is UNSET for word in before):
        return frozenset({*approval.approved_gates, *approval.asking})
    rule = facts.policy.approvals.rule_for(tier_today(approval, facts))
    answered = {
        gate
        for gate in approval.approved_gates
        if len(people_for(session, approval, _about(before, gate), (rule,), facts)) >= rule.required
    }
    return frozenset({*answered, *approval.asking})


def _about(words: Iterable[HumanApproval], gate: str) -> list[HumanApproval]:
    return [word for word in words if gate in (word.gates or ())]


def decided(command: DecideApproval, facts: Facts, approval: Approval) -> ApprovalDecided:
    return ApprovalDecided(
        event_id=facts.event_id,
        approval_id=command.approval_id,
        decision=command.decision,
        approver=facts.principal.id,
        approval=approval,
    )


def proposers_of_edit(approval: Approval, facts: Facts) -> tuple[str, ...]:
    """INVARIANT: an edit is a new proposal by whoever edited it; somebody else must approve it."""
    return tuple(dict.fromkeys((*approval.proposers, facts.principal.id)))


def not_offered(approval: Approval) -> Refused:
    """The answer to a decision that there is not for what waits."""
    text = f"it can be {', '.join(approval.allowed)}; to change it, reject it: an edit is a new proposal"
    return refused(Code.FORBIDDEN, text, "$.decision")
