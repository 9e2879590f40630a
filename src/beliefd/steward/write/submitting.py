"""Submitting a command on a caller's behalf."""

import asyncio
from typing import Protocol, TypeVar

from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.event import Refused
from beliefd.kernel.values import Principal
from beliefd.steward.call import Call
from beliefd.steward.facts.attachments import NO_ATTACHMENTS, Attachments
from beliefd.steward.facts.call_facts import Proof
from beliefd.steward.write.queued import Outcome
from beliefd.uncertainty.sampling import Drawn

E = TypeVar("E")


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
        notes: str | None = None,
        attachments: Attachments = NO_ATTACHMENTS,
    ) -> "asyncio.Future[Outcome]": ...


async def submit_for(
    call: Call,
    submit: Submit,
    session_id: str,
    command: Command,
    kind: type[E],
    proofs: tuple[Proof | None, ...] = (),
    drawn: Drawn | None = None,
) -> tuple[Outcome, E]:
    """Submit what a caller asks for; a `kind` of event comes of it, or the error that a refusal names."""
    attached = Attachments(call.origin, proofs, drawn, call.size)
    outcome = await submit_on_behalf(call, submit, session_id, command, attached)
    return outcome, expected(outcome, kind)


def submit_on_behalf(
    call: Call, submit: Submit, session_id: str, command: Command, attached: Attachments | None = None
) -> "asyncio.Future[Outcome]":
    return submit(
        session_id,
        command,
        call.principal,
        if_match=call.if_match,
        key=call.key,
        notes=call.notes,
        attachments=attached or Attachments(call.origin, size=call.size),
    )


def expected(outcome: Outcome, kind: type[E]) -> E:
    """The event that a command leads to unless it is refused."""
    raise_if_refused(outcome)
    assert isinstance(outcome.event, kind)  # noqa: S101 - what is not refused is what the command leads to
    return outcome.event


def raise_if_refused(outcome: Outcome) -> None:
    """A refusal is answered with its error, which names the event that records it."""
    event = outcome.event
    if isinstance(event, Refused):
        raise BeliefdError(
            event.code, event.message, {**event.details, "audit_event_id": outcome.head.event_id}
        )
