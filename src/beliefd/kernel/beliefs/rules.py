"""What each belief verb is allowed to do: one pure function per verb, each answering with an event."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, UnsetType

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
from beliefd.kernel.beliefs.survivors import Universe
from beliefd.kernel.citing import label_of
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import WITNESSED, Label
from beliefd.kernel.scan.whole_words import folded
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import UNDER_WAY
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import shown

NAMED_IDS = 20
"""How many offending ids an error spells out; the rest are counted."""

SEPARATORS: Final = re.compile("[:=/\uff1a]")


def eliminate(session: Session, command: Eliminate, facts: Facts) -> Eliminated | Refused:
    applied, fallen, unknown = session.beliefs.survivors.split(command.eliminated)
    if unknown and session.options.unknown_hypotheses == "reject":
        return _unknown_ids(unknown)
    label: Label | UnsetType = UNSET
    if command.cites is not UNSET:
        found = label_of(session, command.cites, facts)
        if isinstance(found, Refused):
            return found
        label = found
    if facts.policy.beliefs.eliminations.require == WITNESSED and label != WITNESSED:
        return _attested(facts)
    return Eliminated(eliminated=tuple(applied), ignored=_ignored(fallen, unknown), label=label)


def merge(session: Session, command: Merge, facts: Facts) -> Merged | Refused:
    """INVARIANT: a merge is a union of eliminations, so neither order nor repetition matters.

    What policy takes from nobody here, it does not take from a replica either: that is ignored.
    """
    named = {name for one in command.eliminations for name in one.eliminated}
    seen = {name for one in command.eliminations if one.label == WITNESSED for name in one.eliminated}
    admitted = seen if facts.policy.beliefs.eliminations.require == WITNESSED else named
    applied, fallen, unknown = session.beliefs.survivors.split(admitted)
    witnessed = tuple(name for name in applied if name in seen)
    return Merged(
        eliminated=tuple(applied),
        ignored=_ignored(fallen, [*unknown, *(named - admitted)]),
        witnessed=witnessed or UNSET,
    )


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


def declare_conclusion(session: Session, command: DeclareConclusion, facts: Facts) -> ConclusionRuled:
    accepted, reason = _may_conclude(session, command.conclusion_id, facts)
    return ConclusionRuled(conclusion_id=command.conclusion_id, accepted=accepted, reason=reason)


def _may_conclude(session: Session, conclusion_id: str, facts: Facts) -> tuple[bool, str]:
    if (active := session.beliefs.active_obligation_id) is not None:
        return False, f"obligation `{active}` has no approved exit"
    if facts.policy.beliefs.conclusions == "survivors_only":
        # INVARIANT: what was ruled out is not concluded.
        named = hypothesis_in(conclusion_id, session.beliefs.survivors.universe)
        if named is not None and named not in session.beliefs.survivors:
            return False, f"hypothesis `{shown(named)}` was eliminated; `why` says by what"
    return True, "no obligation is active"


def hypothesis_in(conclusion_id: str, universe: Universe) -> str | None:
    """The hypothesis that a conclusion names, as a whole or after a colon, `=` or `/`; None if it names none.

    Case, spaces, look-alikes and what nobody sees do not make another name of it.
    """
    starts = (0, *(found.end() for found in SEPARATORS.finditer(conclusion_id)))
    spelt = (name for start in starts for name in _spelt(conclusion_id[start:]))
    return next((name for name in spelt if universe.position(name) is not None), None)


def _spelt(name: str) -> tuple[str, ...]:
    """A name, and other spellings under which it may be declared."""
    plain = name.strip().strip(".,;!")
    return name, plain, plain.casefold(), folded(plain)


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
    running = (name for name in session.substrate.calls if session.substrate.calls[name].status in UNDER_WAY)
    return min(running, default=None)


def _pending_approval(session: Session) -> str | None:
    waiting = (aid for aid in session.approvals.by_id if session.approvals.by_id[aid].status == "pending")
    return min(waiting, default=None)


def _ignored(fallen: list[str], unknown: list[str]) -> tuple[str, ...]:
    return tuple(sorted(fallen + unknown)) if unknown else tuple(fallen)


def _attested(facts: Facts) -> Refused:
    text = (
        "policy takes witnessed eliminations only, and nobody but "
        f"`{facts.principal.id}` vouches for this one; name a call, an observation or a run in `cites` "
        "that somebody else has witnessed"
    )
    return refused(Code.NOT_WARRANTED, text, "$.cites")


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
