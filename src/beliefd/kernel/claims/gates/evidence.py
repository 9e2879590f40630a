"""Evidence gate: facts need sources that are good enough, fresh enough, and hash to what they say."""

import re
from typing import Final, NamedTuple, get_args

from beliefd.kernel import patterns
from beliefd.kernel.claims.bundle import SHA256_DIGITS, Claim, EvidencePointer, named
from beliefd.kernel.claims.gates.about import about
from beliefd.kernel.claims.gates.result import GateInput, GateResult, Seen, passes, says
from beliefd.kernel.claims.policy import EvidencePolicy, EvidenceState
from beliefd.kernel.claims.standing import UNSEEN_ALONE, ClaimStanding
from beliefd.kernel.claims.tiers import NAMES
from beliefd.kernel.values import ClaimType, Tier, quoted, seconds

GATE = "evidence"
CLOCK_SKEW_SECONDS = 300
SHOWN = 80
"""How much of a source's name a reason repeats."""
NAMED = 3
"""How many sources it names."""
SECOND: Final = len("2026-01-05T14:02:00")
_IN_UTC: Final = re.compile(patterns.TIMESTAMP.replace("(Z|[+-][0-9]{2}:[0-9]{2})", "Z"))
ONLY = "evidence is attested only: "
UNNAMED = "the claim names no evidence"
STATES: tuple[str, ...] = get_args(EvidenceState)
_NONE = ClaimStanding()
Weakness = tuple[str, Seen, Seen]
"""What is wrong, under which limit, having seen what."""


class _Now(NamedTuple):
    """The time of the decision; `begun` is its second as times are written, if that is in UTC."""

    at: float
    begun: str

    def is_after(self, at: str) -> bool:
        """Is it surely? Both are in UTC then, and times that are written alike are in the order of texts."""
        return at[:SECOND] < self.begun and at[-1] == "Z"


def evidence(given: GateInput) -> list[GateResult]:
    by_claim, policy = given.tiers.by_claim, given.policy.evidence
    now = _Now(seconds(given.now), given.now[:SECOND] if _IN_UTC.match(given.now) else "")
    required: dict[tuple[ClaimType, Tier], EvidenceState] = {}  # most claims of a bundle are of one kind
    found: list[GateResult] = []
    source = told = ""
    calm = policy.hash == "lenient" and policy.max_age_seconds is None and not given.findings.content
    standings = given.standings if calm and given.standings else {}
    for claim in given.bundle.claims:
        kind = claim.claim_type, by_claim[claim.id or ""]
        if kind not in required:
            required[kind] = policy.required(kind[0], NAMES[kind[1]])
        if required[kind] == "attested" and standings.get(claim.id or "") is UNSEEN_ALONE:
            # One source of which nobody here knows any more: as most, and `_judge` takes longer to say so.
            pointer = claim.evidence_pointers[0]
            if pointer.source_confidence >= policy.min_confidence and now.is_after(pointer.retrieved_at):
                if source != (source := pointer.source):  # many claims name the same one
                    told = f"{ONLY}{_named(source, '')}"
                found.append(GateResult(GATE, "EXPLAIN", told, claim.id, "attested", "attested"))
                continue
        _judge(claim, required[kind], given, now, found)
    if found := found + about(given):
        return found
    best = [
        max(pointer.source_confidence for pointer in claim.evidence_pointers)
        for claim in given.bundle.claims
        if _held_to_standard(claim)
    ]
    met = best or given.standings is None  # older entries say so of bundles without evidence too
    reason = "evidence meets the standard" if met else "no claim here has to have evidence"
    return passes(GATE, reason, given.policy.evidence.min_confidence, min(best, default=None))


def validate_fact(claim: Claim, min_confidence: float = 0.60) -> bool:
    """The contract's rule for FACT claims; other types pass."""
    if claim.claim_type != "FACT":
        return True
    return any(pointer.source_confidence >= min_confidence for pointer in claim.evidence_pointers)


def _held_to_standard(claim: Claim) -> bool:
    """A FACT must have evidence; an INFERENCE that offers some is measured alike; a DECISION needs none."""
    return claim.claim_type != "DECISION" and claim.evidence_pointers != ()


