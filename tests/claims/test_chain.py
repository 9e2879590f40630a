"""The order of severities and tiers, and the chain in which the gates are asked."""

from itertools import product
from typing import Any

import pytest

from beliefd.kernel.claims.bundle import Severity
from beliefd.kernel.claims.gates import GATES, ChainResult, run_gates
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import effective_tiers
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.handlers.claims import read_bundle
from tests.claims.gating import fact, given_to_gates
from tests.claims.support import GATE_NAMES, bundle, claim, pointer


def test_severities_are_totally_ordered() -> None:
    order = ["EXECUTE", "EXPLAIN", "DEFER", "ESCALATE", "REFUSE"]
    for one, two in product(order, order):
        assert (Severity[one] < Severity[two]) is (order.index(one) < order.index(two))
        assert max(Severity[one], Severity[two]).name == order[max(order.index(one), order.index(two))]


def test_tiers_are_totally_ordered() -> None:
    order = ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]
    for one, two in product(order, order):
        assert (Tier[one] < Tier[two]) is (order.index(one) < order.index(two))
        said = read_bundle(bundle(claim(one, id="1"), claim(two, id="2")))
        highest = effective_tiers(said, said.origin_agent, Policy(), {}).highest
        assert highest.name == order[max(order.index(one), order.index(two))]


STOPPERS: dict[str, dict[str, Any]] = {
    "evidence": {"claim": fact(0.1)},
    "uncertainty": {"claim": claim(value=0.9)},
    "security": {"recent": 10_000},
    "adversarial": {"threat": Threat(detector="d", score=0.9)},
    "human": {"claim": claim("DELETE")},
}


def chain(*names: str, approved: frozenset[str] = frozenset()) -> ChainResult:
    """The chain over a bundle that each of the named gates has something against."""
    claims = [{**STOPPERS[name]["claim"], "id": name} for name in names if "claim" in STOPPERS[name]]
    findings = {key: value for name in names for key, value in STOPPERS[name].items() if key != "claim"}
    return run_gates(given_to_gates(*(claims or [fact(0.9)]), **findings), approved)


def test_the_gates_stand_in_their_order() -> None:
    assert tuple(GATES) == GATE_NAMES


@pytest.mark.parametrize("place", range(5))
def test_the_first_gate_that_objects_stops_the_chain(place: int) -> None:
    result = chain(*GATE_NAMES[place:])
    assert result.stopped_by == GATE_NAMES[place]
    assert result.passed == GATE_NAMES[:place]
    assert result.failed == (GATE_NAMES[place],)
    assert result.decision == ("ESCALATE" if GATE_NAMES[place] == "human" else "DEFER")
    assert result.reason.startswith(f"{GATE_NAMES[place]} gate: ")
    # Later gates were not even asked.
    assert {one.gate for one in result.results} == set(GATE_NAMES[: place + 1])


def test_without_objections_all_five_pass() -> None:
    result = chain()
    assert (result.decision, result.passed, result.failed) == ("PUBLISH", GATE_NAMES, ())
    assert [one.partition(": ")[2] for one in result.caveats] == [
        "uncertainty is declared only: nobody has measured it"
    ]


def test_refuse_stops_the_chain_and_no_approval_turns_it_around() -> None:
    everything = frozenset(GATE_NAMES)
    for given in (
        given_to_gates(fact()),
        given_to_gates(
            claim(uncertainty={"method": "confidence_score", "value": 0, "gate_recommendation": "REFUSE"})
        ),
        given_to_gates(claim("DELETE"), principal=Principal(id="a", role=Role.AGENT, tier="READ_ONLY")),
    ):
        for approved in (frozenset[str](), everything):
            result = run_gates(given, approved)
            assert result.decision == "REFUSE"
            assert len(result.failed) == 1


def test_explain_goes_on_and_leaves_its_caveat() -> None:
    result = run_gates(
        given_to_gates(
            {**fact(0.9, evidence_hash="a" * 32), "id": "odd"},
            claim(value=0.6, id="vague", evidence_pointers=[pointer()]),
        )
    )
    assert (result.decision, result.passed) == ("PUBLISH", GATE_NAMES)
    assert [one.split(":")[0] for one in result.caveats] == [
        "odd",
        "vague",
        "uncertainty of every claim is declared only",
    ]
    assert "with caveats" in result.reason


@pytest.mark.parametrize("answered", GATE_NAMES)
def test_an_answered_gate_lets_go_on_and_the_others_still_object(answered: str) -> None:
    others = [name for name in GATE_NAMES if name != answered]
    assert chain(answered, approved=frozenset({answered})).decision == "PUBLISH"
    assert chain(*GATE_NAMES, approved=frozenset({answered})).stopped_by == others[0]


def test_what_a_person_let_pass_is_said_along_with_it() -> None:
    """Uncertainty that needs a person is no smaller than one that needs a caveat."""
    result = chain("uncertainty", approved=frozenset({"uncertainty"}))
    assert result.decision == "PUBLISH"
    assert any("0.9" in caveat for caveat in result.caveats)


def test_the_most_severe_word_of_a_gate_counts() -> None:
    result = run_gates(given_to_gates({**fact(0.1), "id": "1"}, {**fact(), "id": "2"}))
    assert result.decision == "REFUSE"
    assert "names none" in result.reason
