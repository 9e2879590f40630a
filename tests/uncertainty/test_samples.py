"""A claim that comes with raw answers is judged by what the server measures in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

import beliefd
from beliefd.embedded import Embedded
from beliefd.kernel.errors import BeliefdError
from beliefd.testing.world import ONTOLOGY

AGREED = ["Paris", "It is Paris", "Paris."]
TORN = ["yes", "no", "maybe"]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Embedded]:
    with beliefd.open(str(tmp_path / "store.db")) as opened:
        yield opened


def claim(uncertainty: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"statement": "The capital is Paris.", "claim_type": "INFERENCE", "risk_tier": "READ_ONLY"}
    return {**said, "uncertainty": {"method": "semantic_entropy", **uncertainty}, **more}


def bundle(*claims: dict[str, Any]) -> dict[str, Any]:
    return {"claims": list(claims)}


def session(embedded: Embedded) -> str:
    return embedded.declare_session(["a", "b"], ONTOLOGY).session_id


def facts(embedded: Embedded, session_id: str) -> Any:
    return embedded.audit_trace(session_id).events[-1]["facts"]


def test_answers_that_agree_are_published_and_answers_that_do_not_wait(embedded: Embedded) -> None:
    name = session(embedded)
    assert embedded.submit_claims(name, bundle(claim({"samples": AGREED}))).decision == "PUBLISH"
    torn = embedded.submit_claims(name, bundle(claim({"samples": TORN})))
    assert torn.decision == "DEFER"
    how = "semantic_entropy by the lexical judge over 3 answers, given by agent://local"
    assert torn.reason == f"uncertainty gate: measured uncertainty of 1.0 is above 0.75 ({how})"
    assert torn.claims[0].uncertainty.value is UNSET
    measured = torn.standings["claim-1"].measured
    assert measured is not UNSET
    assert (measured.value, measured.label) == (1, "attested")
    assert measured.cited is not UNSET
    assert (measured.cited.k, measured.cited.judge) == (3, "lexical")
    receipt = embedded.show_measurement(name, measured.measurement_id)
    assert receipt.interpretation == "3 meanings in 3 answers (lexical judge)"
    assert receipt.answers == TORN
    assert torn.claims[0].uncertainty.measurement_id == receipt.measurement_id


def test_a_declared_number_can_raise_what_was_measured_and_never_lower_it(embedded: Embedded) -> None:
    name = session(embedded)
    higher = embedded.submit_claims(name, bundle(claim({"samples": AGREED, "value": 0.9})))
    assert (higher.decision, higher.claims[0].uncertainty.value) == ("DEFER", 0.9)
    assert higher.reason == "uncertainty gate: declared uncertainty of 0.9 is above 0.75"
    lower = embedded.submit_claims(name, bundle(claim({"samples": TORN, "value": 0.01})))
    assert (lower.decision, lower.claims[0].uncertainty.value) == ("DEFER", 0.01)
    assert "measured uncertainty of 1.0 is above 0.75" in lower.reason


def test_the_record_says_what_was_measured_and_what_was_only_declared(embedded: Embedded) -> None:
    name = session(embedded)
    embedded.submit_claims(
        name, bundle(claim({"samples": AGREED}, id="seen"), claim({"value": 0.2}, id="told"))
    )
    assert facts(embedded, name)["measured"] == {
        "seen": {
            "of": "measurement",
            "value": 0,
            "interpretation": "1 meanings in 3 answers (lexical judge)",
            "judge": "lexical",
            "k": 3,
        }
    }
    embedded.submit_claims(name, bundle(claim({"value": 0.2})))
    assert "measured" not in facts(embedded, name)


def test_the_answers_are_kept_beside_the_bundle_and_the_ledger_verifies(embedded: Embedded) -> None:
    name = session(embedded)
    answer = embedded.submit_claims(name, bundle(claim({"samples": TORN})))
    payload = embedded.audit_trace(name).events[-1]["payload"]
    assert payload["samples"] == {"claim-1": TORN}
    assert "samples" not in payload["bundle"]["claims"][0]["uncertainty"]
    assert embedded.show_measurement(name, str(answer.claims[0].uncertainty.measurement_id)).answers == TORN
    assert embedded.verify(name).ok


def test_a_check_says_what_a_submission_would(embedded: Embedded) -> None:
    found = embedded.check_claims(bundle(claim({"samples": TORN, "method": "model_disagreement"})))
    measured = found.standings["claim-1"].measured
    assert measured is not UNSET
    assert (found.decision, measured.value) == ("DEFER", 1)


@pytest.mark.parametrize(
    ("uncertainty", "path"),
    [
        ({"samples": ["Paris"]}, "$.claims[0].uncertainty.samples"),
        ({"samples": ["", " "]}, "$.claims[0].uncertainty.samples"),
        ({"samples": TORN, "method": "confidence_score"}, "$.claims[0].uncertainty.samples"),
        ({"samples": TORN, "value": 2}, "$.claims[0].uncertainty.value"),
        ({"samples": "Paris"}, "$.claims[0].uncertainty.samples"),
        ({}, "$.claims[0].uncertainty.value"),
    ],
)
def test_answers_that_say_nothing_are_refused_with_their_path(
    embedded: Embedded, uncertainty: dict[str, Any], path: str
) -> None:
    with pytest.raises(BeliefdError) as raised:
        embedded.check_claims(bundle(claim(uncertainty)))
    assert raised.value.details == {"path": path}


def test_keys_may_be_spelt_in_kebab_case_here_too(embedded: Embedded) -> None:
    said = claim({"samples": TORN})
    said["claim-type"], said["risk-tier"] = said.pop("claim_type"), said.pop("risk_tier")
    assert embedded.check_claims({"origin-agent": "agent://local", "claims": [said]}).decision == "DEFER"
