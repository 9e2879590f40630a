"""The gates: their limits from the default policy, and what each says at its limits, by asking it."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.json import encode
from msgspec.structs import replace
from scripts.reference.types import sentence, table

from beliefd.kernel.claims.about import About, Subject
from beliefd.kernel.claims.bundle import (
    Claim,
    ClaimBundle,
    DecidedAction,
    EvidencePointer,
    Severity,
    Uncertainty,
)
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.gates import GATES
from beliefd.kernel.claims.gates.result import GateInput, GateResult
from beliefd.kernel.claims.policy import (
    MAX_READ_BYTES,
    EvidencePolicy,
    MeasurementRule,
    SecurityPolicy,
    UncertaintyPolicy,
)
from beliefd.kernel.claims.resolving import standings
from beliefd.kernel.claims.standing import CitedReceipt, ClaimStanding, MeasuredStanding
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.labels import Bringer
from beliefd.kernel.policy import ApprovalPolicy, Policy, TierRaise, TiersPolicy
from beliefd.kernel.values import Principal, Role, Tier

NOW: Final = "2026-01-01T12:00:00Z"
SHA256: Final = "0" * 64
STEP: Final = 0.01
Cases = Iterator[tuple[str, GateInput]]
SECTIONS: Final = {"human": "approvals"}
"""The policy section of a gate has the gate's name, but for these."""
HUMAN_LIMITS: Final = ("require_human", "decisions_without_action")
OUTCOMES: Final = {
    "EXECUTE": "The bundle passes this gate.",
    "EXPLAIN": "The bundle passes, and the gate's reason is published with it as a caveat.",
    "DEFER": "The bundle stops here; a person is asked. Its decision is `DEFER`.",
    "ESCALATE": "The bundle stops here; a person must decide. Its decision is `ESCALATE`.",
    "REFUSE": "The bundle is refused. No approval changes that.",
}


SPEAKER: Final = Principal(id="agent://a", role=Role.AGENT, tier="PRIVILEGE")
TOOLS: Final = {"db.look": "READ_ONLY", "db.drop": "DELETE"}
WORDY: Final = Policy(tiers=TiersPolicy(raise_=(TierRaise(words=("empty",), to="DELETE"),)))

LIBRARY: Final = {"brought": {SHA256: (Bringer(id="tool://library", role=Role.TOOL, at=NOW),)}}


def deciding(tool: str) -> dict[str, Any]:
    return {"claim_type": "DECISION", "action": DecidedAction(tool=tool)}


def pointer(**changes: Any) -> EvidencePointer:
    usual = {
        "source": "https://example.org/a",
        "source_confidence": 0.9,
        "evidence_hash": SHA256,
        "retrieved_at": NOW,
    }
    return EvidencePointer(**{**usual, **changes})


def asked(
    claim: dict[str, Any] | None = None,
    findings: dict[str, Any] | None = None,
    policy: Policy | None = None,
    principal: Principal = SPEAKER,
    granted: str | None = None,
) -> GateInput:
    """A harmless bundle, but for what is given."""
    usual: dict[str, Any] = {
        "id": "claim-1",
        "statement": "the pool is empty",
        "claim_type": "INFERENCE",
        "uncertainty": Uncertainty(method="confidence_score", value=0.1),
        "risk_tier": "READ_ONLY",
    }
    bundle = ClaimBundle(origin_agent=SPEAKER.id, claims=(Claim(**{**usual, **(claim or {})}),))
    usually = {"threat": Threat(detector="builtin"), "tools": TOOLS, "content": {SHA256: "match"}, **LIBRARY}
    found = ClaimFindings(**{**usually, **(findings or {})})
    known = standings(bundle, None, found, (principal.id,))
    return GateInput(bundle, principal, policy or Policy(), found, NOW, granted, known)


def measured(rule: MeasurementRule, known: MeasuredStanding | UnsetType = UNSET) -> GateInput:
    """A low uncertainty where policy asks for a measurement."""
    policy = Policy(uncertainty=UncertaintyPolicy(require={"READ_ONLY": rule}))
    cited = UNSET if known is UNSET else known.measurement_id
    how = Uncertainty(method="semantic_entropy", value=0.1, measurement_id=cited)
    given = asked({"uncertainty": how}, policy=policy)
    return replace(given, standings={"claim-1": ClaimStanding(measured=known)})


def fact(*pointers: EvidencePointer, **rest: Any) -> GateInput:
    return asked({"claim_type": "FACT", "evidence_pointers": pointers}, **rest)


