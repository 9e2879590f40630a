"""Setting modes, interrupting and resuming.

INVARIANT: a program can make a session do less, and never more than a person or policy lets it.
"""

from typing import Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.commands import Interrupt, Resume, SetMode
from beliefd.kernel.scheduling.events import Interrupted, ModeSet, Resumed, SignalNoted
from beliefd.kernel.scheduling.interruptions import interruption_at, may_resume, only_people_resume
from beliefd.kernel.scheduling.policy import NO_SCHEDULING, InterruptPolicy
from beliefd.kernel.scheduling.state import Interruption, Raised, Scheduling
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import ModeChange
from beliefd.kernel.substrate.modes import MODES, is_over, mode_at
from beliefd.kernel.substrate.state import NORMAL_MODE, LoweredBy, SetModeRecord, ToolCall
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import PEOPLE, seconds


def set_mode(session: Session, command: SetMode, facts: Facts) -> ModeSet | Refused:
    if facts.principal.role not in PEOPLE:
        return _lowered(session, command, facts)
    if command.until is not UNSET and seconds(command.until) <= seconds(facts.now):
        return refused(Code.CONFLICT, f"`until` has passed: it is {facts.now}", "$.until")
    if command.mode == NORMAL_MODE:
        return ModeSet()
    given = SetModeRecord(
        mode=command.mode,
        by=facts.principal.id,
        reason=command.reason,
        since=facts.now,
        until=command.until,
    )
    return ModeSet(set_mode=given)


def _lowered(session: Session, command: SetMode, facts: Facts) -> ModeSet | Refused:
    """INVARIANT: what a program lowers recovers to what a person has set, and never above it."""
    mode = mode_at(session, facts.policy, facts.now)
    if MODES.index(command.mode) <= MODES.index(mode):
        text = f"a program can only lower the mode, which is `{mode}`; a person can set `{command.mode}`"
        return refused(Code.FORBIDDEN, text, "$.mode")
    if command.until is not UNSET:
        text = "what a program lowers recovers by policy; only people say until when"
        return refused(Code.FORBIDDEN, text, "$.until")
    over = True if is_over(session.substrate.set_mode, facts.now) else UNSET
    by = LoweredBy(by=facts.principal.id, reason=command.reason)
    told = by if facts.policy.arbitration.whole else UNSET
    return ModeSet(lowered=ModeChange(mode=command.mode, since=facts.now, over=over, by=told))


def interrupt(session: Session, command: Interrupt, facts: Facts) -> Interrupted | SignalNoted:
    held, owner = session.scheduling, _owner(facts)
    before = _raised_before(held, owner)
    if facts.principal.role not in PEOPLE:
        noted = _only_noted(session, command, before, facts)
        if noted is not None:
            return replace(noted, owner=owner)
    elif facts.policy.arbitration.scheduling > 1:
        # People always may: what they raise counts for nobody.
        return _interrupted(session, command, facts, before)
    limits = _limits(facts.policy)
    recent = _recent(before.wakes, limits, facts.now)
    # As many as can ever count, and the newest for the cooldown.
    kept = (*recent[-(limits.wakes or 1) :], facts.now)
    after = Raised(wakes=kept, excited=before.excited or command.kind == "surprisal")
    return _interrupted(session, command, facts, after)


def _owner(facts: Facts) -> str | UnsetType:
    """By whom interrupts are counted; nothing for people, and where all are counted together."""
    apart = facts.policy.arbitration.scheduling > 1 and facts.principal.role not in PEOPLE
    return facts.principal.person if apart else UNSET


def _raised_before(held: Scheduling, owner: str | UnsetType) -> Raised:
    """INVARIANT: what one has raised mutes nobody else."""
    if owner is UNSET:
        return Raised(wakes=held.wakes, excited=held.excited)
    return held.raised.get(owner, Raised())


def _limits(policy: Policy) -> InterruptPolicy:
    return (policy.scheduling or NO_SCHEDULING).interrupts


