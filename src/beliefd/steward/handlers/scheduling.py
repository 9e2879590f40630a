"""Handlers of modes, interrupts and episodes."""

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.commands import Interrupt, Resume, SetMode
from beliefd.kernel.scheduling.episodes import limits_of, used_of
from beliefd.kernel.scheduling.events import Interrupted, ModeSet, Resumed, SignalNoted
from beliefd.kernel.scheduling.interruptions import interruption_at, only_people_resume
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.modes import is_over, mode_at, rule_of, set_at
from beliefd.protocol.scheduling import (
    EpisodeView,
    InterruptAnswer,
    InterruptionView,
    LoweredView,
    ScheduleAnswer,
    ScheduleView,
    SetModeView,
)
from beliefd.steward.call import Call
from beliefd.steward.effects.tools import ToolCalls
from beliefd.steward.environment import Environment
from beliefd.steward.handlers.shared import read_as, view_of
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit, raise_if_refused, submit_for, submit_on_behalf


class SchedulingHandlers(Struct, frozen=True):
    """When a session may act, and how much."""

    positions: Positions
    submit: Submit
    tools: ToolCalls
    environment: Environment

    async def show_schedule(self, call: Call) -> ScheduleView:
        position = await self.positions.existing(call.session_id)
        return self._schedule(position.counted, position.head.seq)

    async def set_mode(self, call: Call) -> ScheduleAnswer:
        command = await read_as(call, SetMode)
        outcome, _ = await submit_for(call, self.submit, call.session_id, command, ModeSet)
        return self._answer(outcome)

    async def resume(self, call: Call) -> ScheduleAnswer:
        command = await read_as(call, Resume)
        outcome, _ = await submit_for(call, self.submit, call.session_id, command, Resumed)
        return self._answer(outcome)

    async def interrupt(self, call: Call) -> InterruptAnswer:
        command = await read_as(call, Interrupt)
        # It is carried out also if who asked for it goes away meanwhile.
        return await self.tools.background.see_through(self._interrupted(call, command))

    async def _interrupted(self, call: Call, command: Interrupt) -> InterruptAnswer:
        outcome = await submit_on_behalf(call, self.submit, call.session_id, command)
        raise_if_refused(outcome)
        event = outcome.event
        assert isinstance(event, Interrupted | SignalNoted)  # noqa: S101 - what is not refused is one of these
        if isinstance(event, SignalNoted):
            return self._told(outcome, interrupted=False, why=event.message)
        if not outcome.repeated:
            self.tools.interrupt(event)
        return self._told(
            outcome,
            stopped=[one.call_id for one in event.stopped],
            cancelled=list(event.cancelled),
            elsewhere=list(event.elsewhere),
        )

    def _told(
        self,
        outcome: Outcome,
        interrupted: bool = True,
        why: str = "",
        stopped: list[str] | None = None,
        cancelled: list[str] | None = None,
        elsewhere: list[str] | None = None,
    ) -> InterruptAnswer:
        return InterruptAnswer(
            interrupted=interrupted,
            why=why,
            stopped=stopped or [],
            cancelled=cancelled or [],
            elsewhere=elsewhere or [],
            schedule=self._schedule(outcome.session, outcome.head.seq),
            audit_event_id=outcome.head.event_id,
        )

    def _answer(self, outcome: Outcome) -> ScheduleAnswer:
        schedule = self._schedule(outcome.session, outcome.head.seq)
        return ScheduleAnswer(schedule=schedule, audit_event_id=outcome.head.event_id)

    def _schedule(self, session: Session, seq: int) -> ScheduleView:
        now, policy = self.environment.now(), self.tools.in_force.policy
        mode = mode_at(session, policy, now)
        return view_of(
            ScheduleView,
            rule_of(mode, policy),
            mode=mode,
            set_to=set_at(session, now),
            set_mode=_set_mode(session, now),
            lowered=_lowered(session, mode, now),
            interruption=_interruption(session, now),
            episode=_episode(session, policy, mode, now),
            wakes=_wakes(session),
            seq=seq,
        )


def _set_mode(session: Session, now: str) -> SetModeView | None:
    given = session.substrate.set_mode
    if given is None or is_over(given, now):
        return None
    return view_of(SetModeView, given, until=given.until or None)


def _lowered(session: Session, mode: str, now: str) -> LoweredView | None:
    held = session.substrate
    if held.lowered_by is None or mode == set_at(session, now):
        return None
    return view_of(LoweredView, held.lowered_by, mode=mode, since=held.mode_since)


def _interruption(session: Session, now: str) -> InterruptionView | None:
    held = interruption_at(session, now)
    if held is None:
        return None
    return view_of(InterruptionView, held, until=held.until or None, only_people=only_people_resume(held))


def _wakes(session: Session) -> list[str]:
    held = session.scheduling
    return sorted([*held.wakes, *(at for one in held.raised.values() for at in one.wakes)])


def _episode(session: Session, policy: Policy, mode: str, now: str) -> EpisodeView | None:
    held = session.scheduling.episode
    if held is None:
        return None
    return EpisodeView(since=held.since, used=used_of(held, now), limits=limits_of(policy, mode))
