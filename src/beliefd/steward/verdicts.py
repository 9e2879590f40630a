"""Verdicts on candidates in the words of the protocol, with what allowed calls came to."""

from beliefd.kernel.substrate.events import CandidateResult, OutcomeRecorded
from beliefd.ledger.chain import read
from beliefd.protocol import substrate_answers as answers
from beliefd.steward.effects import carry_out
from beliefd.steward.handle import Steward


async def candidate_answer(
    steward: Steward, session_id: str, result: CandidateResult
) -> answers.CandidateAnswer:
    """The verdict; an allowed call is carried out first, a repeated one answered from the ledger."""
    done: OutcomeRecorded | None = None
    call_id = result.repeats
    if result.call is not None:
        call_id = result.call.call_id
        session = (await steward.positions.existing(session_id)).session
        if session.calls[call_id].status == "scheduled":
            done = await carry_out(steward, steward.registry, session_id, result.call)
    if done is None and call_id is not None:
        done = await _recorded(steward, session_id, call_id)
    return answers.CandidateAnswer(
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


async def _recorded(steward: Steward, session_id: str, call_id: str) -> OutcomeRecorded | None:
    """The recorded outcome of a call, newest first found: an unknown one may have been settled later."""
    found: OutcomeRecorded | None = None
    needle = call_id.encode()
    async for chunk in steward.store.stream(session_id):
        for sealed in chunk:
            if needle in sealed.record:
                event = read(sealed.record).delta
                if isinstance(event, OutcomeRecorded) and event.call.call_id == call_id:
                    found = event
    return found
