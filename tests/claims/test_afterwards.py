"""After publication: what was said can be taken back or put right by who said it, and all are told."""

import asyncio
from functools import partial
from typing import Any

import pytest

from beliefd.kernel.claims import ending
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.errors import Code
from beliefd.protocol.claims import JudgedBundle
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.world import AGENT, OTHER_AGENT, World, refused
from tests.claims.support import bundle, claim, nothing_happens


def told(name: str, **changes: Any) -> dict[str, Any]:
    return claim(kind="FACT", id=name, statement=f"what {name} says", **changes)


def published(house: World, session: str, name: str = "b1", *claims: str, **more: Any) -> JudgedBundle:
    said = bundle(*(told(one) for one in claims or ("c1", "c2")), id=name, **more)
    answer = house.agent.submit_claims(session, said)
    assert answer.decision == "PUBLISH"
    return answer


def test_who_proposed_a_bundle_retracts_one_claim_of_it_and_it_is_shown_wherever_it_is(house: World) -> None:
    session = house.session()
    published(house, session)
    answer = house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="the wrong database")
    assert (answer.claim_ids, answer.standing, answer.by) == (["c1"], 1, AGENT.id)
    assert answer.audit_event_id == house.entries(session)[-1].event_id
    (listed,) = house.agent.list_claims(session).claims
    for seen in (answer.bundle, house.ann.show_claims(session, "b1"), listed):
        assert seen.decision == "PUBLISH"
        assert list(seen.ended) == ["c1"]
        one = seen.ended["c1"]
        assert (one.how, one.by, one.reason) == ("retracted", AGENT.id, "the wrong database")
        assert one.text == f"retracted by {AGENT.id} at {one.at}: the wrong database"
        assert one.audit_event_id == answer.audit_event_id
    house.check(session)


def test_a_person_retracts_what_still_stands_of_a_whole_bundle(house: World) -> None:
    session = house.session()
    published(house, session)
    house.agent.retract_claims(session, "b1", claim_ids=["c2"], reason="unsure")
    answer = house.ann.retract_claims(session, "b1", reason="all of it is from the test system")
    assert (answer.claim_ids, answer.standing) == (["c1"], 0)
    ended = answer.bundle.ended
    assert {name: one.by for name, one in ended.items()} == {"c1": "human://ann", "c2": AGENT.id}
    house.check(session)


def test_a_retraction_that_may_not_be_is_refused_recorded_and_changes_nothing(house: World) -> None:
    session = house.session()
    published(house, session)
    house.agent.submit_claims(session, bundle(claim("DELETE"), id="waits"))
    house.agent.submit_claims(session, bundle(claim(kind="FACT", evidence_pointers=[]), id="refused"))
    other = house.person(OTHER_AGENT)

    def not_done(code: Code, who: Any, name: str, **more: Any) -> str:
        return nothing_happens(
            house, session, code, lambda: who.retract_claims(session, name, reason="no", **more)
        )

    assert "only `agent://writer` or a person" in not_done(Code.FORBIDDEN, other, "b1")
    assert "not published" in not_done(Code.CONFLICT, house.agent, "waits")
    assert "not published" in not_done(Code.CONFLICT, house.ann, "refused")
    assert "no bundle" in not_done(Code.BUNDLE_NOT_FOUND, house.agent, "b9")
    assert "no claim `c9`" in not_done(Code.NOT_FOUND, house.agent, "b1", claim_ids=["c1", "c9"])
    house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="first")
    assert "first" in not_done(Code.CONFLICT, house.agent, "b1", claim_ids=["c2", "c1"])
    house.agent.retract_claims(session, "b1", reason="the rest")
    assert "nothing is left" in not_done(Code.CONFLICT, house.ann, "b1")
    refused(
        Code.INVALID_REQUEST,
        lambda: house.agent.retract_claims(session, "b1", claim_ids=["c1", "c1"], reason="twice"),
    )
    refused(Code.INVALID_REQUEST, lambda: house.agent.retract_claims(session, "b1", reason=""))
    house.check(session)


def test_what_was_published_by_a_person_s_yes_or_for_information_can_be_retracted(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="approved"))
    house.ann.approve(waiting)
    house.agent.retract_claims(session, "approved", reason="not any more")
    informed = house.agent.submit_claims(session, bundle(told("c1", risk_tier="MODIFY"), id="told"))
    assert informed.decision == "PUBLISH"
    house.agent.retract_claims(session, "told", reason="it was another host")
    (card,) = house.ann.list_approvals(status="information").approvals
    assert card.ended["c1"].reason == "it was another host"
    house.check(session)


def test_a_bundle_and_its_retraction_that_are_decided_in_one_turn_find_each_other(house: World) -> None:
    session = house.session()
    said = SubmitClaims(bundle=read_bundle(bundle(told("c1"), id="b1")))
    back = RetractClaims(bundle_id="b1", reason="on second thoughts")

    async def at_once() -> Any:
        submit = house.steward.submit
        return await asyncio.gather(submit(session, said, AGENT), submit(session, back, AGENT))

    _, outcome = house.run(at_once)
    assert outcome.session.claims.ending("b1", "c1") is not None
    house.check(session)


