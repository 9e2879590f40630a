"""Arbitration: a proposal against authority, capabilities, schemas, constraints, invariants (substrate 3, 5).

Candidates are judged in order, each on the state that the allowed ones before it leave. Whatever fails has no
effect at all: no call, no change.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import digest
from beliefd.kernel.claims.approvals import Approval, later
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Capability, cannot_use, exhausted, out_of_scope
from beliefd.kernel.substrate.constraints import Action, Judgement, OnFail, Reason, Strictness, explain
from beliefd.kernel.substrate.events import Arbitrated, Call, CandidateResult
from beliefd.kernel.substrate.namespaces import may_write, write_capability
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate, Propose
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.snapshots import changed_since
from beliefd.kernel.substrate.sparse import Sparse
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings

MODES: Final = ("boost", "normal", "eco", "throttled", "offline-safe")
"""From the most to the least: `degrade` goes one step to the right."""


class Ground(Struct, frozen=True):
    """What a candidate is judged on."""

    session: Session
    facts: Facts
    sparse: Sparse
    stale: frozenset[str]
    confirmed: bool = False


def propose(session: Session, command: Propose, facts: Facts) -> Arbitrated:
    findings = facts.findings if isinstance(facts.findings, ProposalFindings) else ProposalFindings()
    known = (*findings.calls, *([None] * len(command.candidates)))
    stale = changed_since(session, command.state_snapshot_id)
    ground = Ground(session, facts, session.sparse, frozenset() if stale is None else stale)
    results: list[CandidateResult] = []
    for index, candidate in enumerate(command.candidates):
        if stale is None:
            text = f"no snapshot `{command.state_snapshot_id}` in this session"
            results.append(_denied([Reason(code="UNKNOWN_SNAPSHOT", text=text)]))
            continue
        result = judge_candidate(ground, candidate, known[index], index)
        if result.patch is not None:
            ground = replace(ground, sparse=ground.sparse.patched(result.patch.set, result.patch.remove))
        results.append(result)
    degraded = any(result.on_fail == "degrade" for result in results)
    return Arbitrated(
        event_id=facts.event_id,
        state_snapshot_id=session.state_snapshot_id,
        results=tuple(results),
        mode=lower_mode(session.mode) if degraded else None,
    )


def judge_candidate(
    ground: Ground, candidate: Candidate, finding: CallFinding | None, index: int
) -> CandidateResult:
    if isinstance(candidate, DeltaCandidate):
        return _judge_delta(ground, candidate)
    return judge_call(ground, candidate, finding or CallFinding(), index)


def lower_mode(mode: str) -> str:
    return MODES[min(MODES.index(mode) + 1, len(MODES) - 1)]


# -- state changes -----------------------------------------------------------------------------------


def _judge_delta(ground: Ground, candidate: DeltaCandidate) -> CandidateResult:
    patch, facts = candidate.patch, ground.facts
    touched = sorted({*patch.set, *patch.remove})
    reasons = [reason for key in touched if (reason := may_write(facts.principal.role, key)) is not None]
    reasons += [
        Reason(code="BAD_VALUE", text=f"`{key}` needs an object with a whole `v`", keys=(key,))
        for key, value in patch.set.items()
        if not _is_versioned(value)
    ]
    if reasons:
        return _denied(reasons)
    rules = rulebook(facts.policy, facts.policy_hash)
    action = Action(None, tuple(sorted({write_capability(key) for key in touched})))
    if overlap := ground.stale & {*touched, *rules.reads(action)}:
        return _stale(overlap)
    judgement = ground.sparse.truths(rules).judge(ground.sparse, action)
    if judgement.on_fail is not None:
        return _failed(judgement, ground)
    staged = ground.sparse.patched(patch.set, patch.remove)
    broken = rules.broken_invariants(staged)
    if broken:
        # INVARIANT: staged on a copy, checked, then committed whole or dropped whole.
        conflict = [reason for failure in broken if (reason := _conflict(explain(failure, staged), staged))]
        reasons = conflict or [replace(explain(one, staged), code="INVARIANT_BROKEN") for one in broken]
        worst = max((one.constraint.on_fail for one in broken), key=lambda name: Strictness[name])
        return _verdict(worst, reasons)
    return CandidateResult(verdict="allow", reason_code="ALLOWED", patch=patch)


def _conflict(reason: Reason, staged: Sparse) -> Reason | None:
    """An invariant that several goals break together is a conflict between them: name them all."""
    goals = tuple(key for key in reason.keys if key.startswith("goal.") and key in staged)
    if len(goals) < 2:
        return None
    names = " and ".join(f"`{key}`" for key in goals)
    return replace(reason, code="GOAL_CONFLICT", text=f"{names} exclude each other", keys=goals)


def _is_versioned(value: Any) -> bool:
    return isinstance(value, dict) and type(value.get("v")) is int and value["v"] >= 1


# -- tool calls --------------------------------------------------------------------------------------


def judge_call(ground: Ground, candidate: CallCandidate, finding: CallFinding, index: int) -> CandidateResult:
    facts = ground.facts
    definition = finding.definition
    if definition is None:
        return _denied([Reason(code="UNKNOWN_TOOL", text=f"no tool `{candidate.tool_id}` is registered")])
    capability, reasons = _capability(ground, candidate, finding)
    reasons += [
        Reason(code="BAD_ARGUMENTS", text=text, remedy="arguments that fit the tool's schema")
        for text in finding.argument_errors
    ]
    if definition.mutates and candidate.idempotency_key is None:
        text = f"`{candidate.tool_id}` changes things: it needs an `idempotency_key`"
        reasons.append(Reason(code="NO_IDEMPOTENCY_KEY", text=text))
    if reasons:
        return _denied(reasons)
    if (first := _first_outcome(ground, candidate)) is not None:
        return first
    rules = rulebook(facts.policy, facts.policy_hash)
    context = {"tier": definition.tier, "mutates": definition.mutates, "confirmed": ground.confirmed}
    action = Action(candidate.tool_id, definition.capabilities, candidate.args, context)
    if not ground.confirmed and (overlap := ground.stale & rules.reads(action)):
        return _stale(overlap)
    judgement = ground.sparse.truths(rules).judge(ground.sparse, action)
    if ground.confirmed:
        judgement = _with_consent(judgement)
    if judgement.on_fail is not None:
        failed = _failed(judgement, ground)
        if failed.on_fail == "ask":
            return replace(failed, approval=_question(ground, candidate, finding, failed, index))
        return failed
    call = envelope(ground, candidate, finding, capability, index)
    return CandidateResult(verdict="allow", reason_code="ALLOWED", call=call)


def envelope(
    ground: Ground,
    candidate: CallCandidate,
    finding: CallFinding,
    capability: Capability | None,
    index: int,
) -> Call:
    facts = ground.facts
    timeout = 30_000 if finding.definition is None else finding.definition.timeout_ms
    return Call(
        call_id=f"call-{facts.event_id}-{index}",
        tool_id=candidate.tool_id,
        args=candidate.args,
        args_hash=digest(candidate.args),
        definition_hash=finding.definition_hash,
        agent_id=facts.principal.id,
        state_snapshot_id=ground.session.state_snapshot_id,
        policy_hash=facts.policy_hash,
        scheduled_at=facts.now,
        deadline=later(facts.now, timeout // 1000 + 5),
        capability_id=None if capability is None else capability.capability_id,
        idempotency_key=candidate.idempotency_key,
    )


def _capability(
    ground: Ground, candidate: CallCandidate, finding: CallFinding
) -> tuple[Capability | None, list[Reason]]:
    if finding.token_problem is not None:
        return None, [Reason(code="BAD_CAPABILITY", text=finding.token_problem)]
    if finding.capability_id is None:
        text = f"calling `{candidate.tool_id}` takes a capability token"
        return None, [Reason(code="NO_CAPABILITY", text=text)]
    capability = ground.session.capabilities.get(finding.capability_id)
    if capability is None:
        return None, [Reason(code="BAD_CAPABILITY", text="the capability is not known in this session")]
    lineage = ancestors(ground.session, capability)
    proposer = ground.facts.principal.id
    if (problem := cannot_use(capability, lineage, proposer, ground.facts.now)) is not None:
        return capability, [Reason(code="BAD_CAPABILITY", text=problem)]
    reasons = [
        Reason(code="OUT_OF_SCOPE", text=text)
        for text in out_of_scope(capability.scope, candidate.tool_id, finding)
    ]
    for one in (capability, *lineage):
        if (problem := exhausted(one)) is not None:
            reasons.append(Reason(code="BUDGET_EXHAUSTED", text=problem))
    return capability, reasons


def ancestors(session: Session, capability: Capability) -> tuple[Capability, ...]:
    found: list[Capability] = []
    while capability.parent is not None:
        capability = session.capabilities[capability.parent]
        found.append(capability)
    return tuple(found)


def _first_outcome(ground: Ground, candidate: CallCandidate) -> CandidateResult | None:
    """A mutating call under a key that was used: the same call is answered, another one refused."""
    if candidate.idempotency_key is None:
        return None
    call_id = ground.session.call_keys.get(f"{candidate.tool_id}\n{candidate.idempotency_key}")
    if call_id is None:
        return None
    first = ground.session.calls[call_id]
    if first.args_hash != digest(candidate.args) or first.agent_id != ground.facts.principal.id:
        text = f"`idempotency_key` was used for another call of `{candidate.tool_id}`"
        return _denied([Reason(code="REPEATED_KEY", text=text)])
    return CandidateResult(verdict="allow", reason_code="REPEATED", repeats=call_id)


def _question(
    ground: Ground, candidate: CallCandidate, finding: CallFinding, failed: CandidateResult, index: int
) -> Approval:
    """The confirmation that `ask` calls for, in the same inbox as everything else."""
    facts, policy = ground.facts, ground.facts.policy.approvals
    tier = "READ_ONLY" if finding.definition is None else finding.definition.tier
    return Approval(
        approval_id=f"apr-{facts.event_id}-{index}",
        bundle_id="",
        bundle=None,
        call=candidate,
        content_hash=binding(candidate, finding, facts, ground.session.state_snapshot_id),
        proposers=(facts.principal.id,),
        proposer=facts.principal,
        gate="constraints",
        tier=tier,
        reason="; ".join(reason.text for reason in failed.reasons),
        results=(),
        rule=policy.rule_for(tier),
        opened_at=facts.now,
        expires_at=later(facts.now, policy.expires_seconds),
    )


def binding(candidate: CallCandidate, finding: CallFinding, facts: Facts, snapshot_id: str) -> str:
    """What a confirmation binds: effective arguments, the tool's definition, policy and snapshot."""
    return digest(
        {
            "call": msgspec.to_builtins(candidate),
            "definition_hash": finding.definition_hash,
            "policy_hash": facts.policy_hash,
            "state_snapshot_id": snapshot_id,
        }
    )


