"""Calls about modes, interrupts and episodes."""

from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given
from beliefd.protocol.scheduling import InterruptAnswer, ScheduleAnswer, ScheduleView, SchedulingRows


class SchedulingCalls:
    """When a session may act, and how much."""

    @Method
    def show_schedule(self, session_id: str) -> Request[ScheduleView]:
        """The mode, what interrupts the session, and its episode."""
        return Request(SchedulingRows.show_schedule, {"session_id": session_id})

    @Method
    def set_mode(
        self,
        session_id: str,
        mode: str,
        reason: str,
        *,
        until: str | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[ScheduleAnswer]:
        """Set the mode of a session, until a time or until it is set again; programs can only lower it."""
        body = {"mode": mode, "reason": reason, **given(until=until)}
        return command(SchedulingRows.set_mode, {"session_id": session_id}, body, **conditions)

    @Method
    def interrupt(
        self,
        session_id: str,
        kind: str,
        reason: str,
        *,
        running: str = "drain",
        level: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[InterruptAnswer]:
        """Stop a session: nothing is let through until it is resumed. What runs is drained or cancelled."""
        body = {"kind": kind, "reason": reason, "running": running, **given(level=level)}
        return command(SchedulingRows.interrupt, {"session_id": session_id}, body, **conditions)

    @Method
    def resume(
        self, session_id: str, reason: str, **conditions: Unpack[Conditions]
    ) -> Request[ScheduleAnswer]:
        """Let an interrupted session go on; in a new episode, if a person says so."""
        return command(SchedulingRows.resume, {"session_id": session_id}, {"reason": reason}, **conditions)
