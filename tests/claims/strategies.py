"""Random bundles: every enum, awkward text, numbers at their bounds, times in every spelling."""

from typing import Any

from hypothesis import strategies as st

from beliefd.kernel.claims.bundle import (
    AuditTrail,
    Claim,
    ClaimBundle,
    EvidencePointer,
    HumanApproval,
    Uncertainty,
)
from tests.claims.support import TIERS

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
filled_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ids = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8)
units = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 0.6, 0.75, 1.0])
digests = st.sampled_from([32, 40, 64, 96, 128]).flatmap(
    lambda size: st.text("0123456789abcdefABCDEF", min_size=size, max_size=size)
)
times = st.builds(
    lambda moment, offset, fraction: moment.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + fraction + offset,
    st.datetimes(),
    st.sampled_from(["Z", "+00:00", "-05:30", "+14:00", "+23:59"]),
    st.sampled_from(["", ".5", ".123", ".123456"]),
)
tiers = st.sampled_from(TIERS)
kinds = st.sampled_from(["FACT", "INFERENCE", "DECISION"])
methods = st.sampled_from(["semantic_entropy", "model_disagreement", "confidence_score", "conformal_set"])
recommendations = st.sampled_from(["EXECUTE", "DEFER", "REFUSE", "EXPLAIN"])
decisions: st.SearchStrategy[Any] = st.sampled_from(["PUBLISH", "DEFER", "ESCALATE", "REFUSE"])

pointers = st.builds(
    EvidencePointer,
    source=filled_texts,
    source_confidence=units,
    evidence_hash=digests,
    retrieved_at=times,
)
uncertainties = st.builds(
    Uncertainty,
    method=methods,
    value=units,
    interpretation=texts,
    gate_recommendation=recommendations,
)
claims = st.builds(
    Claim,
    statement=filled_texts,
    claim_type=kinds,
    uncertainty=uncertainties,
    risk_tier=tiers,
    id=st.none(),
    evidence_pointers=st.lists(pointers, max_size=3).map(tuple),
    if_wrong_cost=texts,
)
human_approvals = st.builds(
    HumanApproval,
    approver=ids,
    timestamp=times,
    decision=st.sampled_from(["APPROVED", "REJECTED"]),
    reason=texts,
)
audit_trails = st.builds(
    AuditTrail,
    gates_passed=st.lists(texts, max_size=3).map(tuple),
    gates_failed=st.lists(texts, max_size=3).map(tuple),
    human_approvals=st.lists(human_approvals, max_size=2).map(tuple),
)


@st.composite
def bundles(draw: st.DrawFn) -> ClaimBundle:
    """A bundle as an agent may write it: ids given or not, and what only the server may say filled in."""
    said = draw(st.lists(claims, min_size=1, max_size=4))
    names = draw(st.lists(st.none() | ids, min_size=len(said), max_size=len(said)))
    taken: set[str] = {f"claim-{place}" for place in range(1, 5)}
    named = []
    for one, name in zip(said, names, strict=True):
        fresh = None if name in taken else name
        taken |= {fresh} if fresh is not None else set()
        named.append(
            Claim(**{**{field: getattr(one, field) for field in one.__struct_fields__}, "id": fresh})
        )
    return ClaimBundle(
        origin_agent=draw(ids),
        claims=tuple(named),
        id=draw(st.none() | ids),
        timestamp=draw(st.none() | times),
        decision=draw(decisions),
        reason=draw(texts),
        required_approvals=tuple(draw(st.lists(texts, max_size=2))),
        audit_trail=draw(audit_trails),
    )


def kebab(value: Any) -> Any:
    """The same JSON in the other spelling."""
    if isinstance(value, dict):
        return {key.replace("_", "-"): kebab(item) for key, item in value.items()}
    return [kebab(item) for item in value] if isinstance(value, list) else value
