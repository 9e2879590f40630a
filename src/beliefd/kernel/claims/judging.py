"""Judging a bundle: its way through the gates, put into the words of the contract, and whom it calls."""

from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.approvals.eligibility import required_approvals
from beliefd.kernel.approvals.state import Approval, BundleSubject, InformationSubject
from beliefd.kernel.claims.bundle import AuditTrail, ClaimBundle, GateOverride, HumanApproval, content_hash
from beliefd.kernel.claims.events import Gated
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import ChainResult, GateInput
from beliefd.kernel.claims.rejected import rejected_before, words_of
from beliefd.kernel.claims.resolving import standings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import ClaimTiers, effective_tiers
from beliefd.kernel.facts import Facts
from beliefd.kernel.measurements.state import Measurements
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import subjects
from beliefd.kernel.values import Principal, Tier, later

# A steward that found nothing out has not looked: the adversarial gate then asks a person.
_NOT_LOOKED = ClaimFindings(threat=Threat(detector="none", failed="no detector ran"), tools={}, rejected={})


def findings_of(facts: Facts) -> ClaimFindings:
    return facts.findings if isinstance(facts.findings, ClaimFindings) else _NOT_LOOKED


def tiers_under(facts: Facts, bundle: ClaimBundle, proposer: str) -> ClaimTiers:
    """The tiers that count today."""
    return effective_tiers(bundle, proposer, facts.policy, findings_of(facts).tools or {})


def gate_input(
    bundle: ClaimBundle,
    session: Session | None,
    principal: Principal,
    facts: Facts,
    proposers: tuple[str, ...],
    grant: str | None = None,
    measurements: Measurements | None = None,
) -> GateInput:
    """What the gates may know. `measurements` are those of the session, unless there is none.

    An entry from before it was looked up what claims rest on is decided again without that.
    """
    findings = findings_of(facts)
    return GateInput(
        bundle,
        principal,
        facts.policy,
        findings,
        facts.now,
        grant,
        None
        if findings.tools is UNSET
        else standings(bundle, session, findings, proposers, measurements, _of_these_words(facts)),
        tiers_under(facts, bundle, principal.id),
        {} if session is None else subjects(session, bundle.claims, findings.fallen or {}),
        rejected_before(bundle, session, findings),
    )


def _of_these_words(facts: Facts) -> bool:
    """The rule came with the caveat; where that is left out it is decided as it was before."""
    return facts.policy.uncertainty.unwitnessed == "told"


class Answered(Struct, frozen=True):
    """What people have said to a bundle so far, which gates that answers, and which of them it overrides."""

    words: tuple[HumanApproval, ...] = ()
    gates: frozenset[str] = frozenset()
    overridden: tuple[GateOverride, ...] = ()


NOBODY_YET: Final = Answered()


def gated(
    chain: ChainResult,
    given: GateInput,
    facts: Facts,
    proposers: tuple[str, ...],
    proposer: Principal,
    answered: Answered = NOBODY_YET,
) -> Gated:
    """The bundle with what the server has to say about it, and the approval it opens, if any."""
    bundle, tiers = given.bundle, given.tiers
    tier, raised = tiers.highest, tiers.raised or UNSET
    rule = facts.policy.approvals.rule_for(tier.name)
    waits = chain.decision in ("DEFER", "ESCALATE")
    judged = replace(
        bundle,
        decision=chain.decision,
        reason=chain.reason,
        required_approvals=required_approvals(rule) if waits else (),
        audit_trail=AuditTrail(
            gates_passed=chain.passed,
            gates_failed=chain.failed,
            human_approvals=answered.words,
            gates_overridden=answered.overridden or UNSET,
        ),
    )
    binding = content_hash(bundle)
    informs = chain.decision == "PUBLISH" and not answered.words and tier is Tier.MODIFY
    approval = None
    if waits or informs:
        approval = Approval(
            approval_id=f"apr-{facts.event_id}",
            event_id=facts.event_id,
            subject=InformationSubject(bundle_id=bundle.id or "", bundle=judged)
            if informs
            else BundleSubject(bundle_id=bundle.id or "", bundle=bundle),
            content_hash=binding,
            proposers=proposers,
            proposer=proposer,
            gate=chain.stopped_by or "human",
            tier=tier.name,
            raised=raised,
            reason=chain.reason,
            results=(*chain.results, *chain.beyond),
            standings=given.standings or UNSET,
            rule=rule,
            opened_at=facts.now,
            expires_at=later(facts.now, facts.policy.approvals.expires_seconds),
            status="information" if informs else "pending",
            earlier=answered.words,
            approved_gates=tuple(sorted(answered.gates)),
            overridden=answered.overridden or UNSET,
            gates=chain.asking if waits and given.all_are_asked else UNSET,
            words=UNSET if informs else words_of(bundle, given.findings),
        )
    return Gated(
        bundle=judged,
        content_hash=binding,
        results=chain.results,
        caveats=chain.caveats,
        approval=approval,
        standings=given.standings or UNSET,
        raised=raised,
    )
