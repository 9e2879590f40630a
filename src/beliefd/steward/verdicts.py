"""Verdicts on candidates in the words of the protocol, with what allowed calls came to."""

import asyncio

from beliefd.kernel.substrate.events import CandidateResult, OutcomeRecorded
from beliefd.kernel.substrate.state import ToolCall
from beliefd.ledger.envelope import read
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.steward.effects import carry_out
from beliefd.steward.handle import Outcome, Steward


async def candidate_answer(steward: Steward, outcome: Outcome, result: CandidateResult) -> CandidateAnswer:
    """The verdict; a call that was let through just now is carried out first, an earlier one looked up."""
    done: OutcomeRecorded | None = None
    call_id = result.repeats if result.call is None else result.call.call_id
    # INVARIANT: only who had the call decided runs it. An answer given again runs nothing again.
    if result.call is not None and not outcome.repeated:
        done = await _seen_through(steward, outcome.session.session_id, result.call)
    elif call_id is not None:
        done = await _recorded(steward, outcome.session.session_id, call_id)
    return CandidateAnswer(
        verdict=result.verdict,
        reason_code=result.reason_code,
        on_fail=result.on_fail,
        reasons=list(result.reasons),
        result=None if done is None else done.result,
        status=None if call_id is None else ("scheduled" if done is None else done.call.status),
        error="" if done is None else done.error,
        call_id=call_id,
        approval_id=None if result.approval is None else result.approval.approval_id,
        content_hash=None if result.approval is None else result.approval.content_hash,
    )


async def _seen_through(steward: Steward, session_id: str, call: ToolCall) -> OutcomeRecorded | None:
    """Carry a call out and record its outcome, also if who asked for it goes away meanwhile."""
    task = asyncio.get_running_loop().create_task(carry_out(steward, session_id, call))
    steward.effects.add(task)
    task.add_done_callback(steward.effects.discard)
    return await asyncio.shield(task)


async def _recorded(steward: Steward, session_id: str, call_id: str) -> OutcomeRecorded | None:
    """The newest outcome that is recorded of a call; None while it is under way."""
    session = (await steward.positions.existing(session_id)).session
    recorded = session.substrate.calls[call_id].outcome
    seq = None if recorded is None else await steward.store.seq_of(session_id, recorded)
    if seq is None:
        return None
    event = read((await steward.store.entries(session_id, seq - 1, 1))[0].record).delta
    return event if isinstance(event, OutcomeRecorded) else None
