"""Arbitration: a proposal against authority, capabilities, schemas, constraints, invariants (substrate 3, 5).

Candidates are judged in order, each on what the allowed ones before it leave. Whatever fails has no effect at
all: no call, no change.
"""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.approvals.shaping import shaped
from beliefd.kernel.approvals.standing import is_by_words, is_recorded, names_of
from beliefd.kernel.approvals.state import Approval, CallSubject, DeltaSubject
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.scheduling.episodes import next_episode, with_calls
from beliefd.kernel.scheduling.interruptions import interruption_at, reason_of
from beliefd.kernel.scheduling.state import Interruption
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.calls import judge_call
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.deltas import judge_delta
from beliefd.kernel.substrate.events import Arbitrated, CandidateResult, ModeChange
from beliefd.kernel.substrate.folds import with_result
from beliefd.kernel.substrate.issuing import fresh, rules_for, with_issued
from beliefd.kernel.substrate.modes import is_over, lower, mode_at, since_of
from beliefd.kernel.substrate.permits import approved_call
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate
from beliefd.kernel.substrate.provenance_rules import unfit
from beliefd.kernel.substrate.renewing import Renewed, renewed
from beliefd.kernel.substrate.situation import Situation, denied, verdict
from beliefd.kernel.substrate.snapshots import changed_since
from beliefd.kernel.substrate.starting import start_approved
from beliefd.kernel.substrate.state import LoweredBy
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings
from beliefd.kernel.values import PEOPLE


def propose(session: Session, command: Propose, facts: Facts) -> Arbitrated | Refused:
    inputs = facts.findings.inputs if isinstance(facts.findings, ProposalFindings) else UNSET
    return unfit(session, command.provenance, inputs, facts) or _arbitrated(session, command, facts)


def _arbitrated(session: Session, command: Propose, facts: Facts) -> Arbitrated:
    mode = mode_at(session, facts.policy, facts.now)
    if (held := interruption_at(session, facts.now)) is not None:
        return _deferred(session, command, facts, held)
    episode = next_episode(session, facts, mode, len(command.candidates))
    if episode is not UNSET and episode.interruption is not None:
        return replace(_deferred(session, command, facts, episode.interruption), episode=episode)
    found = findings_of(facts)
    stale = changed_since(session, command.state_snapshot_id)
    issued = _issued(session, command, facts)
    now = renewed(with_issued(session, issued), facts, mode)
    situation = _proposed(now, command, facts, mode, stale or frozenset())
    results: list[CandidateResult] = []
    for index, candidate in enumerate(command.candidates):
        finding = found[index] if index < len(found) else CallFinding()
        if stale is None:
            text = f"no snapshot `{command.state_snapshot_id}` in this session"
            result = denied([Reason(code="UNKNOWN_SNAPSHOT", text=text)])
        else:
            result = judge(situation, candidate, finding, index)
        result = remembered(result, candidate, facts)
        results.append(result)
        if index + 1 < len(command.candidates):
            situation = _after(situation, result, finding)
    return Arbitrated(
        event_id=facts.event_id,
        state_snapshot_id=session.substrate.state_snapshot_id,
        results=tuple(results),
        mode=changed_mode(session, facts, results),
        issued=issued or UNSET,
        derived=now.committed(results),
        episode=with_calls(episode, results),
    )


def _deferred(session: Session, command: Propose, facts: Facts, held: Interruption) -> Arbitrated:
    """INVARIANT: while a session is interrupted, nothing that is proposed happens."""
    result = verdict("defer", [reason_of(held)])
    return Arbitrated(
        event_id=facts.event_id,
        state_snapshot_id=session.substrate.state_snapshot_id,
        results=tuple(remembered(result, one, facts) for one in command.candidates),
        mode=changed_mode(session, facts, []),
    )


def remembered(result: CandidateResult, candidate: Candidate, facts: Facts) -> CandidateResult:
    """INVARIANT: who proposed what was not let through has shaped it, whoever proposes it again.

    A program that is nobody's decides about nothing, under whatever name: of it nothing is remembered.
    """
    who, names = facts.principal, names_of(facts.principal, facts)
    if not is_by_words(facts) or result.verdict == "allow" or result.approval is not None:
        return result
    if who.role not in PEOPLE and names == (who.id,):
        return result
    return replace(result, shaped=shaped(candidate, names, facts))


def _proposed(now: Renewed, command: Propose, facts: Facts, mode: str, stale: frozenset[str]) -> Situation:
    """Where it comes from stands in the envelopes of its calls."""
    proposed = Situation(
        now.session,
        facts,
        mode,
        stale,
        execute="server",
        qos=command.qos,
        underivable=now.problem,
        unkept=now.unkept,
    )
    if command.execute is not UNSET:
        proposed = replace(proposed, execute="caller")
    # It did not in those of the server's own calls, by the rules of before.
    told = command.execute is not UNSET or facts.policy.arbitration.whole
    return replace(proposed, provenance=command.provenance) if told else proposed


def _issued(session: Session, command: Propose, facts: Facts) -> tuple[Capability, ...]:
    """What policy issues for the calls that name no capability; nothing for those that it does not cover."""
    named = [one for one in command.candidates if isinstance(one, CallCandidate)]
    bare = [one.tool_id for one in named if one.capability_id is None]
    if not bare:
        return ()
    rules = rules_for(facts.policy, facts.principal)
    return fresh(session, [rule for rule in rules if any(map(rule.covers_tool, bare))], facts)


