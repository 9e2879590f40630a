"""What a person's word does, and every word that does not count."""

from functools import partial
from typing import Any

import msgspec
import pytest

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import ANN, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import (
    GATE_NAMES,
    UNNAMED,
    bundle,
    bundle_of,
    claim,
    delete,
    hash_of,
    inbox_is_the_fold_of_all_ledgers,
    nothing_happens,
)


@pytest.mark.parametrize("tier", ["DELETE", "PRIVILEGE"])
def test_an_approved_bundle_is_published_with_the_word_that_let_it(house: World, tier: str) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim(tier)))
    assert (waiting.decision, waiting.audit_trail.gates_failed) == ("ESCALATE", ("human",))
    (card,) = house.ann.list_approvals().approvals
    assert card.approval_id == waiting.approval_id
    assert (card.status, card.tier, card.gate) == ("pending", tier, "human")
    assert card.claims == waiting.claims
    assert card.required_approvals == ["role://approver", "role://admin"]
    house.clock.advance(60)
    decided = house.ann.approve(card, reason="seen the backup")
    assert (decided.status, decided.outcome) == ("approved", "PUBLISH")
    published = house.agent.show_claims(session, waiting.id)
    assert published == decided.bundle
    assert published.decision == "PUBLISH"
    assert published.audit_trail.gates_passed == GATE_NAMES
    assert published.audit_trail.gates_failed == ()
    (word,) = published.audit_trail.human_approvals
    assert (word.approver, word.decision, word.reason) == (ANN.id, "APPROVED", "seen the backup")
    assert word.timestamp == "2026-01-01T00:01:00.000000Z"
    assert hash_of(published) == card.content_hash
    assert published.required_approvals == []
    assert house.ann.list_approvals().approvals == []
    assert house.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(house)


def test_a_rejected_bundle_is_refused_with_the_word_that_stopped_it(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    decided = house.ann.reject(waiting, reason="no backup")
    assert (decided.status, decided.outcome) == ("rejected", "REFUSE")
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.approval_id) == ("REFUSE", None)
    assert "no backup" in shown.reason
    assert shown.audit_trail.gates_failed == ("human",)
    (word,) = shown.audit_trail.human_approvals
    assert (word.approver, word.decision) == (ANN.id, "REJECTED")
    inbox_is_the_fold_of_all_ledgers(house)


def test_the_whole_way_is_readable_in_the_ledger(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.ann.approve(waiting)
    events = house.agent.audit_trace(session).events
    assert [(entry["verb"], entry["delta"]["kind"]) for entry in as_dicts(events)] == [
        ("DECLARE_SESSION", "declared"),
        ("SUBMIT_CLAIMS", "bundle_gated"),
        ("DECIDE_APPROVAL", "approval_decided"),
    ]


def as_dicts(events: Any) -> list[dict[str, Any]]:
    return [msgspec.json.decode(msgspec.json.encode(entry)) for entry in events]


def test_modify_is_published_and_told_for_information(house: World) -> None:
    session = house.session()
    answer = house.agent.submit_claims(session, bundle(claim("MODIFY", value=0.6)))
    assert (answer.decision, answer.approval_id) == ("PUBLISH", None)
    assert house.ann.list_approvals().approvals == []
    (card,) = house.ann.list_approvals(status="information").approvals
    assert (bundle_of(card), card.allowed_decisions) == (answer.id, ["SEEN"])
    for decision in ("APPROVED", "REJECTED"):
        refused(Code.CONFLICT, partial(house.ann.decide, card, decision))
    refused(Code.CONFLICT, lambda: house.agent.withdraw_approval(card.approval_id))
    house.clock.advance(8 * 24 * 3600)
    assert house.expire() == 1
    assert house.deltas(session)[-1].bundle.decision == "PUBLISH", "the event says what it was a notice of"
    shown = house.agent.show_claims(session, answer.id)
    # Time takes the notice away, neither the decision nor what had to be said along with it.
    assert (shown.decision, shown.caveats) == ("PUBLISH", answer.caveats)
    assert shown.caveats
    inbox_is_the_fold_of_all_ledgers(house)


def test_what_is_for_information_leaves_the_list_once_a_person_has_seen_it(house: World) -> None:
    session = house.session()
    answer = house.agent.submit_claims(session, bundle(claim("MODIFY", value=0.6)))
    (card,) = house.ann.list_approvals(status="information").approvals
    refused(Code.FORBIDDEN, partial(house.agent.decide, card, "SEEN"))
    assert house.ann.decide(card, "SEEN").status == "seen"
    assert house.ann.list_approvals(status="information").approvals == []
    shown = house.ann.show_approval(card.approval_id)
    assert (shown.decided_by, shown.claims) == (house.ann.principal.id, card.claims)
    refused(Code.CONFLICT, partial(house.ann.decide, card, "SEEN"))
    assert house.agent.show_claims(session, answer.id).decision == "PUBLISH"
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE")))
    refused(Code.FORBIDDEN, partial(house.ann.decide, waiting, "SEEN"))
    inbox_is_the_fold_of_all_ledgers(house)


def test_policy_may_want_a_person_for_modify(build: Build) -> None:
    house = build(policy=policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]}))
    waiting = house.agent.submit_claims(house.session(), bundle(claim("MODIFY")))
    assert waiting.decision == "ESCALATE"
    assert house.ann.approve(waiting).outcome == "PUBLISH"
    assert house.ann.list_approvals(status="information").approvals == []