def _judge(
    claim: Claim, required: EvidenceState, given: GateInput, now: _Now, found: list[GateResult]
) -> None:
    """Add to what was found what is to be said of a claim."""
    policy, pointers = given.policy.evidence, claim.evidence_pointers
    # Nothing can be unfit of pointers that are there where no content is and any digest will do.
    is_doubtful = not pointers or given.findings.content or policy.hash != "lenient"
    if is_doubtful and (unfit := _unfit(claim, given)) is not None:
        found.append(says(GATE, "REFUSE", *unfit, claim))
        return
    weakness = _weakness(pointers, policy, now) if pointers and claim.claim_type != "DECISION" else None
    standing = None if given.standings is None else given.standings.get(claim.id or "", _NONE)
    if standing is not None and weakness is None and required != "attested":
        weakness = _unknown(claim, standing, required, policy, now)
    if weakness is not None:
        found.append(says(GATE, "DEFER", *weakness, claim))
    if standing is None:
        return
    if not pointers and policy.unnamed == "told":
        found.append(GateResult(GATE, "EXPLAIN", UNNAMED, claim.id, required, "none"))
    elif (caveat := _caveat(claim, standing)) is not None:
        found.append(GateResult(GATE, "EXPLAIN", caveat, claim.id, required, "attested"))


def _unfit(claim: Claim, given: GateInput) -> Weakness | None:
    """Why its evidence is none at all."""
    pointers, content = claim.evidence_pointers, given.findings.content
    for pointer in pointers if content else ():
        if content.get(pointer.evidence_hash.lower()) == "mismatch":
            reason = f"stored content of {quoted(pointer.source, SHOWN)} does not hash to its `evidence_hash`"
            return reason, pointer.evidence_hash, "mismatch"
    if claim.claim_type == "FACT" and not pointers:
        return "a FACT needs evidence and names none", 1, 0
    if given.policy.evidence.hash == "strict":
        odd = [pointer for pointer in pointers if len(pointer.evidence_hash) != SHA256_DIGITS]
        if odd:
            return "`evidence_hash` is not SHA-256", SHA256_DIGITS, len(odd[0].evidence_hash)
    return None


def _unknown(
    claim: Claim, standing: ClaimStanding, required: EvidenceState, policy: EvidencePolicy, now: _Now
) -> Weakness | None:
    """Why no good source is known well enough, if policy asks for more than that somebody says so."""
    pairs = zip(claim.evidence_pointers, standing.evidence, strict=True)
    states = [known.state for pointer, known in pairs if _weakness((pointer,), policy, now) is None]
    best = max(states, key=STATES.index, default="none")
    if best in STATES and STATES.index(best) >= STATES.index(required):
        return None
    needs = f"needs evidence that is {required} here; the best of it is {best}"
    return f"{named(claim.claim_type)} {needs}", required, best


def _caveat(claim: Claim, standing: ClaimStanding) -> str | None:
    """What must be said along with a claim: which of its evidence nobody here has seen."""
    pointers, known = claim.evidence_pointers, standing.evidence
    if len(pointers) == len(known) == 1:  # most claims have one
        told = _named(pointers[0].source, known[0].by) if known[0].state == "attested" else None
        return None if told is None else f"{ONLY}{told}"
    pairs = zip(pointers, known, strict=True)
    unseen = [_named(pointer.source, one.by) for pointer, one in pairs if one.state == "attested"]
    if not unseen:
        return None
    more = f" and {len(unseen) - NAMED} more" if len(unseen) > NAMED else ""
    return f"{ONLY}{', '.join(unseen[:NAMED])}{more}"


def _named(source: str, by: str | None) -> str:
    return f"{quoted(source, SHOWN)} ({by or 'nobody here has seen it'})"


def _weakness(pointers: tuple[EvidencePointer, ...], policy: EvidencePolicy, now: _Now) -> Weakness | None:
    """Why none of the sources will do, under which limit, and what came closest to it."""
    least, oldest = policy.min_confidence, policy.max_age_seconds
    for pointer in pointers:  # one that will do is enough, and mostly the first is one
        if pointer.source_confidence >= least:
            at = pointer.retrieved_at
            if oldest is None and now.is_after(at):  # as mostly
                return None
            age = round(now.at - seconds(at), 3)
            if age >= -CLOCK_SKEW_SECONDS and (oldest is None or age <= oldest):
                return None
    good = [pointer for pointer in pointers if pointer.source_confidence >= policy.min_confidence]
    if not good:
        best = max(pointer.source_confidence for pointer in pointers)
        return "no source is good enough", policy.min_confidence, best
    # Evidence from the future was not retrieved; a few minutes are clocks that disagree.
    ages = [round(now.at - seconds(pointer.retrieved_at), 3) for pointer in good]
    past = [age for age in ages if age >= -CLOCK_SKEW_SECONDS]
    if policy.max_age_seconds is None or not past:
        return "good sources come from the future only", CLOCK_SKEW_SECONDS, -max(ages)
    return "no good source is recent enough", policy.max_age_seconds, min(past)