# -- correcting --------------------------------------------------------------------------------------------


def corrects(name: str, claim_id: str | None = None) -> dict[str, Any]:
    return {"corrects": {"bundle_id": name, **({} if claim_id is None else {"claim_id": claim_id})}}


def test_what_is_corrected_says_so_from_the_moment_on_in_which_its_correction_is_published(
    house: World,
) -> None:
    session = house.session()
    published(house, session)
    better = bundle(claim("DELETE", id="c1", statement="better"), id="b2", **corrects("b1", "c1"))
    waiting = house.agent.submit_claims(session, better)
    assert waiting.decision == "ESCALATE"
    assert waiting.corrects is not None
    assert (waiting.corrects.bundle_id, waiting.corrects.ended) == ("b1", None)
    assert house.agent.show_claims(session, "b1").ended == {}
    card = house.ann.show_approval(waiting.approval_id or "")
    assert card.corrects == waiting.corrects
    decided = house.ann.approve(waiting)
    assert decided.outcome == "PUBLISH"
    (one,) = house.agent.show_claims(session, "b1").ended.items()
    name, ended = one
    assert (name, ended.how, ended.correction, ended.correction_stands) == ("c1", "corrected", "b2", True)
    assert ended.text == f"corrected by bundle `b2` at {ended.at}"
    assert ended.audit_event_id == decided.audit_event_id
    house.agent.retract_claims(session, "b2", reason="worse")
    ended = house.agent.show_claims(session, "b1").ended["c1"]
    assert ended.correction_stands is False
    assert "nothing stands" in ended.text
    house.check(session)


def test_a_correction_is_part_of_what_an_approval_binds(house: World) -> None:
    session = house.session()
    published(house, session)
    one, two, three = (
        house.agent.submit_claims(
            session, bundle(claim("DELETE"), id="b2", timestamp="2026-01-01T12:00:00Z", **more)
        )
        for more in ({}, corrects("b1"), corrects("b1", "c2"))
    )
    assert len({one.content_hash, two.content_hash, three.content_hash}) == 3
    refused(Code.CONFLICT, lambda: house.ann.decide(three, "APPROVED", content_hash=two.content_hash))


def test_the_edit_of_a_correction_corrects_the_same(house: World) -> None:
    session = house.session()
    published(house, session)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b2", **corrects("b1")))
    edited = house.ann.modify(waiting, claim("DELETE", statement="softer")).bundle
    assert edited is not None
    assert edited.corrects is not None
    assert edited.corrects.bundle_id == "b1"
    assert house.agent.show_claims(session, "b1").ended == {}
    assert house.bob.approve(edited).outcome == "PUBLISH"
    ended = house.agent.show_claims(session, "b1").ended
    assert {one.correction for one in ended.values()} == {edited.id}
    house.check(session)


def test_a_correction_that_may_not_be_is_refused_recorded_and_publishes_nothing(house: World) -> None:
    session = house.session()
    published(house, session)
    house.agent.submit_claims(session, bundle(claim("DELETE"), id="waits"))
    other = house.person(OTHER_AGENT)

    def not_done(code: Code, who: Any, target: dict[str, Any], name: str = "b2") -> str:
        said = {**bundle(told("c1"), id=name, **target), "origin_agent": who.principal.id}
        told_why = nothing_happens(house, session, code, lambda: who.submit_claims(session, said))
        assert name == "b1" or name not in house.state(session).claims.bundles
        return told_why

    assert "only `agent://writer`" in not_done(Code.FORBIDDEN, other, corrects("b1"))
    assert "not published" in not_done(Code.CONFLICT, house.agent, corrects("waits"))
    assert "no bundle" in not_done(Code.BUNDLE_NOT_FOUND, house.agent, corrects("b9"))
    assert "no claim" in not_done(Code.NOT_FOUND, house.agent, corrects("b1", "c9"))
    assert "itself" in not_done(Code.INVALID_REQUEST, house.agent, corrects("b2"))
    published(house, session, "b3", "c1", **corrects("b1", "c1"))
    assert "bundle `b3`" in not_done(Code.CONFLICT, house.agent, corrects("b1", "c1"))
    # A circle would need a bundle that is published to say something else: it has been decided.
    assert "decided" in not_done(Code.CONFLICT, house.agent, corrects("b3"), "b1")
    house.agent.retract_claims(session, "b1", claim_ids=["c2"], reason="wrong")
    assert "retracted" in not_done(Code.CONFLICT, house.agent, corrects("b1", "c2"))
    assert "retract that one" in nothing_happens(
        house,
        session,
        Code.CONFLICT,
        lambda: house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="x"),
    )
    house.check(session)