def _with_consent(judgement: Judgement) -> Judgement:
    """A person's yes answers `ask` and nothing else."""
    left = tuple(item for item in judgement.failures if item.constraint.on_fail != "ask")
    answered = tuple(item.constraint.key for item in judgement.failures if item.constraint.on_fail == "ask")
    return Judgement((*judgement.allowed_by, *answered), left)


# -- verdicts ----------------------------------------------------------------------------------------


def _failed(judgement: Judgement, ground: Ground) -> CandidateResult:
    on_fail = judgement.on_fail or "block"
    if not judgement.failures:
        return _denied(
            [Reason(code="NO_ALLOW", text="no constraint allows it", remedy="an allow that applies")]
        )
    return _verdict(on_fail, [explain(failure, ground.sparse) for failure in judgement.failures])


def _verdict(on_fail: OnFail, reasons: list[Reason]) -> CandidateResult:
    verdict: Any = "defer" if on_fail in ("ask", "defer") else "deny"
    ordered = sorted(reasons, key=lambda reason: (reason.constraint or "", reason.code))
    return CandidateResult(
        verdict=verdict, reason_code=ordered[0].code, on_fail=on_fail, reasons=tuple(ordered)
    )


def _denied(reasons: list[Reason]) -> CandidateResult:
    return CandidateResult(
        verdict="deny", reason_code=reasons[0].code, on_fail="block", reasons=tuple(reasons)
    )


def _stale(overlap: frozenset[str]) -> CandidateResult:
    keys = tuple(sorted(overlap))
    text = f"changed since the snapshot it was made on: {', '.join(f'`{key}`' for key in keys)}"
    return _denied(
        [Reason(code="CONFLICT", text=text, keys=keys, remedy="a proposal on the newest snapshot")]
    )
