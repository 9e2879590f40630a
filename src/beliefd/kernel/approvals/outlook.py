"""What a yes to an item would lead to at this moment, told before anybody spends one."""

from typing import Final

from msgspec import Struct

from beliefd.kernel.approvals.candidates import in_vain
from beliefd.kernel.approvals.eligibility import required_approvals
from beliefd.kernel.approvals.shaping import shapers
from beliefd.kernel.approvals.standing import of_now, revoked_among
from beliefd.kernel.approvals.state import Approval, CallSubject, DeltaSubject, IntentSubject
from beliefd.kernel.approvals.today import rules_today
from beliefd.kernel.approvals.words import people_for
from beliefd.kernel.claims.bundle import HumanApproval
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.changes import cannot_change
from beliefd.kernel.policy import ApproverRule
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import confirmed
from beliefd.kernel.values import PEOPLE, Principal, shown_time

CAME_TO: Final = {
    "ok": "approved, and it ran",
    "error": "approved, and it ran into an error",
    "unknown": "approved; nobody knows whether it ran",
    "stopped": "approved, did not run",
}
"""What became of a call that people said yes to, by its status."""


ELSEWHERE: Final = (
    "; ask the server that knows it (`--url`), or adopt the policy that names it (`beliefd policy adopt`)"
)


class Outlook(Struct, frozen=True):
    """How many must agree today, who they can be, whose yes counts by now, and why another is in vain.

    `shaped_by` are all names of those who proposed or edited it.
    """

    required: int
    deciders: tuple[str, ...]
    given: tuple[HumanApproval, ...]
    cannot_run: str | None = None
    shaped_by: frozenset[str] = frozenset()


def outlook(session: Session, approval: Approval, facts: Facts) -> Outlook:
    """Of an item that waits, under the tokens, the tools and the policy of now."""
    rules = rules_today(approval, "APPROVED", facts)
    given = tuple(one for one in approval.approvals if people_for(session, approval, (one,), rules, facts))
    return Outlook(
        max(rule.required for rule in rules),
        _deciders(rules),
        given,
        _cannot_run(session, approval, facts),
        shapers(session, approval, facts),
    )


def open_to(approval: Approval, today: Outlook, who: Principal) -> list[str]:
    """What can be decided of it. To a person whose own it is, nothing is offered that would be refused to
    them as its shaper: a no needs no second person."""
    own = who.role in PEOPLE and not today.shaped_by.isdisjoint((who.person, who.id))
    return [one for one in approval.allowed if not own or one == "REJECTED"]


def _deciders(rules: tuple[ApproverRule, ...]) -> tuple[str, ...]:
    """Who is named by every rule; the newest of them, where they do not name anybody in the same words."""
    first, *others = (required_approvals(rule) for rule in dict.fromkeys(rules))
    shared = tuple(name for name in first if all(name in other for other in others))
    return shared or (others[-1] if others else first)


def _cannot_run(session: Session, approval: Approval, facts: Facts) -> str | None:
    names = tuple(dict.fromkeys((approval.proposer.id, *approval.proposers)))
    if (gone := revoked_among(names, facts)) is not None:
        lost = "its tokens are revoked or give no right in this space, or its account is suspended"
        return f"cannot be approved now: `{gone}`, who proposed it, may not speak any more ({lost})"
    if isinstance(approval.subject, IntentSubject) and approval.subject.change is not None:
        unwarranted = cannot_change(session, approval.subject.change, facts.policy.firewall)
        return None if unwarranted is None else f"cannot be made now: {unwarranted.message}"
    if not isinstance(approval.subject, CallSubject | DeltaSubject):
        return None
    result = confirmed(session, of_now(approval, facts), facts)
    if result.on_fail == "degrade" and result.verdict != "allow":
        text = "; ".join(reason.text for reason in result.reasons)
        return f"cannot run now, and a yes lowers the mode of the session: {text}"
    why = in_vain(result)
    if why is not None and result.on_fail == "ask":
        changed = f"the rule has changed since it was asked about ({why})"
        return f"cannot run now: {changed}; proposed again, it is asked anew"
    # Only what is shown is longer: the reason itself is recorded with a yes that was in vain.
    elsewhere = ELSEWHERE if any(one.code == "UNKNOWN_TOOL" for one in result.reasons) else ""
    return None if why is None else f"cannot run now: {why}{elsewhere}"


def _let_nothing_through(approval: Approval) -> bool:
    """Was a yes to a call used up for none? What is older than the rule does not say which call it led to."""
    is_said = bool(approval.approvals) and approval.approvals[-1].speaker is not None
    settled = approval.status == "approved" and approval.successor is None
    return isinstance(approval.subject, CallSubject) and settled and is_said and not approval.led_to


def came_to(session: Session, approval: Approval) -> str | None:
    """What became of the call that was let through, in words, or why a change of belief was not made; None
    if there is neither."""
    if isinstance(approval.subject, IntentSubject):
        last = session.intents.by_id[approval.subject.intent_id].history[-1]
        return f"approved, and it was not made: {last.why}" if last.state == "failed" else None
    if _let_nothing_through(approval):
        return CAME_TO["stopped"]
    call = session.substrate.calls.get(approval.led_to) if approval.led_to else None
    if call is not None and call.status == "scheduled" and call.is_run_by_caller:
        return f"approved; its agent can make the call now, until {shown_time(call.deadline)}"
    return None if call is None else CAME_TO.get(call.status, "approved, and it runs")