def confirmed(session: Session, approval: Approval, facts: Facts) -> CandidateResult:
    """What a person said yes to, judged again on the state and policy of this moment.

    INVARIANT: a yes is for the tool as it was shown; one that is defined otherwise by now is another tool.
    """
    subject = approval.subject
    assert isinstance(subject, CallSubject | DeltaSubject)  # noqa: S101 - asked by who calls this
    candidate = subject.candidate
    assert candidate is not None  # noqa: S101 - it is pending
    if (held := interruption_at(session, facts.now)) is not None:
        return verdict("defer", [reason_of(held)])
    finding = next(iter(findings_of(facts)), CallFinding())
    if isinstance(candidate, CallCandidate) and finding.definition is None and is_recorded(facts):
        text = f"no tool `{candidate.tool_id}` is registered in this process"
        return denied([Reason(code="UNKNOWN_TOOL", text=text, remedy="a server that has the tool")])
    if isinstance(subject, CallSubject) and finding.definition_hash != subject.definition_hash:
        text = "the tool is not the one that was confirmed: its definition has changed"
        return denied([Reason(code="TOOL_CHANGED", text=text, remedy="a new proposal")])
    stale = frozenset[str]()
    if isinstance(subject, DeltaSubject) and isinstance(candidate, DeltaCandidate):
        # A yes to a new value is none to undoing what somebody else has written since.
        touched = {*candidate.patch.set, *candidate.patch.remove}
        stale = (changed_since(session, subject.judged_on) or frozenset()) & touched
    proposer = replace(facts, principal=approval.proposer)
    mode = mode_at(session, facts.policy, facts.now)
    now = renewed(session, facts, mode)
    told = subject.provenance if isinstance(subject, CallSubject) else UNSET
    vector = subject.vector if isinstance(subject, DeltaSubject) else UNSET
    situation = Situation(
        now.session,
        proposer,
        mode,
        stale,
        subject.asked,
        provenance=told,
        vector=vector,
        underivable=now.problem,
        unkept=now.unkept,
    )
    return judge(situation, candidate, finding, 0)


def judge(situation: Situation, candidate: Candidate, finding: CallFinding, index: int) -> CandidateResult:
    if situation.underivable is not None:
        return denied([situation.underivable])
    if isinstance(candidate, DeltaCandidate):
        return judge_delta(situation, candidate, index)
    if broken := situation.broken:
        return denied(broken)
    if situation.execute == "caller":
        facts = situation.facts
        call = approved_call(situation.session, candidate, facts.principal.id)
        if call is not None and situation.behind:
            return CandidateResult(verdict="allow", reason_code="REPEATED", repeats=call.call_id)
        if call is not None:
            return start_approved(situation.session, call, candidate, finding, facts, index)
    return traced(judge_call(situation, candidate, finding, index), finding)


def traced(result: CandidateResult, finding: CallFinding) -> CandidateResult:
    """The verdict with whom the call does not reach because of it, if it is known where its values came from.

    INVARIANT: who was not to be reached is remembered by the ledger, for all processes and for good.
    """
    if finding.origin is UNSET or result.repeats is not None:
        return result
    ruled = result.verdict != "allow" and any(reason.constraint is not None for reason in result.reasons)
    sinks = finding.origin.sinks if ruled and result.waits is UNSET else ()
    return replace(result, refused_sinks=tuple(one.value for one in sinks if one.trust != "trusted"))


def findings_of(facts: Facts) -> tuple[CallFinding, ...]:
    """What was found out about each candidate; nothing, where there is nothing to find out."""
    if not isinstance(facts.findings, ProposalFindings):
        return ()
    return tuple(finding or CallFinding() for finding in facts.findings.calls)


def changed_mode(session: Session, facts: Facts, results: list[CandidateResult]) -> ModeChange | None:
    """The mode after it, if that is another: one step down for any number of `degrade`s."""
    before = after = mode_at(session, facts.policy, facts.now)
    by: LoweredBy | UnsetType = UNSET
    if (degraded := next((one for one in results if one.on_fail == "degrade"), None)) is not None:
        after = lower(before)
        if facts.policy.arbitration.whole:
            by = LoweredBy(by=facts.principal.id, reason=degraded.reasons[0].text)
    over = is_over(session.substrate.set_mode, facts.now)
    # Down to where it was lowered to before, after it had recovered: that begins anew.
    relapsed = after != before and getattr(facts.findings, "relapses", UNSET) is True
    if after == session.substrate.mode and not over and not relapsed:
        return None
    since = facts.now if after != before else since_of(session, facts.policy, after, facts.now)
    return ModeChange(mode=after, since=since, over=over or UNSET, by=by)


def _after(situation: Situation, result: CandidateResult, finding: CallFinding) -> Situation:
    """INVARIANT: what one candidate uses up or changes is gone for the next."""
    waiting = situation.waiting_ms
    if situation.execute == "server" and result.call is not None and finding.definition is not None:
        waiting += finding.definition.timeout_ms
    behind = situation.behind or _has_begun(situation, result)
    return replace(
        situation, session=with_result(situation.session, result), waiting_ms=waiting, behind=behind
    )


def _has_begun(situation: Situation, result: CandidateResult) -> bool:
    """INVARIANT: every call is judged right before it begins. So of a proposal whose calls its caller runs,
    one begins with it; those after it wait, and are judged again when the caller begins them."""
    found = situation.facts.findings
    is_kept = isinstance(found, ProposalFindings) and found.one_permit is True
    call = result.started or result.call
    return is_kept and situation.execute == "caller" and call is not None and call.status == "running"