def about(kind: str, state: Any, words: str) -> GateInput:
    given = fact(pointer())
    claims = tuple(
        replace(claim, claim_type=kind, about=About(hypothesis="h")) for claim in given.bundle.claims
    )
    bundle = replace(given.bundle, claims=claims)
    return replace(given, bundle=bundle, about={"claim-1": Subject(state, words)})


def uncertain(value: float, wish: Any = "EXECUTE") -> GateInput:
    how = Uncertainty(method="confidence_score", value=value, gate_recommendation=wish)
    return asked({"uncertainty": how})


def threat(**verdict: Any) -> GateInput:
    return asked(findings={"threat": Threat(**{"detector": "builtin", **verdict})})


def evidence_cases() -> Cases:
    limit = Policy().evidence.min_confidence
    below = round(limit - STEP, 2)
    strict, aged = EvidencePolicy(hash="strict"), EvidencePolicy(max_age_seconds=3600)
    short, old = pointer(evidence_hash="0" * 32), pointer(retrieved_at="2026-01-01T10:00:00Z")
    yield "a FACT without evidence", fact()
    yield f"best source at {below}", fact(pointer(source_confidence=below))
    yield f"best source at {limit}", fact(pointer(source_confidence=limit))
    mismatch = {"content": {SHA256: "mismatch"}}
    yield "stored content does not hash to `evidence_hash`", fact(pointer(), findings=mismatch)
    unknown: dict[str, Any] = {"content": {}}
    own = {"brought": {SHA256: (Bringer(id=SPEAKER.id, role=Role.AGENT, at=NOW),)}}
    yield "a READ_ONLY FACT whose evidence nobody here has seen", fact(pointer(), findings=unknown)
    yield "the same with bytes that only the proposer brought", fact(pointer(), findings=own)
    higher = {"claim_type": "FACT", "evidence_pointers": (pointer(),), "risk_tier": "WRITE_LIMITED"}
    yield "a WRITE_LIMITED FACT whose evidence nobody here has seen", asked(higher, findings=unknown)
    of_others = Policy(evidence=EvidencePolicy(require={"INFERENCE": "stored"}))
    yield "the same where `require` names INFERENCE alone", asked(higher, findings=unknown, policy=of_others)
    yield "the same with bytes that a tool brought", asked(higher)
    yield "`evidence_hash` of 32 digits", fact(short)
    yield "the same under `hash: strict`", fact(short, policy=Policy(evidence=strict))
    yield "two hours old under `max_age_seconds: 3600`", fact(old, policy=Policy(evidence=aged))
    yield "from ten minutes in the future", fact(pointer(retrieved_at="2026-01-01T12:10:00Z"))
    yield "an INFERENCE without evidence", asked()
    for kind in ("FACT", "INFERENCE"):
        yield f"{kind} about an eliminated hypothesis", about(kind, "gone", "hypothesis `h` was eliminated")
    yield "FACT about one of three survivors", about("FACT", "stands", "2 others stand")
    yield "INFERENCE about no proposition", about("INFERENCE", "unknown", "there is no proposition `p`")


def uncertainty_cases() -> Cases:
    low, high = Policy().uncertainty.explain_above, Policy().uncertainty.defer_above
    for value in (low, low + STEP, high, high + STEP):
        yield f"uncertainty of {value:.2f}", uncertain(round(value, 2))
    yield "low, but the agent recommends `REFUSE`", uncertain(low, "REFUSE")
    yield "high, and the agent recommends `EXECUTE`", uncertain(round(high + STEP, 2), "EXECUTE")
    receipt = MeasuredStanding(
        measurement_id="msr-1",
        value=0.2,
        label="attested",
        how="semantic_entropy by the lexical judge over 5 answers, given by agent://a",
        cited=CitedReceipt(
            measurement_id="msr-1",
            value=0.2,
            label="attested",
            method="semantic_entropy",
            judge="lexical",
            k=5,
        ),
    )
    torn = replace(receipt, value=1.0)
    yield "declared 0.10, measured 1.00", measured(MeasurementRule(), torn)
    yield "no measurement where policy asks for one", measured(MeasurementRule())
    yield "over 5 answers under `min_k: 10`", measured(MeasurementRule(min_k=10), receipt)
    yield "by the lexical judge under `judges: [nli]`", measured(MeasurementRule(judges=("nli",)), receipt)
    yield (
        "of the agent's own answers under `witnessed: true`",
        measured(MeasurementRule(witnessed=True), receipt),
    )
    yield "as policy asks", measured(MeasurementRule(min_k=5), receipt)
    drawn = replace(receipt, label="witnessed", how="semantic_entropy over 5 answers, asked by the server")
    yield "the same, of answers that the server drew", measured(MeasurementRule(min_k=5), drawn)


