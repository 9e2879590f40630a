"""Evidence gate: facts need sources that are good enough, fresh enough, and hash to what they say."""

from functools import partial

from beliefd.kernel.claims.bundle import Claim, EvidencePointer
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates.result import GateInput, GateOutcome, GateResult, Seen, passes, says
from beliefd.kernel.policy import EvidencePolicy
from beliefd.kernel.values import seconds

GATE = "evidence"
SHA256_DIGITS = 64
CLOCK_SKEW_SECONDS = 300
SHOWN = 80
"""How much of a source's name a reason repeats."""


def evidence(given: GateInput) -> list[GateResult]:
    now = seconds(given.now)
    found = [
        result
        for claim in given.bundle.claims
        for result in _judge(claim, given.policy.evidence, given.findings, now)
    ]
    best = (
        max(pointer.source_confidence for pointer in claim.evidence_pointers)
        for claim in given.bundle.claims
        if _held_to_standard(claim)
    )
    limit = given.policy.evidence.min_confidence
    return found or passes(GATE, "evidence meets the standard", limit, min(best, default=None))


def validate_fact(claim: Claim, min_confidence: float = 0.60) -> bool:
    """The contract's rule for FACT claims; other types pass."""
    if claim.claim_type != "FACT":
        return True
    return any(pointer.source_confidence >= min_confidence for pointer in claim.evidence_pointers)


def _held_to_standard(claim: Claim) -> bool:
    """A FACT must have evidence; an INFERENCE that offers some is measured alike; a DECISION needs none."""
    return claim.claim_type != "DECISION" and bool(claim.evidence_pointers)


def _judge(claim: Claim, policy: EvidencePolicy, findings: ClaimFindings, now: float) -> list[GateResult]:
    say = partial(_say, claim)
    pointers = claim.evidence_pointers
    for pointer in pointers if findings.content else ():
        if findings.content.get(pointer.evidence_hash.lower()) == "mismatch":
            reason = f"stored content of `{pointer.source[:SHOWN]}` does not hash to its `evidence_hash`"
            return [say("REFUSE", reason, pointer.evidence_hash, "mismatch")]
    if claim.claim_type == "FACT" and not pointers:
        return [say("REFUSE", "a FACT needs evidence and names none", 1, 0)]
    odd = [pointer for pointer in pointers if len(pointer.evidence_hash) != SHA256_DIGITS]
    if odd and policy.hash == "strict":
        return [say("REFUSE", "`evidence_hash` is not SHA-256", SHA256_DIGITS, len(odd[0].evidence_hash))]
    if _held_to_standard(claim) and (weakness := _weakness(pointers, policy, now)) is not None:
        return [say("DEFER", *weakness)]
    if not odd:
        return []
    return [
        say(
            "EXPLAIN",
            f"`evidence_hash` of `{pointer.source[:SHOWN]}` has {len(pointer.evidence_hash)} hex digits: "
            "it is not SHA-256 and cannot be recomputed",
            SHA256_DIGITS,
            len(pointer.evidence_hash),
        )
        for pointer in odd
    ]


def _say(claim: Claim, outcome: GateOutcome, reason: str, limit: Seen, observed: Seen) -> GateResult:
    return says(GATE, outcome, reason, limit, observed, claim)


def _weakness(
    pointers: tuple[EvidencePointer, ...], policy: EvidencePolicy, now: float
) -> tuple[str, float, float] | None:
    """Why none of the sources will do, under which limit, and what came closest to it."""
    for pointer in pointers:  # one that will do is enough, and mostly the first is one
        if pointer.source_confidence >= policy.min_confidence:
            age = round(now - seconds(pointer.retrieved_at), 3)
            if age >= -CLOCK_SKEW_SECONDS and (
                policy.max_age_seconds is None or age <= policy.max_age_seconds
            ):
                return None
    good = [pointer for pointer in pointers if pointer.source_confidence >= policy.min_confidence]
    if not good:
        best = max(pointer.source_confidence for pointer in pointers)
        return "no source is good enough", policy.min_confidence, best
    # Evidence from the future was not retrieved; a few minutes are clocks that disagree.
    ages = [round(now - seconds(pointer.retrieved_at), 3) for pointer in good]
    past = [age for age in ages if age >= -CLOCK_SKEW_SECONDS]
    if policy.max_age_seconds is None or not past:
        return "good sources come from the future only", CLOCK_SKEW_SECONDS, -max(ages)
    return "no good source is recent enough", policy.max_age_seconds, min(past)