def test_uncertainty_that_a_person_lets_pass_is_still_told(house: World) -> None:
    waiting = house.agent.submit_claims(house.session(), bundle(claim(value=0.9)))
    assert (waiting.decision, waiting.audit_trail.gates_failed) == ("DEFER", ("uncertainty",))
    published = house.ann.approve(waiting).bundle
    assert published is not None
    assert published.decision == "PUBLISH"
    assert published.caveats[0] == UNNAMED
    assert "0.9" in published.caveats[1]


def test_the_proposer_decides_nothing(build: Build) -> None:
    """Not even with an approver's role."""
    house = build()
    session = house.session()
    greedy = house.person(Principal(id="human://greedy", role=Role.ADMIN, tier="PRIVILEGE"))
    waiting = greedy.submit_claims(session, delete(origin_agent="human://greedy"))
    for decision in ("APPROVED", "REJECTED"):
        nothing_happens(house, session, Code.FORBIDDEN, partial(greedy.decide, waiting, decision))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: greedy.modify(waiting, claim()))
    assert house.ann.approve(waiting).outcome == "PUBLISH"


@pytest.mark.parametrize("role", [Role.AGENT, Role.ENCODER, Role.TOOL])
def test_programs_approve_nothing_whatever_policy_names_them(build: Build, role: Role) -> None:
    robot = Principal(id="robot://one", role=role, tier="PRIVILEGE")
    rule = {"roles": ["approver"], "principals": ["robot://one"]}
    house = build(policy=policy(approvals={"otherwise": rule}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for decision in ("APPROVED", "REJECTED"):
        nothing_happens(
            house, session, Code.FORBIDDEN, partial(house.person(robot).decide, waiting, decision)
        )


def test_who_may_approve_what_tier_is_policy(build: Build) -> None:
    rules = {
        "approvers": {
            "PRIVILEGE": {"roles": ["admin"]},
            "DELETE": {"roles": [], "principals": ["human://bob"]},
        }
    }
    house = build(policy=policy(approvals=rules))
    session = house.session()
    access, removal = (
        house.agent.submit_claims(session, bundle(claim(tier))) for tier in ("PRIVILEGE", "DELETE")
    )
    assert access.required_approvals == ["role://admin"]
    assert removal.required_approvals == ["human://bob"]
    why = nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(access))
    assert "role://admin" in why
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.root.approve(removal))
    assert house.root.approve(access).outcome == "PUBLISH"
    assert house.bob.approve(removal).outcome == "PUBLISH"


def test_a_word_counts_for_the_exact_content_only(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    other = house.agent.submit_claims(session, delete(id="other"))
    for wrong in ("0" * 64, other.content_hash, waiting.content_hash.upper(), waiting.content_hash + " "):
        nothing_happens(
            house, session, Code.CONFLICT, partial(house.ann.approve, waiting, content_hash=wrong)
        )
    assert house.ann.approve(waiting).outcome == "PUBLISH"


@pytest.mark.parametrize("first", ["APPROVED", "REJECTED", "MODIFIED"])
@pytest.mark.parametrize("second", ["APPROVED", "REJECTED", "MODIFIED"])
def test_a_decision_is_made_once_and_the_second_person_is_told_of_the_first(
    house: World, first: str, second: str
) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edits = {"MODIFIED": [claim("DELETE", statement="delete less")]}
    house.ann.decide(waiting, first, claims=edits.get(first, ()))
    published = house.agent.show_claims(session, waiting.id)
    for person in (house.bob, house.ann):
        why = nothing_happens(
            house,
            session,
            Code.CONFLICT,
            partial(person.decide, waiting, second, claims=edits.get(second, ())),
        )
        assert ANN.id in why
    assert house.agent.show_claims(session, waiting.id) == published


def test_a_decision_belongs_to_the_session_that_asked(house: World) -> None:
    session, elsewhere = house.session(), house.session()
    waiting = house.agent.submit_claims(session, delete())
    command = DecideApproval(
        approval_id=str(waiting.approval_id), decision="APPROVED", content_hash=waiting.content_hash
    )
    event = house.submit(elsewhere, command, ANN).event
    assert isinstance(event, Refused)
    assert event.code is Code.APPROVAL_NOT_FOUND
    assert house.ann.show_approval(str(waiting.approval_id)).status == "pending"
    refused(Code.APPROVAL_NOT_FOUND, lambda: house.ann.decide_approval("apr-x", "APPROVED", content_hash="x"))


def test_a_head_that_has_moved_stops_a_word_and_tells_what_was_decided(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    card = house.ann.show_approval(str(waiting.approval_id))
    house.bob.reject(card, if_match=card.audit_head_event_id)
    error = refused(Code.CONFLICT, lambda: house.ann.approve(card, if_match=card.audit_head_event_id))
    assert (error.details or {})["status"] == "rejected"
    assert (error.details or {})["decided_by"] == "human://bob"


def test_more_evidence_cannot_be_asked_for_a_bundle(house: World) -> None:
    """DEFERRED is a word on intents. Here it is neither a yes nor a no, and least of all a yes."""
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    nothing_happens(house, session, Code.FORBIDDEN, partial(house.ann.decide, waiting, "DEFERRED"))


def test_claims_go_with_an_edit_and_only_with_it(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    nothing_happens(house, session, Code.INVALID_REQUEST, lambda: house.ann.modify(waiting))
    for decision in ("APPROVED", "REJECTED"):
        nothing_happens(
            house,
            session,
            Code.INVALID_REQUEST,
            partial(house.ann.decide, waiting, decision, claims=[claim()]),
        )
