"""Each gate's table: under which limit, having seen what, it lets a bundle go on or holds it back."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.claims.gates import GATES, GateResult
from beliefd.kernel.claims.gates.evidence import validate_fact
from beliefd.kernel.claims.standing import ClaimStanding, MeasuredStanding
from beliefd.kernel.claims.threat import Signal, Threat
from beliefd.kernel.labels import Label
from beliefd.kernel.policy import recorded
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.frozen import START
from beliefd.testing.world import policy
from tests.claims.gating import fact, given_to_gates
from tests.claims.support import PAPER_HASH as PAPER
from tests.claims.support import TIERS, bundle, claim, pointer

DAY = 24 * 3600
QUIET = policy(uncertainty={"unwitnessed": "untold"})
"""What is said of numbers alone: not whose they are."""
Row = tuple[str, str | float | None, str | float | None]


def says(gate: str, *claims: dict[str, Any], **more: Any) -> list[GateResult]:
    return GATES[gate](given_to_gates(*claims, **more))


def said(gate: str, *claims: dict[str, Any], **more: Any) -> Row:
    (result,) = says(gate, *claims, **more)
    assert result.gate == gate
    assert result.reason
    return result.outcome, result.limit, result.observed


def aged(seconds: float, confidence: float = 0.9) -> dict[str, Any]:
    """A source that was looked at so many seconds before now (or after it, if negative)."""
    moment = (START - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return pointer(retrieved_at=moment, source_confidence=confidence)


# -- evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said_claim", "row"),
    [
        (fact(0.9), ("EXECUTE", 0.6, 0.9)),
        (fact(0.6), ("EXECUTE", 0.6, 0.6)),
        (fact(0.1, 0.6), ("EXECUTE", 0.6, 0.6)),
        (fact(0.5999), ("DEFER", 0.6, 0.5999)),
        (fact(0.0, 0.59, 0.3), ("DEFER", 0.6, 0.59)),
        (fact(), ("REFUSE", 1, 0)),
        (fact(kind="INFERENCE"), ("EXPLAIN", "attested", "none")),
        (fact(0.6, kind="INFERENCE"), ("EXECUTE", 0.6, 0.6)),
        (fact(0.59, kind="INFERENCE"), ("DEFER", 0.6, 0.59)),
        (fact(kind="DECISION"), ("EXPLAIN", "attested", "none")),
        (fact(0.1, kind="DECISION"), ("EXECUTE", 0.6, None)),
    ],
)
def test_evidence_needs_one_good_source(said_claim: dict[str, Any], row: Row) -> None:
    assert said("evidence", said_claim) == row


@pytest.mark.parametrize("kind", ["INFERENCE", "DECISION"])
def test_that_no_evidence_is_named_is_said_unless_the_ledger_is_from_before_it_was(kind: str) -> None:
    (told,) = says("evidence", fact(kind=kind))
    assert (told.outcome, told.reason) == ("EXPLAIN", "the claim names no evidence")
    before = recorded({"v": 1, "evidence": {"require": "attested"}})
    assert said("evidence", fact(kind=kind), rules=before) == ("EXECUTE", 0.6, None)


@pytest.mark.parametrize(
    ("require", "states"),
    [
        ({"INFERENCE": {"MODIFY": "stored"}}, ["attested", "stored", "stored"]),
        ({"INFERENCE": "witnessed"}, ["attested", "stored", "stored"]),
        ({"FACT": {"DELETE": "witnessed"}}, ["attested", "stored", "witnessed"]),
        ({"FACT": {"READ_ONLY": "witnessed"}}, ["witnessed"] * 3),
        ({"FACT": "attested"}, ["attested"] * 3),
        ("attested", ["attested"] * 3),
        ({}, ["attested", "stored", "stored"]),
    ],
)
def test_what_policy_asks_of_one_kind_of_claim_takes_nothing_from_another(
    require: Any, states: list[str]
) -> None:
    rules = policy(evidence={"require": require}).evidence
    assert [rules.required("FACT", tier) for tier in ("READ_ONLY", "WRITE_LIMITED", "DELETE")] == states
    before = recorded({"v": 1, "evidence": {"require": {"INFERENCE": "stored"}}}).evidence
    assert before.required("FACT", "DELETE") == "attested"


def test_the_contract_s_rule_for_facts_stands_as_written() -> None:
    table = [(fact(), False), (fact(0.59), False), (fact(0.6), True), (fact(0.1, 0.7), True)]
    for one, valid in [*table, (fact(kind="INFERENCE"), True), (fact(0.1, kind="DECISION"), True)]:
        assert validate_fact(read_bundle(bundle(one)).claims[0]) is valid


def test_how_good_a_source_must_be_is_policy() -> None:
    assert said("evidence", fact(0.6), rules=policy(evidence={"min_confidence": 0.8})) == ("DEFER", 0.8, 0.6)
    assert said("evidence", fact(0.2), rules=policy(evidence={"min_confidence": 0.2})) == (
        "EXECUTE",
        0.2,
        0.2,
    )


@pytest.mark.parametrize("kind", ["FACT", "INFERENCE"])
@pytest.mark.parametrize(
    ("sources", "row"),
    [
        ([aged(DAY)], ("EXECUTE", 0.6, 0.9)),
        ([aged(DAY + 1)], ("DEFER", DAY, DAY + 1)),
        ([aged(DAY + 1), aged(DAY)], ("EXECUTE", 0.6, 0.9)),
        ([aged(2 * DAY), aged(3 * DAY)], ("DEFER", DAY, 2 * DAY)),
        # A fresh source that is not good does not make an old one fresh.
        ([aged(2 * DAY), aged(1, 0.1)], ("DEFER", DAY, 2 * DAY)),
        ([aged(-300)], ("EXECUTE", 0.6, 0.9)),
        ([aged(-301)], ("DEFER", 300, 301)),
        ([aged(-301), aged(2 * DAY)], ("DEFER", DAY, 2 * DAY)),
    ],
)
def test_evidence_grows_old_and_never_comes_from_the_future(
    kind: str, sources: list[dict[str, Any]], row: Row
) -> None:
    given = claim("READ_ONLY", kind, evidence_pointers=sources)
    assert said("evidence", given, rules=policy(evidence={"max_age_seconds": DAY})) == row


def test_without_a_limit_evidence_may_be_old_but_not_from_the_future() -> None:
    old, future = (claim("READ_ONLY", "FACT", evidence_pointers=[aged(age)]) for age in (9999 * DAY, -DAY))
    assert said("evidence", old)[0] == "EXECUTE"
    assert said("evidence", future) == ("DEFER", 300, DAY)


@pytest.mark.parametrize("digits", [32, 40, 56, 96, 128])
@pytest.mark.parametrize("kind", ["FACT", "INFERENCE", "DECISION"])
def test_another_digest_than_sha256_needs_a_caveat_or_is_refused_by_strict_policy(
    kind: str, digits: int
) -> None:
    given = fact(0.9, kind=kind, evidence_hash="a" * digits)
    assert said("evidence", given) == ("EXPLAIN", "attested", "attested")
    assert f"{digits} hex digits is not SHA-256" in says("evidence", given)[0].reason
    assert said("evidence", given, rules=policy(evidence={"hash": "strict"})) == ("REFUSE", 64, digits)


def test_strict_policy_refuses_one_odd_digest_among_good_ones() -> None:
    given = claim("READ_ONLY", "FACT", evidence_pointers=[pointer(), pointer(evidence_hash="b" * 40)])
    assert said("evidence", given, rules=policy(evidence={"hash": "strict"})) == ("REFUSE", 64, 40)


@pytest.mark.parametrize("kind", ["FACT", "INFERENCE", "DECISION"])
@pytest.mark.parametrize("spelling", [PAPER, PAPER.upper()])
def test_content_at_hand_that_hashes_otherwise_is_refused(kind: str, spelling: str) -> None:
    given = fact(0.9, kind=kind, evidence_hash=spelling)
    assert said("evidence", given, content={PAPER: "mismatch"}) == ("REFUSE", spelling, "mismatch")
    assert said("evidence", given, content={PAPER: "match"})[0] == "EXECUTE"
    assert said("evidence", given, content={}) == ("EXPLAIN", "attested", "attested")


def test_every_claim_of_a_bundle_is_judged_and_named() -> None:
    results = says(
        "evidence",
        {**fact(0.1), "id": "weak"},
        {**fact(), "id": "bare"},
        {**fact(0.9), "id": "good"},
        {**fact(0.9, evidence_hash="a" * 32), "id": "odd"},
    )
    assert [(one.claim_id, one.outcome) for one in results] == [
        ("weak", "DEFER"),
        ("bare", "REFUSE"),
        ("odd", "EXPLAIN"),
    ]


# -- uncertainty -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (0.0, ("EXECUTE", 0.5, 0.0)),
        (0.5, ("EXECUTE", 0.5, 0.5)),
        (0.50001, ("EXPLAIN", 0.5, 0.50001)),
        (0.75, ("EXPLAIN", 0.5, 0.75)),
        (0.75001, ("DEFER", 0.75, 0.75001)),
        (1.0, ("DEFER", 0.75, 1.0)),
    ],
)
def test_uncertainty_has_two_thresholds(value: float, row: Row) -> None:
    assert said("uncertainty", claim(value=value), rules=QUIET) == row


def test_both_thresholds_are_policy() -> None:
    rules = policy(uncertainty={"explain_above": 0.1, "defer_above": 0.2, "unwitnessed": "untold"})
    assert said("uncertainty", claim(value=0.1), rules=rules)[0] == "EXECUTE"
    assert said("uncertainty", claim(value=0.2), rules=rules) == ("EXPLAIN", 0.1, 0.2)
    assert said("uncertainty", claim(value=0.21), rules=rules) == ("DEFER", 0.2, 0.21)


def test_what_is_declared_alone_is_said_once_for_all_claims_that_declare_it() -> None:
    (one,) = says("uncertainty", claim())
    told = "declared only: nobody has measured it"
    assert (one.outcome, one.reason, one.claim_id) == ("EXPLAIN", f"uncertainty is {told}", "c1")
    assert (one.limit, one.observed) == (0.5, 0.1)
    ten = [claim(id=f"c{place}", statement=f"s {place}") for place in range(10)]
    (all_ten,) = says("uncertainty", *ten)
    assert (all_ten.reason, all_ten.claim_id) == (f"uncertainty of every claim is {told}", None)
    given = given_to_gates(claim(id="a`b"), *ten[1:3])
    known = {"c1": measured_of("agent://other")}
    (some,) = GATES["uncertainty"](replace(given, standings=known))
    assert some.reason == f"uncertainty of `a'b`, `c2` is {told}"


def measured_of(witness: str = "") -> ClaimStanding:
    label: Label = "witnessed" if witness else "attested"
    return ClaimStanding(
        measured=MeasuredStanding(measurement_id="msr-1", value=0.0, label=label, how="how it was measured")
    )


def test_what_was_measured_of_the_proposer_s_own_answers_is_said_to_be_attested() -> None:
    given = given_to_gates(claim())
    (told,) = GATES["uncertainty"](replace(given, standings={"c1": measured_of()}))
    assert (told.outcome, told.claim_id) == ("EXPLAIN", "c1")
    assert told.reason == "uncertainty is attested only: how it was measured"
    assert (told.limit, told.observed) == (0.5, 0.1)
    (calm,) = GATES["uncertainty"](replace(given, standings={"c1": measured_of("human://ann")}))
    assert (calm.outcome, calm.reason) == ("EXECUTE", "uncertainty is low enough")


def test_ledgers_from_before_are_decided_without_word_of_who_measured() -> None:
    before = recorded({"v": 1, "uncertainty": {"explain_above": 0.5, "defer_above": 0.75}})
    for standings in ({}, {"c1": measured_of()}):
        given = replace(given_to_gates(claim(), rules=before), standings=standings)
        (result,) = GATES["uncertainty"](given)
        assert (result.outcome, result.reason) == ("EXECUTE", "uncertainty is low enough")
    without = recorded({"v": 1})
    assert said("uncertainty", claim(), rules=without) == ("EXECUTE", 0.5, 0.1)
    (older,) = GATES["uncertainty"](replace(given_to_gates(claim()), standings=None))
    assert older.outcome == "EXECUTE", "older than what claims rest on"


MEASURED = {0.1: "EXECUTE", 0.6: "EXPLAIN", 0.9: "DEFER"}


@pytest.mark.parametrize(
    ("value", "recommended"), list(product(MEASURED, ["EXECUTE", "EXPLAIN", "DEFER", "REFUSE"]))
)
def test_what_an_agent_recommends_about_itself_only_tightens(value: float, recommended: str) -> None:
    order = ["EXECUTE", "EXPLAIN", "DEFER", "ESCALATE", "REFUSE"]
    stated = {"method": "confidence_score", "value": value, "gate_recommendation": recommended}
    outcome, _, observed = said("uncertainty", claim(uncertainty=stated), rules=QUIET)
    assert order.index(outcome) == max(order.index(MEASURED[value]), order.index(recommended))
    assert observed == value


# -- security --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("own", "needed"), list(product(Tier, Tier)))
def test_nobody_speaks_above_the_tier_of_their_token(own: Tier, needed: Tier) -> None:
    speaker = Principal(id="agent://a", role=Role.AGENT, tier=own.name)
    row = said("security", claim(needed.name), principal=speaker)
    assert row == ("EXECUTE" if needed.value <= own.value else "REFUSE", own.name, needed.name)


def test_one_claim_above_the_tier_is_enough_and_is_named() -> None:
    speaker = Principal(id="agent://a", role=Role.AGENT, tier="WRITE_LIMITED")
    (result,) = says("security", claim("READ_ONLY", id="low"), claim("MODIFY", id="high"), principal=speaker)
    assert (result.outcome, result.claim_id, result.observed) == ("REFUSE", "high", "MODIFY")


@pytest.mark.parametrize(
    ("origin", "allowed", "outcome"),
    [
        (None, [], "EXECUTE"),
        ("https://a.example", [], "REFUSE"),
        ("https://a.example", ["https://a.example"], "EXECUTE"),
        ("https://a.example", ["https://a.example.org", "http://a.example"], "REFUSE"),
        ("null", ["https://a.example"], "REFUSE"),
    ],
)
def test_a_web_page_speaks_only_if_policy_names_its_origin(
    origin: str | None, allowed: list[str], outcome: str
) -> None:
    rules = policy(security={"allowed_origins": allowed})
    row = said("security", claim(), rules=rules, origin=origin)
    assert row[0] == outcome
    if outcome == "REFUSE":
        assert row[1:] == (", ".join(allowed), origin)


@pytest.mark.parametrize(("before", "outcome"), [(0, "EXECUTE"), (2, "EXECUTE"), (3, "DEFER"), (9, "DEFER")])
def test_who_speaks_too_often_waits_for_a_person(before: int, outcome: str) -> None:
    row = said("security", claim(), rules=policy(security={"rate_limit": 3}), recent=before)
    assert row[0] == outcome
    if outcome == "DEFER":
        assert row[1:] == (3, before + 1)


# -- adversarial -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threat", "row"),
    [
        (Threat(detector="d", score=0.0), ("EXECUTE", 0.7, 0.0)),
        (Threat(detector="d", score=0.7), ("EXECUTE", 0.7, 0.7)),
        (Threat(detector="d", score=0.70001), ("DEFER", 0.7, 0.70001)),
        (Threat(detector="d", score=1.0), ("DEFER", 0.7, 1.0)),
        (Threat(detector="d", failed="it raised"), ("DEFER", 0.7, "failed")),
    ],
)
def test_a_threat_or_a_detector_without_an_answer_calls_a_person(threat: Threat, row: Row) -> None:
    assert said("adversarial", claim(), threat=threat) == row


def test_the_kinds_of_threat_are_named() -> None:
    signals = (Signal(kind="injection", weight=0.9, path="$.claims[0].statement", excerpt="ignore"),)
    (result,) = says("adversarial", claim(), threat=Threat(detector="d", score=0.9, signals=signals))
    assert "injection" in result.reason


def test_the_limit_of_threat_is_policy() -> None:
    rules = policy(adversarial={"defer_above": 0.2})
    threat = Threat(detector="d", score=0.3)
    assert said("adversarial", claim(), rules=rules, threat=threat) == ("DEFER", 0.2, 0.3)


# -- human -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
def test_delete_and_privilege_need_a_person(tier: str) -> None:
    outcome = "ESCALATE" if tier in ("DELETE", "PRIVILEGE") else "EXECUTE"
    assert said("human", claim(tier)) == (outcome, "DELETE, PRIVILEGE", tier)


def test_policy_may_ask_for_a_person_earlier() -> None:
    rules = policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]})
    assert said("human", claim("MODIFY"), rules=rules)[0] == "ESCALATE"
    assert said("human", claim("WRITE_LIMITED"), rules=rules)[0] == "EXECUTE"


@pytest.mark.parametrize("tier", TIERS)
def test_a_standing_grant_never_stands_for_delete_or_privilege(tier: str) -> None:
    """Even if a grant that names them came to the gate by mistake."""
    rules = policy(approvals={"require_human": list(TIERS)})
    outcome = "ESCALATE" if tier in ("DELETE", "PRIVILEGE") else "EXECUTE"
    assert said("human", claim(tier), rules=rules, granted="grant-1")[0] == outcome
