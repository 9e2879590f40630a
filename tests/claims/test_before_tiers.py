"""A ledger from before tools, actions and origins were judged is verified and decided again as it was."""

from pathlib import Path

import pytest

import beliefd
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.replay import fold
from beliefd.ledger.state_hash import state_hash
from beliefd.ledger.transfer import read_export
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import checked, edited, joined, parts, relinked

LEDGER = (Path(__file__).parent / "fixtures" / "before_tiers.jsonl").read_bytes()
"""Told by the version before: an agent that speaks for another, decisions without an action, published; a
READ_ONLY agent that calls a DELETE tool."""
STATE_HASH = "b58e76ba04e83d94a894d8c91d0e3670159bc0c25252cd56bd57f5deb4b4d058"


def test_it_verifies_in_both_languages_and_folds_to_the_state_that_it_had() -> None:
    _, entries = parts(LEDGER)
    forged = [one for one in entries if one["verb"] == "SUBMIT_CLAIMS"]
    assert forged
    assert all(one["payload"]["bundle"]["origin_agent"] != one["actor"]["id"] for one in forged)
    assert any(one["delta"]["gated"]["bundle"]["decision"] == "PUBLISH" for one in forged)
    assert checked(LEDGER).ok, checked(LEDGER).first_bad
    assert verify_with_node(LEDGER).code == 0
    position = fold(read_export(LEDGER.splitlines()).entries)
    assert position is not None
    assert state_hash(position.session) == STATE_HASH


def test_it_is_imported_and_its_bundles_are_shown() -> None:
    root = Principal(id="human://root", role=Role.ADMIN, tier="PRIVILEGE")
    with beliefd.open(":memory:", principal=root) as house:
        session = house.import_ledger(LEDGER).session_id
        shown = house.list_claims(session).claims
        assert {one.proposer for one in shown} == {"agent://writer"}
        assert {one.origin_agent for one in shown} == {"agent://planner"}
        assert {one.tier for one in shown} == {"READ_ONLY", "MODIFY", "DELETE"}
        assert house.verify(session).ok


@pytest.mark.parametrize(("verb", "places"), [("SUBMIT_CLAIMS", ("facts",)), ("PROPOSE", ("facts", "calls"))])
def test_what_is_judged_by_today_s_facts_is_judged_by_today_s_rules(
    verb: str, places: tuple[str, ...]
) -> None:
    """The facts say which rules there were: with those of today, the same entry is no longer what it says."""
    header, entries = parts(LEDGER)
    seq = next(one["seq"] for one in entries if one["verb"] == verb)

    def modern(entry: dict[str, object]) -> dict[str, object]:
        facts = dict(entry["facts"])  # type: ignore[call-overload]
        if "calls" in places:
            facts["calls"] = [{**one, "tier": one["definition"]["tier"]} for one in facts["calls"]]
        else:
            facts["tools"] = {}
        return {**entry, "facts": facts}

    result = checked(joined(*relinked(header, edited(entries, seq, modern), seq)))
    assert result.first_bad is not None
    assert (result.first_bad.seq, result.first_bad.reason) == (
        seq,
        "deciding it again gives another outcome than the one recorded",
    )
