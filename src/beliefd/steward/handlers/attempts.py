"""What a handler refuses before there is a command is recorded as an attempt, for all handlers here."""

from collections.abc import Mapping
from typing import Any

from beliefd.kernel.attempts.commands import RecordAttempt, path_to_record
from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.scan.guards import HARD_FAILURES
from beliefd.protocol.operations import BY_NAME, Operation
from beliefd.steward.call import Call
from beliefd.steward.dispatch import Handler
from beliefd.steward.handlers.shared import as_recorded
from beliefd.steward.write.submitting import Submit


def recording_attempts(handlers: Mapping[str, Handler], submit: Submit) -> dict[str, Handler]:
    """The handlers; those of operations that write to a session record what the firewall stops in them."""
    return {
        name: _recording(name, handler, submit) if _writes_to_a_session(BY_NAME[name]) else handler
        for name, handler in handlers.items()
    }


def _writes_to_a_session(operation: Operation) -> bool:
    return operation.writes and not operation.stream and "session_id" in operation.path_names


def _recording(name: str, handler: Handler, submit: Submit) -> Handler:
    async def recording(call: Call) -> Any:
        try:
            return await handler(call)
        except BeliefdError as error:
            # What the kernel refused is on record already, and its error names the event.
            if error.code not in HARD_FAILURES or "audit_event_id" in (error.details or {}):
                raise
            stopped = error
        # INVARIANT: a hard failure is answered after it was recorded. A session that is not there has no
        # record, and then that is the answer.
        event_id = await _recorded(name, call, stopped, submit)
        details = {**(stopped.details or {}), "audit_event_id": event_id}
        raise type(stopped)(stopped.code, stopped.message, details)

    return recording


async def _recorded(name: str, call: Call, error: BeliefdError, submit: Submit) -> str:
    """The event that holds the attempt. If-Match is not asked: what is refused anyway depends on no head."""
    attempt = RecordAttempt(
        operation=name,
        code=error.code,
        path=path_to_record(str((error.details or {}).get("path", "$"))),
        body_hash=digest(as_recorded(call.body)),
    )
    outcome = await submit(call.session_id, attempt, call.principal, key=call.key, notes=call.notes)
    return outcome.head.event_id
