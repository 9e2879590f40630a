"""Beginning a call: it is judged once more, on the state, the policy and the authority of this moment.

INVARIANT: no tool runs without a `CallStarted` in the ledger, and a call has one at most. What its caller
runs may begin with the very event that lets it through.
"""

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.scheduling.interruptions import reason_of, stops_beginning
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import changed_mode
from beliefd.kernel.substrate.commands import StartCall
from beliefd.kernel.substrate.events import CallStarted, CallStopped
from beliefd.kernel.substrate.starting import is_overdue, judged_to_start
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import CallFinding, StartFindings


def start_call(session: Session, command: StartCall, facts: Facts) -> CallStarted | CallStopped | Refused:
    call = session.substrate.calls.get(command.call_id)
    if (problem := cannot_begin(call, command.call_id, facts.principal.id, facts.now)) is not None:
        return problem
    assert call is not None  # noqa: S101 - asked above
    assert call.basis is not UNSET  # noqa: S101 - asked above
    held = stops_beginning(session, facts.now)
    if held is not None and call.is_run_by_caller and not is_overdue(call, facts.now):
        # It waits for its caller as before: when the session is resumed, it can begin.
        return refused(Code.CONFLICT, reason_of(held).text, "$.call_id")
    found = facts.findings if isinstance(facts.findings, StartFindings) else StartFindings(call=CallFinding())
    after, result = judged_to_start(session, call, call.basis, found, facts)
    if after.status == "running":
        return CallStarted(call=after)
    # A question to a person belongs to a proposal: this call is over, and a new one can be asked about.
    result = replace(result, approval=None, asks=UNSET, waits=UNSET)
    return CallStopped(call=after, result=result, mode=changed_mode(session, facts, [result]))


def cannot_begin(call: ToolCall | None, call_id: str, who: str, now: str) -> Refused | None:
    """Why there is nothing to begin, for whoever asks."""
    if call is None:
        return refused(Code.NOT_FOUND, f"no call `{call_id}` was let through", "$.call_id")
    if call.status != "scheduled" or call.basis is UNSET:
        return refused(Code.CONFLICT, f"the call is {call.status} already", "$.call_id")
    # INVARIANT: a permit goes to who proposed the call. That its time is up, anybody may say.
    if call.is_run_by_caller and call.agent_id != who and not is_overdue(call, now):
        return refused(Code.FORBIDDEN, "only who proposed the call can begin it", "$.call_id")
    return None