def _only_noted(session: Session, command: Interrupt, held: Raised, facts: Facts) -> SignalNoted | None:
    """Why a program's signal does not interrupt; None if it does."""
    limits, now, kind = _limits(facts.policy), facts.now, command.kind
    if kind == "surprisal" and (noted := _calm(command, limits, held.excited)) is not None:
        return noted
    last = seconds(now) - seconds(held.wakes[-1]) if held.wakes else None
    if interruption_at(session, now) is not None:
        return _noted(kind, "interrupted", "the session is interrupted already", held.excited)
    if last is not None and last < limits.cooldown_seconds:
        pause = limits.cooldown_seconds
        text = f"the last interrupt was {int(max(last, 0))} s ago, and {pause} s must lie between two"
        return _noted(kind, "cooldown", text, held.excited)
    recent = _recent(held.wakes, limits, now)
    if limits.wakes is not None and len(recent) >= limits.wakes:
        text = f"there were {len(recent)} interrupts within {limits.window_seconds} s, and no more may be"
        return _noted(kind, "window", text, held.excited)
    return None


def _calm(command: Interrupt, limits: InterruptPolicy, excited: bool) -> SignalNoted | None:
    """A level that does not interrupt: too low, or the last one that did has not fallen since."""
    level = 1.0 if command.level is UNSET else command.level
    if level < limits.rising:
        text = f"a level of {level} is below {limits.rising}, from which on a surprisal interrupts"
        return _noted(command.kind, "below", text, excited and level > limits.falling)
    if excited and limits.falling < limits.rising:
        text = f"no level of {limits.falling} or less was told since the last one that interrupted"
        return _noted(command.kind, "not_calmed", text, excited)
    return None


def _noted(kind: str, why: str, message: str, excited: bool) -> SignalNoted:
    return SignalNoted(signal=kind, why=why, message=message, excited=excited)  # type: ignore[arg-type]


def _recent(wakes: tuple[str, ...], limits: InterruptPolicy, now: str) -> tuple[str, ...]:
    return tuple(one for one in wakes if seconds(now) - seconds(one) < limits.window_seconds)


def _interrupted(session: Session, command: Interrupt, facts: Facts, raised: Raised) -> Interrupted:
    cancels = command.running == "cancel"
    calls = session.substrate.calls
    under_way = [calls[name] for name in sorted(calls) if calls[name].is_under_way]
    running = [one for one in under_way if one.status == "running"]
    return Interrupted(
        interruption=Interruption(
            kind=command.kind,
            reason=command.reason,
            by=facts.principal.id,
            by_person=facts.principal.role in PEOPLE,
            at=facts.now,
            owner=_owner(facts),
        ),
        wakes=raised.wakes,
        excited=raised.excited,
        stopped=tuple(
            replace(one, status="stopped", outcome=facts.event_id) for one in under_way if _ends(one, cancels)
        ),
        cancelled=tuple(one.call_id for one in running if cancels and not one.is_run_by_caller),
        elsewhere=tuple(one.call_id for one in running if one.is_run_by_caller),
        carries=_carries(session, facts),
    )


def _carries(session: Session, facts: Facts) -> bool | UnsetType:
    """INVARIANT: no program gets a new episode by interrupting and resuming; that is for people and rests."""
    if facts.principal.role in PEOPLE or session.scheduling.episode is None:
        return UNSET
    return facts.policy.arbitration.strict or UNSET


def _ends(call: ToolCall, cancels: bool) -> bool:
    """What waits for its turn never begins. What a person approved and its caller has not begun waits on,
    unless all is to be cancelled: it cannot begin before the session is resumed."""
    return call.status == "scheduled" and call.basis is not UNSET and (cancels or not call.is_run_by_caller)


def resume(session: Session, _: Resume, facts: Facts) -> Resumed | Refused:
    held = interruption_at(session, facts.now)
    if held is None:
        return refused(Code.CONFLICT, "the session is not interrupted", "$")
    if not may_resume(held, facts.principal, facts.policy):
        others = "only people" if only_people_resume(held) else "only its owner's programs and people"
        return refused(Code.FORBIDDEN, f"{others} can resume what {held.by} interrupted ({held.kind})", "$")
    return Resumed(ended=held, carries=_carries(session, facts))


RULES: Final[Rules] = {SetMode: set_mode, Interrupt: interrupt, Resume: resume}
