"""The guards before a write: which claim it is about is asked first, then whether speculation hides in it."""

from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.params import parse_spec
from beliefd.kernel.scan.guards import Stopped, claim_id_of, guard_evidence, refuse_speculation

MARK = {"epistemic_status": "speculative"}
SPEC: dict[str, Any] = {
    "claim_id": "c1",
    "template": "numeric_consistency",
    "params": {"claimed_value": 1.0, "observed_values": [1.0, 1.1]},
}


@pytest.mark.parametrize("name", ["claim_id", "claim-id", "proposition_id"])
def test_a_claim_goes_by_three_names(name: str) -> None:
    assert claim_id_of({name: "c1", "entity_id": "ev-9"}) == "c1"


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"entity_id": "ev-9"},
        {"hypothesis_id": "shyp-s-c-0"},
        {"claim_id": "", "claim-id": None},
        {"claimId": "c1"},
        {"evidence": {"claim_id": "c1"}},
    ],
    ids=str,
)
def test_nothing_else_stands_in_for_a_claim(document: dict[str, Any]) -> None:
    with pytest.raises(Stopped, match="CRITICAL: Validation evidence missing claim_id") as stopped:
        claim_id_of(document)
    assert stopped.value.code is Code.MISSING_CLAIM_ID


@pytest.mark.parametrize("value", [7, ["c1"], {"claim_id": "c1"}, True, "two\nlines", "x" * 513, b"c1"])
def test_a_claim_id_is_one_line_of_text(value: object) -> None:
    with pytest.raises(Stopped, match="one line of text") as stopped:
        claim_id_of({"claim-id": value})
    assert (stopped.value.code, stopped.value.details) == (Code.INVALID_REQUEST, {"path": "$.claim-id"})


def test_two_names_cannot_name_two_claims() -> None:
    assert claim_id_of({"claim_id": "c1", "proposition_id": "c1"}) == "c1"
    with pytest.raises(Stopped, match="disagree"):
        claim_id_of({"claim_id": "c1", "proposition_id": "c2"})


def test_a_missing_claim_is_reported_before_speculation() -> None:
    with pytest.raises(Stopped) as stopped:
        guard_evidence({**MARK, "entity_id": "ev-9"})
    assert stopped.value.code is Code.MISSING_CLAIM_ID
    with pytest.raises(Stopped) as stopped:
        guard_evidence({**MARK, "claim_id": "c1"})
    assert stopped.value.code is Code.SPECULATIVE_EVIDENCE
    assert guard_evidence({"claim_id": "c1", "run_id": "run-1"}) == "c1"


@pytest.mark.parametrize(
    "code",
    [
        Code.SPECULATIVE_EVIDENCE,
        Code.SPECULATIVE_RESIDUE,
        Code.SPECULATIVE_PROPOSAL,
        Code.SPECULATIVE_ASSERTION,
    ],
)
def test_every_refusal_has_its_code_and_the_path_and_is_a_value_error(code: Code) -> None:
    with pytest.raises(ValueError, match=r"`\$\.a\[0\]\.epistemic_status`") as raised:
        refuse_speculation({"a": [MARK]}, code)
    error = raised.value
    assert isinstance(error, BeliefdError)
    assert error.code is code
    assert error.details is not None
    assert error.details["path"] == "$.a[0].epistemic_status"
    if code is Code.SPECULATIVE_EVIDENCE:
        assert error.message.startswith("CRITICAL: Attempted to persist speculative evidence")


def test_what_cannot_be_read_is_refused_as_such() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(Stopped, match="nesting of more than 64 levels cannot be read"):
        refuse_speculation(deep)


def test_a_plan_without_residue_is_read() -> None:
    spec = parse_spec(SPEC)
    assert (spec.claim_id, spec.template, spec.params) == ("c1", SPEC["template"], SPEC["params"])


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"analogies": []}, Code.SPECULATIVE_RESIDUE, "$.analogies"),
        ({"params": {"edge-cases": 1, "wrong": 2}}, Code.SPECULATIVE_RESIDUE, "$.params.edge-cases"),
        ({"note": "plain"}, Code.INVALID_REQUEST, "$.note"),
        ({"alpha": 2}, Code.INVALID_REQUEST, "$.alpha"),
        ({"template": "reading_tea_leaves"}, Code.INVALID_REQUEST, "$.template"),
        ({"params": {"claimed_value": 1.0}}, Code.INVALID_REQUEST, "$.params.observed_values"),
        ({"params": {**SPEC["params"], "note": "x"}}, Code.INVALID_REQUEST, "$.params.note"),
        ({"hints_digest": "the hint itself"}, Code.INVALID_REQUEST, "$.hints_digest"),
        ({"unit": "a whole sentence"}, Code.INVALID_REQUEST, "$.unit"),
    ],
)
def test_residue_is_reported_before_anything_else_that_is_wrong(
    change: dict[str, Any], code: Code, path: str
) -> None:
    with pytest.raises(Stopped) as stopped:
        parse_spec({**SPEC, **change})
    assert stopped.value.code is code
    assert stopped.value.details is not None
    assert stopped.value.details["path"] == path


@pytest.mark.parametrize("document", [None, [], "x", 7, [SPEC]])
def test_what_is_no_plan_is_refused(document: object) -> None:
    with pytest.raises(Stopped):
        parse_spec(document)
