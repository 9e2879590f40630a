"""What people read of bundles that were retracted or corrected, of rejected words, and of who has agreed."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from beliefd.cli.views import event
from beliefd.cli.views.drawing import view
from beliefd.console.pages.card import shown
from beliefd.kernel.substrate.constraints import Reason
from beliefd.protocol.headlines import way_out, words_of
from beliefd.testing.world import World, policy
from tests.claims.support import alarmed, bundle, claim, pointer, stored
from tests.console.visitor import seen as visited
from tests.console.visitor import shown as page_of


def drawn(answer: Any) -> str:
    console = Console(width=400, file=StringIO())
    with console.capture() as captured:
        console.print(view(answer))
    return captured.get()


def fact(name: str) -> dict[str, Any]:
    return claim(kind="FACT", id=name, statement=f"what {name} says")


@pytest.fixture
def house() -> Any:
    made = stored(World(policy=policy(approvals={"approvers": {"DELETE": {"required": 2}}})))
    yield made
    made.close()


def test_a_retracted_claim_reads_so_in_the_answer_the_bundle_the_list_and_the_feed(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(fact("c1"), fact("c2"), id="b1"))
    answer = house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="\x1b[31mwrong host")
    assert "1 retracted, 1 still stand" in drawn(answer)
    for seen in (answer, house.agent.show_claims(session, "b1")):
        lines = drawn(seen).splitlines()
        place = next(number for number, line in enumerate(lines) if "what c1 says" in line)
        below = "\n".join(lines[place : place + 6])
        assert "retracted by agent://writer at 2026" in below
        assert "\x1b" not in below
    assert "1 of 2 retracted" in drawn(house.agent.list_claims(session))
    (*_, last) = house.root.audit_trace(session).events
    said = event(last).plain
    assert "retracted c1 of b1" in said
    assert "wrong host" in said


def test_a_correction_reads_so_on_both_sides(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(fact("c1"), id="b1"))
    target = {"corrects": {"bundle_id": "b1", "claim_id": "c1"}}
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b2", **target))
    assert "corrects claim c1 of b1" in drawn(waiting)
    assert "corrects claim c1 of b1" in drawn(house.ann.show_approval(waiting.approval_id or ""))
    house.ann.approve(waiting)
    house.bob.approve(waiting)
    assert "corrected by bundle `b2` at" in drawn(house.agent.show_claims(session, "b1"))
    listed = drawn(house.agent.list_claims(session))
    assert "1 of 1 corrected" in listed
    assert "corrects b1" in listed
    (*_, last) = house.root.audit_trace(session).events
    assert "corrects c1 of b1" in event(last).plain


def test_who_has_agreed_is_on_the_card_in_the_list_and_with_the_bundle(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    answer = house.ann.approve(waiting)
    for seen in (
        answer,
        answer.approval,
        house.bob.list_approvals(),
        house.agent.show_claims(session, "b1"),
        house.agent.list_claims(session),
    ):
        assert "1 of 2 approved: human://ann at 2026" in drawn(seen)


def test_rejected_words_and_overridden_gates_are_on_the_card() -> None:
    house = stored(World(detector=alarmed))
    try:
        session = house.session()
        weak = claim("DELETE", value=0.9)
        house.ann.reject(house.agent.submit_claims(session, bundle(weak, id="b1")), reason="not on a Friday")
        waiting = house.agent.submit_claims(session, bundle(weak, id="b2"))
        card = house.ann.show_approval(waiting.approval_id or "")
        for seen in (waiting, card):
            assert "the same words were rejected by human://ann on 2026" in drawn(seen)
            assert "not on a Friday" in drawn(seen)
        first = house.ann.approve(waiting)
        card = house.bob.show_approval(first.approval.successor or "")
        assert "uncertainty overridden by human://ann" in drawn(card)
        house.bob.approve(card)
        shown = drawn(house.agent.show_claims(session, "b2"))
        assert "uncertainty overridden by human://ann" in shown
        assert "adversarial overridden by human://bob" in shown
    finally:
        house.close()


def test_what_a_person_let_through_names_them_and_not_all_gates(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    assert drawn(waiting).startswith("ESCALATE  human gate: DELETE needs a person")
    house.ann.approve(waiting)
    house.bob.approve(waiting)
    for seen in (house.agent.show_claims(session, "b1"), house.agent.list_claims(session)):
        assert "passed; human gate answered by human://ann, human://bob" in drawn(seen)
        assert "all gates passed" not in drawn(seen)


def test_a_gate_that_was_overridden_names_who_did(house: World) -> None:
    session = house.session()
    weak = claim(kind="FACT", evidence_pointers=[pointer(source_confidence=0.1)])
    house.ann.approve(house.agent.submit_claims(session, bundle(weak, id="b1")))
    answer = house.agent.show_claims(session, "b1")
    assert drawn(answer).startswith("PUBLISH  passed; evidence gate answered by human://ann")
    house.agent.submit_claims(session, bundle(fact("c1"), id="b2"))
    assert "all gates passed" in drawn(house.agent.show_claims(session, "b2"))


def test_a_headline_begins_with_how_it_ended(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(fact("c1"), fact("c2"), id="b1"))
    house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="wrong host")
    said = drawn(house.agent.show_claims(session, "b1"))
    assert said.startswith("RETRACTED IN PART  by agent://writer; before: PUBLISH, all gates passed")
    house.agent.retract_claims(session, "b1", reason="all of it")
    for seen in (house.agent.show_claims(session, "b1"), house.agent.list_claims(session)):
        assert drawn(seen).startswith("RETRACTED ")
        assert "IN PART" not in drawn(seen)


def test_gates_speak_plainly_in_views_and_keep_their_names_on_the_wire(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    assert {one.outcome for one in waiting.gates} == {"EXECUTE", "EXPLAIN", "ESCALATE"}
    rows = drawn(waiting)
    assert "EXECUTE" not in rows
    for words in ("uncertainty  note ", "security     pass ", "human        needs a person "):
        assert words in rows


def test_a_reason_is_told_once_on_a_card_and_not_after_the_decision(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    card = drawn(house.ann.show_approval(waiting.approval_id or ""))
    assert card.count("DELETE needs a person") == 1
    assert "asked by the human gate" in card
    rejected = house.ann.reject(waiting, reason="no")
    assert drawn(rejected).startswith("rejected  ")
    assert "DELETE needs a person" not in drawn(rejected).splitlines()[0]


def test_reasons_name_a_value_once_and_what_a_person_could_change() -> None:
    told = ("`to` `eve@example.net` appears nowhere",)
    facts = ("fact.call.tier", "fact.call.sink_foreign")
    first = Reason(code="DENIED", text="it goes to eve", keys=facts, remedy="`fact.call.tier`", origin=told)
    second = Reason(code="DENIED", text="it pays eve", keys=(*facts, "window.open"), remedy="x", origin=told)
    assert words_of([first, second]) == f"it goes to eve; it pays eve ({told[0]})"
    assert way_out(first) == "a person must approve it"
    assert way_out(second) == "a person must approve it, or a change of window.open"
    assert way_out(Reason(code="X", text="t", keys=("window.open",), remedy="open it")) == "open it"


def test_values_of_a_cited_observation_stand_beside_the_claim_and_nobody_compared_them(house: World) -> None:
    session = house.session()
    took = house.ann.observe(session, quantity="disk_used", values=[41.0, 43.0], unit="percent")
    source = f"observation://{took.observation_id}"
    cites = pointer(source=source, evidence_hash=took.digest)
    full = claim("DELETE", statement="The disks are 97 % full.", evidence_pointers=[cites])
    waiting = house.agent.submit_claims(session, bundle(full, id="b1"))
    card = house.ann.show_approval(waiting.approval_id or "")
    for found in (waiting, house.agent.show_claims(session, "b1"), card):
        assert found.observed == {source: "2 values from 41 to 43 percent"}
        assert ": 2 values from 41 to 43 percent" in drawn(found)
        assert "nobody has compared the statement with what is cited" in drawn(found)
    shown_page = page_of(visited(house, shown, {"approval_id": card.approval_id}))
    assert "<div>2 values from 41 to 43 percent</div>" in shown_page
    assert "Nobody has compared the statement with what is cited." in shown_page
    other = pointer(source=source, evidence_hash="0" * 64)
    wrong = house.agent.submit_claims(session, bundle(claim(evidence_pointers=[other]), id="b2"))
    assert wrong.observed == {}
