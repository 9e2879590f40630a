"""What each belief verb is allowed to do: one pure function per verb, each answering with an event."""

from collections.abc import Iterable
from typing import Final

from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    Eliminate,
    EnterObligation,
    Merge,
    RequestExit,
    RequestTermination,
)
from beliefd.kernel.beliefs.events import (
    ConclusionRuled,
    Eliminated,
    ExitRuled,
    Merged,
    ObligationEntered,
    TerminationRuled,
)
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules

NAMED_IDS = 20
"""How many offending ids an error spells out; the rest are counted."""


def eliminate(session: Session, command: Eliminate, _: Facts) -> Eliminated | Refused:
    applied, fallen, unknown = session.beliefs.survivors.split(command.eliminated)
    if unknown and session.options.unknown_hypotheses == "reject":
        return _unknown_ids(unknown)
    return Eliminated(eliminated=tuple(applied), ignored=_ignored(fallen, unknown))


def merge(session: Session, command: Merge, _: Facts) -> Merged | Refused:
    """INVARIANT: a merge is a union of eliminations, so neither order nor repetition matters."""
    applied, fallen, unknown = session.beliefs.survivors.split(
        name for elimination in command.eliminations for name in elimination.eliminated
    )
    return Merged(eliminated=tuple(applied), ignored=_ignored(fallen, unknown))


def enter_obligation(session: Session, command: EnterObligation, _: Facts) -> ObligationEntered | Refused:
    known = session.beliefs.obligations.get(command.obligation_id)
    if known is not None and known.active:
        # Entering again would set its count back to zero: that is how an obligation is dodged or never met.
        text = f"obligation `{command.obligation_id}` is active; exit it before entering it again"
        return refused(Code.CONFLICT, text, "$.obligation_id")
    left = session.beliefs.survivors.count
    if command.min_total_eliminations > left:
        text = (
            f"`min_total_eliminations` of {command.min_total_eliminations} can never be met: "
            f"{left} survivors are left; ask for at most {left}"
        )
        return refused(Code.INVALID_REQUEST, text, "$.min_total_eliminations", limit=left)
    return ObligationEntered(
        obligation_id=command.obligation_id, min_total_eliminations=command.min_total_eliminations
    )


def request_exit(session: Session, command: RequestExit, _: Facts) -> ExitRuled | Refused:
    obligation = session.beliefs.obligations.get(command.obligation_id)
    if obligation is None:
        text = f"no obligation `{command.obligation_id}` was entered in this session"
        return refused(Code.OBLIGATION_NOT_FOUND, text, "$.obligation_id")
    if not obligation.active:
        return ExitRuled(
            obligation_id=command.obligation_id,
            approved=True,
            reason="exit was approved before; nothing to do",
        )
    done = session.beliefs.eliminations - obligation.entered_at
    needed = obligation.min_total_eliminations
    return ExitRuled(
        obligation_id=command.obligation_id,
        approved=done >= needed,
        reason=f"{done} of {needed} eliminations since entry",
    )


def declare_conclusion(session: Session, command: DeclareConclusion, _: Facts) -> ConclusionRuled:
    active = session.beliefs.active_obligation_id
    reason = "no obligation is active" if active is None else f"obligation `{active}` has no approved exit"
    return ConclusionRuled(conclusion_id=command.conclusion_id, accepted=active is None, reason=reason)


def request_termination(session: Session, command: RequestTermination, facts: Facts) -> TerminationRuled:
    approved, reason = _may_terminate(session, command.context.get("force") is True, facts)
    return TerminationRuled(approved=approved, reason=reason)


def _may_terminate(session: Session, force: bool, facts: Facts) -> tuple[bool, str]:
    """Obligations first, always; then one settled survivor, or force by a role that policy names."""
    rules, beliefs = facts.policy.termination, session.beliefs
    if (active := beliefs.active_obligation_id) is not None:
        return False, f"obligation `{active}` is active"
    if (waiting := _pending_approval(session)) is not None:
        # A closed session can record nothing more: what waits in the inbox would wait there for ever.
        return False, f"approval `{waiting}` is pending; decide or withdraw it first"
    if (running := _running_call(session)) is not None:
        return False, f"call `{running}` is still running"
    role = facts.principal.role
    if force and role in rules.force_roles:
        return True, f"forced by role `{role}`"
    if beliefs.survivors.count != 1:
        if force:
            return (
                False,
                f"role `{role}` may not force; it takes {_listed(rules.force_roles) or 'nobody'}",
            )
        # INVARIANT: zero survivors is a contradiction, never certainty, and ends only by force.
        return False, f"{beliefs.survivors.count} survivors are left; exactly one is needed, or force"
    if beliefs.conclusion_streak < rules.stability_window:
        return False, (
            f"the last {rules.stability_window} conclusions must agree; {beliefs.conclusion_streak} do"
        )
    return True, "one survivor is left and no obligation is active"


def _running_call(session: Session) -> str | None:
    running = (
        name for name in session.substrate.calls if session.substrate.calls[name].status == "scheduled"
    )
    return min(running, default=None)


def _pending_approval(session: Session) -> str | None:
    waiting = (aid for aid in session.approvals.by_id if session.approvals.by_id[aid].status == "pending")
    return min(waiting, default=None)


def _ignored(fallen: list[str], unknown: list[str]) -> tuple[str, ...]:
    return tuple(sorted(fallen + unknown)) if unknown else tuple(fallen)


def _unknown_ids(unknown: list[str]) -> Refused:
    named = unknown[:NAMED_IDS]
    more = f" and {len(unknown) - NAMED_IDS} more" if len(unknown) > NAMED_IDS else ""
    text = f"not declared in this session: {_listed(named)}{more}"
    return refused(Code.INVALID_HYPOTHESIS_ID, text, "$.eliminated", hypotheses=named, count=len(unknown))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


RULES: Final[Rules] = {
    Eliminate: eliminate,
    EnterObligation: enter_obligation,
    RequestExit: request_exit,
    DeclareConclusion: declare_conclusion,
    RequestTermination: request_termination,
    Merge: merge,
}
