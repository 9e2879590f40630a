"""Questions to a person: what `ask` puts into the inbox, what a yes binds and what it answers (DESIGN 10)."""

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.shaping import shaped
from beliefd.kernel.approvals.standing import names_of
from beliefd.kernel.approvals.state import Approval, CallSubject, DeltaSubject
from beliefd.kernel.canonical import digest
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Constraint, Failure, Judgement
from beliefd.kernel.substrate.dense import VectorRef, ref
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.proposals import Candidate, DeltaCandidate, without_vector
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.tiers import tool_tier
from beliefd.kernel.substrate.tools import CallFinding
from beliefd.kernel.values import TierName, later


def question(
    situation: Situation,
    candidate: Candidate,
    finding: CallFinding,
    result: CandidateResult,
    failures: tuple[Failure, ...],
    index: int,
) -> Approval:
    """The confirmation that `ask` calls for, in the same inbox as everything else."""
    facts, policy = situation.facts, situation.facts.policy.approvals
    tier = _tier(facts.policy, candidate, finding)
    return Approval(
        approval_id=f"apr-{facts.event_id}-{index}",
        event_id=facts.event_id,
        subject=_subject(situation, candidate, finding, failures),
        content_hash=binding(situation, candidate, finding),
        proposers=(facts.principal.id,),
        proposer=facts.principal,
        gate="constraints",
        tier=tier,
        reason="; ".join(reason.words for reason in result.reasons),
        rule=policy.rule_for(tier),
        opened_at=facts.now,
        expires_at=later(facts.now, policy.expires_seconds),
        shaped=shaped(candidate, names_of(facts.principal, facts), facts),
    )


def _tier(policy: Policy, candidate: Candidate, finding: CallFinding) -> TierName:
    """A change of the symbolic state is written; a call has the tier of its tool."""
    if isinstance(candidate, DeltaCandidate) or finding.definition is None:
        return "WRITE_LIMITED"
    return tool_tier(policy, candidate.tool_id, finding)


def _subject(
    situation: Situation, candidate: Candidate, finding: CallFinding, failures: tuple[Failure, ...]
) -> CallSubject | DeltaSubject:
    asking = [one.constraint for one in failures if one.constraint.on_fail == "ask"]
    # What somebody has said yes to already stays answered, where a yes led to another question.
    asked = {**(situation.consent or {}), **{one.key: hash_of(one) for one in asking}}
    if isinstance(candidate, DeltaCandidate):
        return DeltaSubject(
            candidate=without_vector(candidate),
            asked=asked,
            judged_on=_snapshot(situation),
            vector=vector_of(situation, candidate),
        )
    by_caller = finding.definition is not None and finding.definition.is_run_by_caller
    return CallSubject(
        candidate=candidate,
        definition_hash=finding.definition_hash,
        asked=asked,
        provenance=situation.provenance,
        run_by=("caller" if by_caller else "server") if situation.facts.policy.arbitration.whole else UNSET,
    )


def _snapshot(situation: Situation) -> str:
    """The newest snapshot; the one that this very event makes, where a candidate before it has written."""
    session = situation.session
    newest = session.substrate.snapshots.get(session.substrate.state_snapshot_id, 0)
    return (
        session.substrate.state_snapshot_id
        if newest == session.substrate.state_version
        else situation.facts.event_id
    )


def binding(situation: Situation, candidate: Candidate, finding: CallFinding) -> str:
    """What a confirmation binds: effective arguments, the tool's definition, policy, snapshot and vector."""
    vector = vector_of(situation, candidate)
    return digest(
        {
            "candidate": msgspec.to_builtins(without_vector(candidate)),
            "definition_hash": finding.definition_hash,
            "policy_hash": situation.facts.policy_hash,
            "state_snapshot_id": situation.session.substrate.state_snapshot_id,
            **({} if vector is UNSET else {"vector": vector.digest}),
        }
    )


def vector_of(situation: Situation, candidate: Candidate) -> VectorRef | UnsetType:
    """The dense side of a change, by name: as it comes now, or as it came when a person was asked."""
    if not isinstance(candidate, DeltaCandidate) or candidate.delta_vector is UNSET:
        return situation.vector
    return ref(candidate.delta_vector, situation.facts.event_id)


def hash_of(constraint: Constraint) -> str:
    """A constraint as it was when a person was asked."""
    return digest([constraint.key, constraint.raw])


def with_consent(judgement: Judgement, consent: dict[str, str] | None) -> Judgement:
    """INVARIANT: a yes answers `ask`, for the constraints that the person was asked about, and nothing else.

    What allows on condition is allowed by the yes; what denies no longer does, but something must allow it.
    """
    if consent is None:
        return judgement
    left = tuple(one for one in judgement.failures if not _answered(one.constraint, consent))
    permits = any(
        one.constraint.effect == "allow" for one in judgement.failures if _answered(one.constraint, consent)
    )
    return Judgement(judgement.allowed or permits, left)


def _answered(constraint: Constraint, consent: dict[str, str]) -> bool:
    """By hash: one that has changed since, in what it asks or in what follows, was not asked about."""
    return consent.get(constraint.key) == hash_of(constraint)
