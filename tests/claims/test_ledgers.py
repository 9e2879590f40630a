"""Ledgers with what comes after publication: the second language folds them, and older ones hold."""

from pathlib import Path
from typing import Any

import msgspec

from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.testing.world import World
from tests.claims.support import bundle, claim
from tests.conformance.node import verify_with_node

OLDER = Path(__file__).parent / "ledgers" / "before-overridden-gates.jsonl"
"""Written by the version before: two gates overridden, the same words rejected, and submitted again."""


BEFORE_THE_REST = Path(__file__).parent / "ledgers" / "before-the-rest-of-a-rule.jsonl"
"""Written by the version before, whose policy asks for stored evidence of INFERENCE alone: a FACT that a
MODIFY claim states on a made-up source, published."""


def deltas(exported: bytes) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line)["delta"] for line in exported.splitlines()[1:]]


def test_a_second_language_comes_to_the_same_state(house: World) -> None:
    session = house.session()
    told = claim(kind="FACT", id="c1"), claim(kind="FACT", id="c2", statement="another")
    house.agent.submit_claims(session, bundle(*told, id="b1"))
    house.agent.retract_claims(session, "b1", claim_ids=["c2"], reason="wrong")
    correction = bundle(claim("DELETE"), id="b2", corrects={"bundle_id": "b1"})
    house.ann.approve(house.agent.submit_claims(session, correction))
    again = bundle(told[0], id="b3", corrects={"bundle_id": "b2"})
    house.agent.submit_claims(session, again)
    house.ann.reject(house.agent.submit_claims(session, bundle(claim("DELETE", statement="no"), id="b4")))
    house.agent.submit_claims(session, bundle(claim("DELETE", statement="first"), id="b5"))
    house.agent.submit_claims(session, bundle(claim("DELETE", statement="second"), id="b5"))
    state = house.state(session)
    assert all((state.claims.endings, state.claims.ended, state.claims.steps, state.approvals.rejected_words))
    while len(house.entries(session)) <= STATE_HASH_EVERY:
        house.agent.eliminate(session, source_id="s", observation_id="o", eliminated=[], justification={})
    house.check(session)
    verdict = verify_with_node(house.root.export(session))
    assert verdict.code == 0, verdict.text


def test_an_ending_that_nobody_decided_is_found(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(claim(kind="FACT"), id="b1"))
    house.agent.retract_claims(session, "b1", reason="wrong")
    exported = house.root.export(session)
    forged = exported.replace(b'"bundle_id":"b1","by"', b'"bundle_id":"b2","by"')
    assert forged != exported
    assert verify_with_node(forged).code == 5


def test_a_ledger_from_before_gates_were_told_as_overridden_holds_and_goes_on() -> None:
    exported = OLDER.read_bytes()
    assert b"gates_overridden" not in exported
    house = World()
    try:
        session = house.root.import_ledger(exported).session_id
        house.check(session)
        assert verify_with_node(exported).code == 0
        assert house.agent.show_claims(session, "b1").audit_trail.gates_passed[1] == "uncertainty"
        assert not house.state(session).approvals.rejected_words
        assert house.ann.retract_claims(session, "b1", reason="it was long ago").standing == 0
        waiting = house.agent.show_claims(session, "b3")
        trail = house.ann.approve(waiting).bundle
        assert trail is not None
        assert [one.gate for one in trail.audit_trail.gates_overridden or ()] == ["uncertainty"]
        house.check(session)
    finally:
        house.close()


def test_what_is_not_used_leaves_no_trace_in_a_record(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(claim(kind="FACT"), id="b1"))
    (delta,) = deltas(house.root.export(session))[1:]
    gated = delta["gated"]
    assert not {"ended"} & gated.keys()
    assert "corrects" not in gated["bundle"]
    assert "gates_overridden" not in gated["bundle"]["audit_trail"]


def test_a_ledger_from_before_the_default_held_beside_other_rules_is_decided_again_as_it_was() -> None:
    exported = BEFORE_THE_REST.read_bytes()
    assert b'"otherwise":"attested"' not in exported
    house = World()
    try:
        session = house.root.import_ledger(exported).session_id
        house.check(session)
        assert verify_with_node(exported).code == 0
        assert house.agent.show_claims(session, "FACT-MODIFY").decision == "PUBLISH"
    finally:
        house.close()
