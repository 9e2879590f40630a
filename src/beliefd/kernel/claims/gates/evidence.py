"""Evidence gate: facts need sources that are good enough, fresh enough, and hash to what they say."""

from beliefd.kernel.claims.bundle import Claim, EvidencePointer, seconds
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates.result import GateInput, GateResult, Outcome, passes
from beliefd.kernel.policy import EvidencePolicy

GATE = "evidence"
SHA256_DIGITS = 64
CLOCK_SKEW_SECONDS = 300


def evidence(given: GateInput) -> list[GateResult]:
    now = seconds(given.now)
    found = [
        result
        for claim in given.bundle.claims
        for result in _judge(claim, given.policy.evidence, given.findings, now)
    ]
    weakest = min(
        (pointer.source_confidence for claim in given.bundle.claims for pointer in claim.evidence_pointers),
        default=None,
    )
    limit = given.policy.evidence.min_confidence
    return found or passes(GATE, "evidence meets the standard", limit, weakest)


def validate_fact(claim: Claim, min_confidence: float = 0.60) -> bool:
    """The contract's rule for FACT claims; other types pass."""
    if claim.claim_type != "FACT":
        return True
    return any(pointer.source_confidence >= min_confidence for pointer in claim.evidence_pointers)


def _judge(claim: Claim, policy: EvidencePolicy, findings: ClaimFindings, now: float) -> list[GateResult]:
    def say(
        outcome: Outcome, reason: str, limit: float | str | None, observed: float | str | None
    ) -> GateResult:
        return GateResult(
            gate=GATE, outcome=outcome, reason=reason, claim_id=claim.id, limit=limit, observed=observed
        )

    pointers = claim.evidence_pointers
    for pointer in pointers:
        if findings.content.get(pointer.evidence_hash.lower()) == "mismatch":
            reason = f"stored content of `{pointer.source}` does not hash to its `evidence_hash`"
            return [say("REFUSE", reason, pointer.evidence_hash, "mismatch")]
    if claim.claim_type == "FACT" and not pointers:
        return [say("REFUSE", "a FACT needs evidence and names none", 1, 0)]
    odd = [pointer for pointer in pointers if len(pointer.evidence_hash) != SHA256_DIGITS]
    if odd and policy.hash == "strict":
        return [say("REFUSE", "`evidence_hash` is not SHA-256", SHA256_DIGITS, len(odd[0].evidence_hash))]
    if pointers and claim.claim_type != "DECISION":
        best = max(pointer.source_confidence for pointer in pointers)
        if best < policy.min_confidence:
            return [say("DEFER", "no source is good enough", policy.min_confidence, best)]
        if not any(_usable(pointer, policy, now) for pointer in pointers):
            oldest = min(now - seconds(pointer.retrieved_at) for pointer in pointers)
            return [say("DEFER", "no good source is recent enough", policy.max_age_seconds, round(oldest, 3))]
    return [
        say(
            "EXPLAIN",
            f"`evidence_hash` of `{pointer.source}` has {len(pointer.evidence_hash)} hex digits: "
            "it is not SHA-256 and cannot be recomputed",
            SHA256_DIGITS,
            len(pointer.evidence_hash),
        )
        for pointer in odd
    ]


def _usable(pointer: EvidencePointer, policy: EvidencePolicy, now: float) -> bool:
    if pointer.source_confidence < policy.min_confidence:
        return False
    age = now - seconds(pointer.retrieved_at)
    # Evidence from the future was not retrieved; a few minutes are clocks that disagree.
    return age >= -CLOCK_SKEW_SECONDS and (policy.max_age_seconds is None or age <= policy.max_age_seconds)
