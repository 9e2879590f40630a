"""The kernel's laws over random claims: total, pure, readable again, and nothing happens by a refusal."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beliefd.kernel.approvals.commands import (
    DecideApproval,
    ExpireApproval,
    GiveGrant,
    RevokeGrant,
    WithdrawApproval,
)
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.policy import AdversarialPolicy, EvidencePolicy, SecurityPolicy, UncertaintyPolicy
from beliefd.kernel.claims.threat import Signal, Threat
from beliefd.kernel.claims.tiers import tiers_of
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.event import Refused
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import ApprovalPolicy, ApproverRule, Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash, seal
from beliefd.ledger.envelope import command_of, head_of, read
from beliefd.ledger.state_hash import state_hash
from beliefd.testing.world import ONTOLOGY
from tests.claims.strategies import bundles, claims, texts, tiers, units
from tests.claims.support import TIERS

principals = st.builds(
    Principal,
    id=st.sampled_from(["agent://a", "human://b", "human://c", "human://d"]),
    role=st.sampled_from(list(Role)),
    tier=tiers,
)
rules = st.builds(
    ApproverRule,
    roles=st.sampled_from([(), (Role.APPROVER,), (Role.APPROVER, Role.ADMIN)]),
    principals=st.sampled_from([(), ("human://b", "human://c")]),
    required=st.integers(1, 2),
)
policies = st.builds(
    Policy,
    evidence=st.builds(
        EvidencePolicy,
        min_confidence=units,
        hash=st.sampled_from(["lenient", "strict"]),
        max_age_seconds=st.none() | st.integers(1, 10**8),
    ),
    uncertainty=st.tuples(units, units).map(
        lambda pair: UncertaintyPolicy(explain_above=min(pair), defer_above=max(pair))
    ),
    security=st.builds(
        SecurityPolicy, rate_limit=st.integers(1, 5), allowed_origins=st.sampled_from([(), ("https://a",)])
    ),
    adversarial=st.builds(AdversarialPolicy, defer_above=units),
    approvals=st.builds(
        ApprovalPolicy,
        require_human=st.sampled_from([TIERS[3:], TIERS[2:], TIERS]),
        approvers=st.dictionaries(tiers, rules, max_size=2),
        otherwise=rules,
        expires_seconds=st.integers(1, 1000),
        on_expiry=st.sampled_from(["refuse", "escalate", "keep"]),
    ),
)
signals = st.builds(Signal, kind=texts, weight=units, path=texts, excerpt=texts)
findings = st.builds(
    ClaimFindings,
    threat=st.builds(
        Threat,
        detector=texts,
        score=units,
        signals=st.lists(signals, max_size=2).map(tuple),
        failed=st.none() | texts,
    ),
    content=st.just({}),
    recent=st.integers(0, 6),
    origin=st.none() | st.sampled_from(["https://a", "https://b"]),
)


def commands(session: Session) -> st.SearchStrategy[Command]:
    """Anything that parses, aimed at what there is and at what there is not."""
    known: list[Any] = sorted(session.approvals.by_id)
    approvals = st.sampled_from([*known, *known, "apr-none"])
    hashes = st.sampled_from([*(session.approvals.by_id[aid].content_hash for aid in known), "x"])
    grants = st.sampled_from([*sorted(session.approvals.grants), "grant-none"])
    named = bundles().map(lambda one: msgspec.structs.replace(one, id=one.id and one.id[0]))
    return st.one_of(
        named.map(lambda one: SubmitClaims(bundle=one)),
        st.builds(
            DecideApproval,
            approval_id=approvals,
            decision=st.sampled_from(["APPROVED", "REJECTED", "MODIFIED"]),
            content_hash=hashes,
            reason=texts,
            claims=st.lists(claims, max_size=2).map(tuple),
        ),
        st.builds(WithdrawApproval, approval_id=approvals, reason=texts),
        st.builds(ExpireApproval, approval_id=approvals),
        st.builds(
            GiveGrant,
            principal=st.sampled_from(["agent://a", "human://b"]),
            tiers=st.lists(tiers, min_size=1, max_size=2).map(tuple),
            expires_in_seconds=st.integers(1, 500),
            max_uses=st.integers(1, 2),
        ),
        st.builds(RevokeGrant, grant_id=grants),
    )


def begun() -> Session:
    return begin("s", DeclareSession(ontology=ONTOLOGY, hypotheses=("h1", "h2")))


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_deciding_is_total_pure_and_readable_again(data: st.DataObject) -> None:
    session, head, seconds = begun(), None, 0
    for number in range(data.draw(st.integers(1, 8))):
        seconds += data.draw(st.sampled_from([0, 1, 600]))
        rule = data.draw(policies)
        known = Facts(
            now=f"2026-01-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.000000Z",
            event_id=f"e{number}",
            principal=data.draw(principals),
            policy=rule,
            policy_hash=policy_hash(rule),
            findings=data.draw(st.none() | findings),
        )
        command = data.draw(commands(session))
        event = decide(session, command, known)
        assert decide(session, command, known) == event
        after = evolve(session, event)
        if isinstance(event, Refused):
            assert after is session
        sealed = seal(session, command, event, after, head, known)
        entry = read(sealed.record)
        assert command_of(entry) == command
        assert state_hash(evolve(session, entry.delta)) == state_hash(after)
        published_only_with_all_gates(event)
        session, head = after, head_of(sealed)


def published_only_with_all_gates(event: Any) -> None:
    if isinstance(event, BundleGated | ApprovalDecided) and event.gated is not None:
        judged: ClaimBundle = event.gated.bundle
        if judged.decision != "PUBLISH":
            assert judged.audit_trail.gates_failed or judged.decision == "REFUSE"
            return
        assert judged.audit_trail.gates_passed == (
            "evidence",
            "uncertainty",
            "security",
            "adversarial",
            "human",
        )
        if tiers_of(judged, event.gated.raised).highest.name in ("DELETE", "PRIVILEGE"):
            assert isinstance(event, ApprovalDecided)
            assert event.decision == "APPROVED"
            assert judged.audit_trail.human_approvals
