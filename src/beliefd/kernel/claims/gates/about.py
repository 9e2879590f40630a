"""What the evidence gate says of what a claim is about: nobody states as a fact what was ruled out."""

from msgspec import UNSET

from beliefd.kernel.claims.about import Subject
from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.claims.gates.result import GateInput, GateResult, says

GATE = "evidence"
LIMIT = "what stands"
NO_SESSION = Subject("stands", "what it is about is looked up only in a session", "unknown")


def about(given: GateInput) -> list[GateResult]:
    found = [_judge(claim, given) for claim in given.bundle.claims if claim.about is not UNSET]
    return [result for result in found if result is not None]


def _judge(claim: Claim, given: GateInput) -> GateResult | None:
    """INVARIANT: a FACT is never about what was eliminated or refuted, whoever approves it."""
    subject = given.about.get(claim.id or "", NO_SESSION)
    if not subject.words:
        return None
    refuses = subject.state == "unknown" or (subject.state == "gone" and claim.claim_type == "FACT")
    return says(GATE, "REFUSE" if refuses else "EXPLAIN", subject.words, LIMIT, subject.observed, claim)