def security_cases() -> Cases:
    limit = Policy().security.rate_limit
    small = Principal(id=SPEAKER.id, role=Role.AGENT, tier="WRITE_LIMITED")
    other = Principal(id="agent://b", role=Role.AGENT, tier="PRIVILEGE")
    relayed = Policy(security=SecurityPolicy(relays={other.id: (SPEAKER.id,)}))
    yield "the origin is not the principal", asked(principal=other)
    yield "the same where `relays` names both", asked(principal=other, policy=relayed)
    yield "a MODIFY claim by a WRITE_LIMITED principal", asked({"risk_tier": "MODIFY"}, principal=small)
    yield "the same principal decides to call a DELETE tool", asked(deciding("db.drop"), principal=small)
    yield "the same principal says a word that policy raises", asked(policy=WORDY, principal=small)
    yield "from a web origin that policy does not name", asked(findings={"origin": "https://example.org"})
    yield f"the {limit:,}th bundle in the window", asked(findings={"recent": limit - 1})
    yield "one more", asked(findings={"recent": limit})


def adversarial_cases() -> Cases:
    limit = Policy().adversarial.defer_above
    yield f"threat of {limit:.2f}", threat(score=limit)
    yield f"threat of {limit + STEP:.2f}", threat(score=limit + STEP)
    yield "the detector raised, or gave no answer in time", threat(failed="it raised ValueError")
    too_long = f"too long to be looked at: 262144 bytes of text, at most {MAX_READ_BYTES} are read"
    yield "more text than is read", threat(failed=too_long)


def human_cases() -> Cases:
    modify = {"risk_tier": "MODIFY"}
    careful = Policy(approvals=ApprovalPolicy(require_human=("MODIFY", "DELETE", "PRIVILEGE")))
    for tier in Tier:
        yield f"a {tier.name} claim", asked({"risk_tier": tier.name})
    yield "a MODIFY claim where `require_human` names MODIFY", asked(modify, policy=careful)
    yield "the same, covered by a standing grant", asked(modify, policy=careful, granted="grant-1")
    yield "a READ_ONLY claim with a word that policy raises to DELETE", asked(policy=WORDY)
    yield "a READ_ONLY decision to call a DELETE tool", asked(deciding("db.drop"))
    yield "a DECISION to call a READ_ONLY tool", asked(deciding("db.look"))
    yield "a DECISION that names no action", asked({"claim_type": "DECISION"})
    opened = Policy(approvals=ApprovalPolicy(decisions_without_action=(Role.AGENT,)))
    text = "the same where `decisions_without_action` names the role"
    yield text, asked({"claim_type": "DECISION"}, policy=opened)


CASES: Final[dict[str, Callable[[], Cases]]] = {
    "evidence": evidence_cases,
    "uncertainty": uncertainty_cases,
    "security": security_cases,
    "adversarial": adversarial_cases,
    "human": human_cases,
}


def worst(gate: str, given: GateInput) -> GateResult:
    return max(GATES[gate](given), key=lambda result: Severity[result.outcome])


def gates() -> str:
    order = ", ".join(f"[{name}](#{name})" for name in GATES)
    outcomes = table(("outcome", "what follows"), ([f"`{one.name}`", OUTCOMES[one.name]] for one in Severity))
    text = (
        "# Gates\n\nThe gates that a bundle of claims passes, their limits, and what each answers there.\n\n"
        f"In this order: {order}. The gates after the first one that stops a bundle are not asked. Why\n"
        "there are five, and what an approval means: [claims](../explanation/claims.md).\n\n"
        f"## Outcomes\n\nLeast severe first; of several in one gate, the most severe counts.\n\n{outcomes}"
    )
    for name in GATES:
        text += f"\n## {name}\n\n{_about(name)}\n\n{_limits(name)}\n{_at_the_limits(name)}"
    return text


def _about(name: str) -> str:
    text = sentence(import_module(f"beliefd.kernel.claims.gates.{name}")).partition(": ")[2]
    return text[0].upper() + text[1:]


def _limits(name: str) -> str:
    section = SECTIONS.get(name, name)
    values = getattr(Policy(), section)
    wanted = HUMAN_LIMITS if name == "human" else values.__struct_fields__
    return table(
        ("limit in policy", "default"),
        ([f"`{section}.{one}`", _shown(getattr(values, one))] for one in wanted),
    )


def _shown(value: object) -> str:
    return "not given" if value is UNSET else f"`{encode(value).decode()}`"


def _at_the_limits(name: str) -> str:
    found = ((when, worst(name, given)) for when, given in CASES[name]())
    return table(
        ("given", "outcome", "its reason"),
        ([when, f"`{result.outcome}`", result.reason] for when, result in found),
    )
