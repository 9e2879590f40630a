"""Submitting a command on a caller's behalf."""

import asyncio
from typing import Protocol

from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.events import Refused
from beliefd.kernel.values import Principal
from beliefd.steward.call import Call
from beliefd.steward.facts.finder import NO_ATTACHMENTS, Attachments
from beliefd.steward.write.turn import Outcome


class Submit(Protocol):
    """`Steward.submit`: the one way to have something written."""

    def __call__(
        self,
        session_id: str,
        command: Command,
        principal: Principal,
        *,
        if_match: str | None = None,
        key: str | None = None,
        attachments: Attachments = NO_ATTACHMENTS,
    ) -> "asyncio.Future[Outcome]": ...


async def submit_for(
    submit: Submit, session_id: str, command: Command, call: Call, attachments: Attachments | None = None
) -> Outcome:
    """Submit what a caller asks for; a refusal is raised as the error that it names."""
    outcome = await submit(
        session_id,
        command,
        call.principal,
        if_match=call.if_match,
        key=call.key,
        attachments=attachments or Attachments(call.origin),
    )
    raise_if_refused(outcome)
    return outcome


def raise_if_refused(outcome: Outcome) -> None:
    """A refusal is answered with its error, which names the event that records it."""
    event = outcome.event
    if isinstance(event, Refused):
        raise BeliefdError(
            event.code, event.message, {**event.details, "audit_event_id": outcome.head.event_id}
        )