def test_two_bundles_that_wait_cannot_correct_each_other(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(claim("DELETE"), id="a"))
    for name, target in (("b", "a"), ("a", "b")):
        said = bundle(claim("DELETE"), id=name, **corrects(target))
        code = Code.CONFLICT if target == "a" else Code.BUNDLE_NOT_FOUND
        nothing_happens(house, session, code, partial(house.agent.submit_claims, session, said))


def test_a_person_may_correct_what_an_agent_said(house: World) -> None:
    session = house.session()
    published(house, session)
    said = {**bundle(told("c1"), id="b2", **corrects("b1")), "origin_agent": "human://root"}
    assert house.root.submit_claims(session, said).decision == "PUBLISH"
    assert set(house.agent.show_claims(session, "b1").ended) == {"c1", "c2"}


def test_a_correction_of_what_has_ended_meanwhile_is_not_approved_and_can_be_rejected(house: World) -> None:
    session = house.session()
    published(house, session)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b2", **corrects("b1", "c1")))
    house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="at once")
    assert "retracted" in nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(waiting))
    assert house.ann.reject(waiting).outcome == "REFUSE"
    house.check(session)


def test_a_line_of_corrections_is_bounded(house: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "MAX_STEPS", 3)
    session = house.session()
    published(house, session, "b0", "c1")
    for step in range(1, 4):
        published(house, session, f"b{step}", "c1", **corrects(f"b{step - 1}"))
    said = bundle(told("c1"), id="b4", **corrects("b3"))
    why = nothing_happens(house, session, Code.CONFLICT, lambda: house.agent.submit_claims(session, said))
    assert "correction 3 of its line" in why
    house.agent.retract_claims(session, "b3", reason="enough")


def test_a_correction_cannot_be_tried_out_without_a_session(house: World) -> None:
    refused(Code.INVALID_REQUEST, lambda: house.agent.check_claims(bundle(told("c1"), **corrects("b1"))))


def memory(name: str, event: str) -> dict[str, Any]:
    return {
        "memory_id": name,
        "kind": "fact",
        "value": {"rotated": True},
        "confidence": 0.9,
        "confirmed_by_event_id": event,
    }


def test_memory_that_an_approved_bundle_confirms_is_doubted_when_the_bundle_is_retracted(
    house: World,
) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    event = house.ann.approve(waiting).audit_event_id
    entry = memory("m1", event)
    kept = house.agent.remember(session, entry)
    assert (kept.memory.doubt, kept.memory.review_due) == ("", False)
    house.agent.retract_claims(session, "b1", reason="the disk was swapped")
    (seen,) = house.agent.list_memory(session).entries
    assert seen.review_due
    assert "the disk was swapped" in seen.doubt
    nothing_happens(house, session, Code.CONFLICT, lambda: house.agent.remember(session, memory("m2", event)))
    house.check(session)


# -- as it was ---------------------------------------------------------------------------------------------


def test_claims_and_approvals_are_shown_as_they_were_at_an_event(house: World) -> None:
    session = house.session()
    published(house, session)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="d"))
    house.agent.retract_claims(session, "b1", claim_ids=["c1"], reason="wrong")
    house.ann.approve(waiting)
    name = waiting.approval_id or ""
    seen = [house.agent.list_claims(session, at=at).claims for at in range(1, 6)]
    assert [[one.id for one in page] for page in seen] == [[], ["b1"], ["b1", "d"], ["b1", "d"], ["b1", "d"]]
    assert [len(page[0].ended) for page in seen[1:]] == [0, 0, 1, 1]
    decisions = [house.agent.show_claims(session, "d", at=at).decision for at in (3, 4, 5)]
    assert decisions == ["ESCALATE", "ESCALATE", "PUBLISH"]
    assert house.agent.show_claims(session, "d", at=4).approval_id == name
    cards = [house.ann.show_approval(name, at=at) for at in (3, 4, 5)]
    assert [card.status for card in cards] == ["pending", "pending", "approved"]
    assert [card.allowed_decisions != [] for card in cards] == [True, True, False]
    assert len({card.audit_head_event_id for card in cards}) == 3
    assert cards[-1] == house.ann.show_approval(name)


def test_what_was_not_there_yet_is_not_found_and_what_is_not_yet_is_a_bad_question(house: World) -> None:
    session = house.session()
    published(house, session)
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="d"))
    name = waiting.approval_id or ""
    error = refused(Code.BUNDLE_NOT_FOUND, lambda: house.agent.show_claims(session, "d", at=2))
    assert "at event 2" in error.message
    error = refused(Code.APPROVAL_NOT_FOUND, lambda: house.ann.show_approval(name, at=2))
    assert "at event 2" in error.message
    for ask in (
        lambda: house.agent.list_claims(session, at=4),
        lambda: house.agent.show_claims(session, "d", at=4),
        lambda: house.ann.show_approval(name, at=4),
    ):
        assert "between 1 and 3" in refused(Code.INVALID_REQUEST, ask).message
