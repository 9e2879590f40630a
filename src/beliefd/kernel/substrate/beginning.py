"""Beginning a call: it is judged once more, on the state, the policy and the authority of this moment.

INVARIANT: no tool runs without a `CallStarted` in the ledger, and a call has one at most.
"""

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import changed_mode
from beliefd.kernel.substrate.calls import judge_call, part_of
from beliefd.kernel.substrate.capabilities import Amounts, ancestors
from beliefd.kernel.substrate.commands import StartCall
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.events import CallStarted, CallStopped, CandidateResult
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.reserving import as_declared, need_of, released, set_aside
from beliefd.kernel.substrate.situation import Situation, denied
from beliefd.kernel.substrate.state import Basis, ToolCall
from beliefd.kernel.substrate.tools import CallFinding, StartFindings
from beliefd.kernel.values import seconds


def start_call(session: Session, command: StartCall, facts: Facts) -> CallStarted | CallStopped | Refused:
    call = session.substrate.calls.get(command.call_id)
    if call is None:
        return refused(Code.NOT_FOUND, f"no call `{command.call_id}` was let through", "$.call_id")
    if call.status != "scheduled" or call.basis is UNSET:
        return refused(Code.CONFLICT, f"the call is {call.status} already", "$.call_id")
    found = facts.findings if isinstance(facts.findings, StartFindings) else StartFindings(call=CallFinding())
    # What it was let through for is its own: it must not stand in its own way.
    session = replace(session, substrate=released(session.substrate, call))
    situation = _situation(session, call, call.basis, found, facts)
    result = _gone(call, found, facts) or judge_call(situation, _candidate(call, call.basis), found.call, 0)
    if result.call is None:
        # A question to a person belongs to a proposal: this call is over, and a new one can be asked about.
        result = replace(result, approval=None)
        stopped = replace(call, status="stopped", outcome=facts.event_id)
        return CallStopped(call=stopped, result=result, mode=changed_mode(session, facts, [result]))
    aside = _reservation(situation, call, found)
    return CallStarted(call=replace(call, status="running", reserved=aside, deadline=result.call.deadline))


def _situation(
    session: Session, call: ToolCall, basis: Basis, found: StartFindings, facts: Facts
) -> Situation:
    who = found.caller or basis.proposer
    mode = mode_at(session, facts.policy, facts.now)
    return Situation(session, replace(facts, principal=who), mode, consent=basis.consent, starting=True)


def _candidate(call: ToolCall, basis: Basis) -> CallCandidate:
    return CallCandidate(
        tool_id=call.tool_id,
        args=call.args,
        capability_id=call.capability_id,
        idempotency_key=call.idempotency_key,
        narrowed=basis.narrowed,
    )


def _gone(call: ToolCall, found: StartFindings, facts: Facts) -> CandidateResult | None:
    """What ends a call before any rule is asked: its time, its caller's tokens, another tool in its place."""
    if seconds(facts.now) >= seconds(call.deadline):
        text = f"its time was up at {call.deadline}, before its turn came"
        return denied([Reason(code="OVERDUE", text=text, remedy="a new proposal")])
    if found.caller is None:
        text = f"all tokens of `{call.agent_id}` are revoked"
        if found.call.givers is not UNSET:
            text = f"`{call.agent_id}` may not propose here any more"
        return denied([Reason(code="REVOKED", text=text, remedy="a token that is valid")])
    if found.call.definition is not None and found.call.definition_hash != call.definition_hash:
        text = "the tool is not the one that was judged: its definition has changed"
        return denied([Reason(code="TOOL_CHANGED", text=text, remedy="a new proposal")])
    return None


def _reservation(situation: Situation, call: ToolCall, found: StartFindings) -> Amounts:
    held, definition = situation.session.substrate, found.call.definition
    if call.capability_id is None or definition is None:
        return Amounts()
    capability = held.capabilities[call.capability_id]
    lineage = (capability, *ancestors(held.capabilities, capability))
    need = need_of(held, call.tool_id, definition)
    if found.takes_rest is True:
        need = as_declared(need, definition)
    return set_aside(lineage, need, part_of(situation))
