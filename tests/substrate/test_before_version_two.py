"""A ledger that was decided before there were constraints of version 2 is decided again as it was."""

from pathlib import Path
from typing import Any, Final

import pytest

from beliefd.kernel import policy as policies
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import checked, parts

LEDGER: Final = (Path(__file__).parent / "fixtures" / "before_version_two.jsonl").read_bytes()
"""Told by the version before: questions, something put off, a constraint with `v: 2`, one that fires because
no call says what time it is, and a pattern with a back-reference that takes 20,000 steps."""


def results() -> list[dict[str, Any]]:
    _, entries = parts(LEDGER)
    return [one for entry in entries if entry["verb"] == "PROPOSE" for one in entry["delta"]["results"]]


def test_it_verifies_in_both_languages() -> None:
    said = [(one["reason_code"], one["on_fail"], one["reasons"][0]["constraint"]) for one in results()]
    assert said == [
        ("DENIED", "ask", "constraint.source"),
        ("DENIED", "defer", "constraint.later"),
        ("MALFORMED_CONSTRAINT", "block", "constraint.second"),
        ("DENIED", "ask", "constraint.outright"),
        ("DENIED", "block", "constraint.timeless"),
        ("DENIED", "block", "constraint.doubled"),
    ]
    assert results()[3]["reasons"][0]["remedy"] == "nothing: there is no condition"
    assert checked(LEDGER).ok, checked(LEDGER).first_bad
    assert verify_with_node(LEDGER).code == 0


def test_what_a_document_does_not_say_is_what_was_the_rule_then() -> None:
    now = ArbitrationPolicy(
        constraints=2, reasons="effect", failures="all", scheduling=2, meaning=3, patterns="bounded"
    )
    before = ArbitrationPolicy(
        constraints=1, reasons="failure", failures="first", scheduling=1, meaning=1, patterns="linear"
    )
    assert (Policy().arbitration, recorded({}).arbitration) == (now, before)
    assert recorded({"arbitration": {"constraints": 2}}).arbitration.constraints == 2


@pytest.mark.parametrize("member", ["constraints", "reasons"])
def test_by_the_rules_of_today_it_would_have_been_decided_otherwise(
    member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each rule that is kept for such ledgers is needed."""
    earlier = {name: value for name, value in policies.EARLIER["arbitration"].items() if name != member}
    monkeypatch.setitem(policies.EARLIER, "arbitration", earlier)
    assert not checked(LEDGER).ok


def test_by_which_rules_it_was_decided_is_said_by_these_members_and_comes_from_before_where_it_is_not() -> (
    None
):
    assert ArbitrationPolicy.__struct_fields__ == (
        *("constraints", "reasons", "scheduling", "meaning", "patterns", "failures"),
    )
    assert policies.EARLIER["arbitration"].keys() == {*ArbitrationPolicy.__struct_fields__}
