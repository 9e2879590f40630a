"""Judging a call that was let through once more, on the state, the policy and the authority of now."""

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.facts import Facts
from beliefd.kernel.scheduling.interruptions import reason_of, stops_beginning
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.calls import judge_call, reservation
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.renewing import renewed
from beliefd.kernel.substrate.reserving import released
from beliefd.kernel.substrate.situation import Situation, denied
from beliefd.kernel.substrate.state import Basis, ToolCall
from beliefd.kernel.substrate.tools import CallFinding, StartFindings
from beliefd.kernel.values import seconds


def is_overdue(call: ToolCall, now: str) -> bool:
    return seconds(now) >= seconds(call.deadline)


def judged_to_start(
    session: Session, call: ToolCall, basis: Basis, found: StartFindings, facts: Facts, index: int = 0
) -> tuple[ToolCall, CandidateResult]:
    """The call as it begins, or as it is stopped, and the verdict on it."""
    # What it was let through for is its own: it must not stand in its own way.
    session = replace(session, substrate=released(session.substrate, call))
    situation = _situation(session, basis, found, facts)
    result = _gone(session, call, found, facts)
    if result is None and situation.underivable is not None:
        result = denied([situation.underivable])
    if result is None and (broken := situation.broken):
        result = denied(broken)
    result = result or judge_call(situation, _candidate(call, basis), found.call, index)
    if result.call is None:
        return replace(call, status="stopped", outcome=facts.event_id), result
    aside = reservation(situation, call, found.call, takes_rest=found.takes_rest is True)
    begun = replace(call, status="running", reserved=aside, deadline=result.call.deadline)
    # INVARIANT: a permit names the policy that it was given under.
    return replace(begun, policy_hash=facts.policy_hash) if call.is_run_by_caller else begun, result


def start_approved(
    session: Session, call: ToolCall, candidate: CallCandidate, finding: CallFinding, facts: Facts, index: int
) -> CandidateResult:
    """Begin what a person has said yes to, for the caller who proposes it again.

    INVARIANT: it is the call that was approved which begins, with its capability, and no second one.
    """
    assert call.basis is not UNSET  # noqa: S101 - calls of callers are younger than that rule
    proven = replace(finding, capability_id=call.capability_id, token_problem=None)
    found = StartFindings(call=proven, caller=facts.principal, takes_rest=True)
    after, result = judged_to_start(session, call, call.basis, found, facts, index)
    if after.status == "stopped":
        return replace(result, stopped=after)
    known_as = call.join_key if candidate.join_key is UNSET else candidate.join_key
    return CandidateResult(
        verdict="allow", reason_code=result.reason_code, started=replace(after, join_key=known_as)
    )


def _situation(session: Session, basis: Basis, found: StartFindings, facts: Facts) -> Situation:
    who = found.caller or basis.proposer
    mode = mode_at(session, facts.policy, facts.now)
    now = renewed(session, facts, mode)
    return Situation(
        now.session,
        replace(facts, principal=who),
        mode,
        consent=basis.consent,
        starting=True,
        underivable=now.problem,
        unkept=now.unkept,
    )


def _candidate(call: ToolCall, basis: Basis) -> CallCandidate:
    return CallCandidate(
        tool_id=call.tool_id,
        args=call.args,
        capability_id=call.capability_id,
        idempotency_key=call.idempotency_key,
        narrowed=basis.narrowed,
        join_key=call.join_key,
        upstream=call.upstream,
    )


def _gone(session: Session, call: ToolCall, found: StartFindings, facts: Facts) -> CandidateResult | None:
    """What ends a call before any rule is asked: its time, an interrupt, its caller's tokens, another tool in
    its place."""
    if is_overdue(call, facts.now):
        text = f"its time was up at {call.deadline}, before its turn came"
        return denied([Reason(code="OVERDUE", text=text, remedy="a new proposal")])
    if (held := stops_beginning(session, facts.now)) is not None:
        return denied([reason_of(held)])
    if found.caller is None:
        text = f"all tokens of `{call.agent_id}` are revoked"
        if found.call.givers is not UNSET:
            text = f"`{call.agent_id}` may not propose here any more"
        return denied([Reason(code="REVOKED", text=text, remedy="a token that is valid")])
    if found.call.definition is not None and found.call.definition_hash != call.definition_hash:
        text = "the tool is not the one that was judged: its definition has changed"
        return denied([Reason(code="TOOL_CHANGED", text=text, remedy="a new proposal")])
    return None
