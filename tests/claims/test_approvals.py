"""What a person's word does: approve, reject, withdraw, supersede; and every word that does not count."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from beliefd.kernel.claims.events import ApprovalDecided
from beliefd.kernel.commands import DecideApproval, WithdrawApproval
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Refused
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import state_hash
from tests.claims.conftest import Build
from tests.claims.support import (
    ANN,
    GATE_NAMES,
    NOW,
    OTHER_AGENT,
    TIERS,
    House,
    alarmed,
    bundle,
    claim,
    hash_of,
    inbox_is_the_fold_of_all_ledgers,
    policy,
    refused,
)


def delete(**changes: Any) -> dict[str, Any]:
    return bundle(claim("DELETE"), **changes)


@pytest.mark.parametrize("tier", ["DELETE", "PRIVILEGE"])
def test_an_approved_bundle_is_published_with_the_word_that_let_it(house: House, tier: str) -> None:
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


def test_a_rejected_bundle_is_refused_with_the_word_that_stopped_it(house: House) -> None:
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


def test_the_whole_way_is_readable_in_the_ledger(house: House) -> None:
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


def test_modify_is_published_and_told_for_information(house: House) -> None:
    session = house.session()
    answer = house.agent.submit_claims(session, bundle(claim("MODIFY", value=0.6)))
    assert (answer.decision, answer.approval_id) == ("PUBLISH", None)
    assert house.ann.list_approvals().approvals == []
    (card,) = house.ann.list_approvals(status="information").approvals
    assert (card.bundle_id, card.allowed_decisions) == (answer.id, [])
    for decision in ("APPROVED", "REJECTED"):
        refused(Code.CONFLICT, partial(house.ann.decide, card, decision))
    refused(Code.CONFLICT, lambda: house.agent.withdraw_approval(card.approval_id))
    house.clock.advance(8 * 24 * 3600)
    assert house.expire() == 1
    shown = house.agent.show_claims(session, answer.id)
    # Time takes the notice away, neither the decision nor what had to be said along with it.
    assert (shown.decision, shown.caveats) == ("PUBLISH", answer.caveats)
    assert shown.caveats
    inbox_is_the_fold_of_all_ledgers(house)


def test_policy_may_want_a_person_for_modify(build: Build) -> None:
    house = build(rules=policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]}))
    waiting = house.agent.submit_claims(house.session(), bundle(claim("MODIFY")))
    assert waiting.decision == "ESCALATE"
    assert house.ann.approve(waiting).outcome == "PUBLISH"
    assert house.ann.list_approvals(status="information").approvals == []


def test_uncertainty_that_a_person_lets_pass_is_still_told(house: House) -> None:
    waiting = house.agent.submit_claims(house.session(), bundle(claim(value=0.9)))
    assert (waiting.decision, waiting.audit_trail.gates_failed) == ("DEFER", ("uncertainty",))
    published = house.ann.approve(waiting).bundle
    assert published is not None
    assert published.decision == "PUBLISH"
    assert "0.9" in published.caveats[0]


# -- words that do not count -----------------------------------------------------------------------


def nothing_happens(house: House, session: str, code: Code, act: Callable[[], object]) -> str:
    """The act is refused, recorded, and the state is what it was. Returns why."""
    before = house.state(session)
    error = refused(code, act)
    after = house.state(session)
    assert state_hash(after) == state_hash(before)
    (last,) = house.run(lambda: house.store.entries(session))[-1:]
    assert (error.details or {})["audit_event_id"] == last.event_id
    inbox_is_the_fold_of_all_ledgers(house)
    return error.message


def test_the_proposer_decides_nothing(build: Build) -> None:
    """Not even with an approver's role."""
    house = build()
    session = house.session()
    greedy = house.person(Principal(id="human://greedy", role=Role.ADMIN, tier="PRIVILEGE"))
    waiting = greedy.submit_claims(session, delete())
    for decision in ("APPROVED", "REJECTED"):
        nothing_happens(house, session, Code.FORBIDDEN, partial(greedy.decide, waiting, decision))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: greedy.modify(waiting, claim()))
    assert house.ann.approve(waiting).outcome == "PUBLISH"


@pytest.mark.parametrize("role", [Role.AGENT, Role.ENCODER, Role.TOOL])
def test_programs_approve_nothing_whatever_policy_names_them(build: Build, role: Role) -> None:
    robot = Principal(id="agent://robot", role=role, tier="PRIVILEGE")
    rule = {"roles": ["approver"], "principals": ["agent://robot"]}
    house = build(rules=policy(approvals={"otherwise": rule}))
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
    house = build(rules=policy(approvals=rules))
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


def test_a_word_counts_for_the_exact_content_only(house: House) -> None:
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
    house: House, first: str, second: str
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


def test_a_decision_belongs_to_the_session_that_asked(house: House) -> None:
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


def test_a_head_that_has_moved_stops_a_word_and_tells_what_was_decided(house: House) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    card = house.ann.show_approval(str(waiting.approval_id))
    house.bob.reject(card, if_match=card.audit_head_event_id)
    error = refused(Code.CONFLICT, lambda: house.ann.approve(card, if_match=card.audit_head_event_id))
    assert (error.details or {})["status"] == "rejected"
    assert (error.details or {})["decided_by"] == "human://bob"


def test_claims_go_with_an_edit_and_only_with_it(house: House) -> None:
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


# -- edits -----------------------------------------------------------------------------------------


def test_an_edit_is_a_new_proposal_that_somebody_else_must_approve(house: House) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edited = house.ann.modify(waiting, claim("DELETE", statement="delete last year's only"))
    assert (edited.status, edited.outcome) == ("modified", "ESCALATE")
    assert edited.bundle is not None
    assert edited.bundle.id != waiting.id
    assert edited.bundle.content_hash != waiting.content_hash
    (card,) = house.ann.list_approvals().approvals
    assert card.proposers == ["agent://writer", "human://ann"]
    assert card.approval_id == edited.approval.successor
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(card))
    nothing_happens(
        house, session, Code.CONFLICT, lambda: house.bob.approve(card, content_hash=waiting.content_hash)
    )
    assert house.bob.approve(card).outcome == "PUBLISH"
    published = house.agent.show_claims(session, edited.bundle.id)
    assert published.claims[0].statement == "delete last year's only"
    assert hash_of(published) == card.content_hash
    original = house.agent.show_claims(session, waiting.id)
    assert (original.decision, original.claims) == ("REFUSE", waiting.claims)
    assert "human://ann" in original.reason
    assert house.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(house)


@pytest.mark.parametrize("tier", TIERS)
def test_no_edit_gets_out_without_another_person(house: House, tier: str) -> None:
    """Not even one that no gate has anything against: a person was called for, and sees the edit."""
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edited = house.ann.modify(waiting, claim(tier))
    assert edited.outcome == "ESCALATE"
    assert edited.bundle is not None
    assert "human" not in edited.bundle.audit_trail.gates_passed
    (card,) = house.bob.list_approvals().approvals
    assert house.bob.approve(card).outcome == "PUBLISH"


def test_an_edit_does_not_rise_above_the_tier_of_who_proposed_it(house: House) -> None:
    session = house.session()
    small = house.person(Principal(id="agent://small", role=Role.AGENT, tier="READ_ONLY"))
    waiting = small.submit_claims(session, bundle(claim("READ_ONLY", value=0.9)))
    edited = house.root.modify(waiting, claim("PRIVILEGE"))
    assert edited.outcome == "REFUSE"
    assert house.ann.list_approvals().approvals == []


def test_an_edit_meets_every_gate_again(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edited = house.ann.modify(waiting, claim("DELETE", value=0.9))
    (card,) = house.bob.list_approvals().approvals
    assert (edited.outcome, card.gate) == ("DEFER", "uncertainty")
    refused_edit = house.bob.modify(card, claim("READ_ONLY", "FACT", evidence_pointers=[]))
    assert refused_edit.outcome == "REFUSE"


def test_what_nobody_may_approve_can_only_be_rejected(build: Build) -> None:
    """Editing it, waiting for it to be escalated, or asking an admin is no way around."""
    rules = {
        "approvers": {"DELETE": {"roles": [], "principals": []}},
        "on_expiry": "escalate",
        "expires_seconds": 60,
    }
    house = build(rules=policy(approvals=rules))
    session = house.session()
    waiting, again = (house.agent.submit_claims(session, delete(id=name)) for name in ("1", "2"))
    assert waiting.required_approvals == []
    card = house.root.show_approval(str(waiting.approval_id))
    assert card.allowed_decisions == ["REJECTED"]
    for person in (house.ann, house.root):
        nothing_happens(house, session, Code.FORBIDDEN, partial(person.approve, card))
        nothing_happens(house, session, Code.FORBIDDEN, partial(person.modify, card, claim("READ_ONLY")))
    assert house.ann.reject(card).outcome == "REFUSE"
    house.clock.advance(61)
    assert house.expire() == 1
    assert house.root.list_approvals().approvals == []
    assert house.agent.show_claims(session, again.id).decision == "REFUSE"


# -- withdraw and supersede ------------------------------------------------------------------------


def test_who_proposed_it_can_withdraw_it_and_nobody_else(house: House) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for person in (house.ann, house.root, house.person(OTHER_AGENT)):
        nothing_happens(
            house, session, Code.FORBIDDEN, partial(person.withdraw_approval, str(waiting.approval_id))
        )
    card = house.agent.withdraw_approval(str(waiting.approval_id), reason="found another way")
    assert (card.status, card.allowed_decisions) == ("withdrawn", [])
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.audit_trail.human_approvals) == ("REFUSE", ())
    assert "found another way" in shown.reason
    assert house.ann.list_approvals().approvals == []
    why = nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(waiting))
    assert "withdrawn" in why
    nothing_happens(
        house, session, Code.CONFLICT, lambda: house.agent.withdraw_approval(str(waiting.approval_id))
    )
    inbox_is_the_fold_of_all_ledgers(house)


def test_a_new_version_supersedes_the_one_that_waits(house: House) -> None:
    session = house.session()
    first = house.agent.submit_claims(session, delete(id="b"))
    second = house.agent.submit_claims(session, bundle(claim("DELETE", statement="less"), id="b"))
    (card,) = house.ann.list_approvals().approvals
    assert card.approval_id == second.approval_id
    old = house.ann.show_approval(str(first.approval_id))
    assert (old.status, old.successor) == ("superseded", second.approval_id)
    why = nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(first))
    assert "superseded" in why
    # The word on the old version does not carry over to the new one.
    nothing_happens(
        house, session, Code.CONFLICT, lambda: house.ann.approve(second, content_hash=first.content_hash)
    )
    assert house.ann.approve(second).outcome == "PUBLISH"
    assert house.agent.show_claims(session, "b").claims[0].statement == "less"
    inbox_is_the_fold_of_all_ledgers(house)


def test_a_new_version_that_gates_refuse_takes_the_old_one_with_it(house: House) -> None:
    session = house.session()
    house.agent.submit_claims(session, delete(id="b"))
    answer = house.agent.submit_claims(
        session, bundle(claim("READ_ONLY", "FACT", evidence_pointers=[]), id="b")
    )
    assert answer.decision == "REFUSE"
    assert house.ann.list_approvals().approvals == []


def test_nobody_supersedes_what_another_proposed(house: House) -> None:
    session = house.session()
    house.agent.submit_claims(session, delete(id="b"))
    other = house.person(OTHER_AGENT)
    nothing_happens(house, session, Code.CONFLICT, lambda: other.submit_claims(session, delete(id="b")))


@pytest.mark.parametrize("decision", ["APPROVED", "REJECTED"])
def test_a_decided_bundle_is_not_submitted_again(house: House, decision: str) -> None:
    session = house.session()
    house.ann.decide(house.agent.submit_claims(session, delete(id="b")), decision)
    nothing_happens(house, session, Code.CONFLICT, lambda: house.agent.submit_claims(session, delete(id="b")))
    house.agent.submit_claims(session, bundle(id="free"))
    nothing_happens(
        house, session, Code.CONFLICT, lambda: house.agent.submit_claims(session, bundle(id="free"))
    )


# -- several people, several gates -----------------------------------------------------------------

TWO = {"approvers": {"DELETE": {"required": 2}}}


def test_two_required_approvals_take_two_people(build: Build) -> None:
    house = build(rules=policy(approvals=TWO))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    first = house.ann.approve(waiting, reason="one")
    assert (first.status, first.outcome, first.bundle) == ("pending", None, None)
    assert house.agent.show_claims(session, waiting.id).decision == "ESCALATE"
    nothing_happens(house, session, Code.CONFLICT, lambda: house.ann.approve(waiting))
    (card,) = house.bob.list_approvals().approvals
    assert [word.approver for word in card.approvals] == ["human://ann"]
    second = house.bob.approve(waiting, reason="two")
    assert second.outcome == "PUBLISH"
    assert second.bundle is not None
    words = second.bundle.audit_trail.human_approvals
    assert [(word.approver, word.reason) for word in words] == [
        ("human://ann", "one"),
        ("human://bob", "two"),
    ]
    inbox_is_the_fold_of_all_ledgers(house)


def test_one_no_is_enough_even_after_a_yes(build: Build) -> None:
    house = build(rules=policy(approvals=TWO))
    session = house.session()
    for person in (house.bob, house.ann):
        waiting = house.agent.submit_claims(session, delete())
        house.ann.approve(waiting)
        # Ann may also take her own word back.
        decided = person.reject(waiting)
        assert decided.outcome == "REFUSE"
        assert decided.bundle is not None
        assert [word.decision for word in decided.bundle.audit_trail.human_approvals] == [
            "APPROVED",
            "REJECTED",
        ]


def test_every_gate_that_calls_for_a_person_gets_one_and_every_word_is_kept(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    assert waiting.audit_trail.gates_failed == ("uncertainty",)
    first = house.ann.approve(waiting)
    assert (first.outcome, first.status) == ("DEFER", "approved")
    (card,) = house.bob.list_approvals().approvals
    assert (card.gate, card.content_hash) == ("adversarial", waiting.content_hash)
    assert card.approval_id == first.approval.successor
    second = house.bob.approve(card)
    assert second.outcome == "PUBLISH"
    assert second.bundle is not None
    assert second.bundle.audit_trail.gates_passed == GATE_NAMES
    words = second.bundle.audit_trail.human_approvals
    assert [word.approver for word in words] == ["human://ann", "human://bob"]
    inbox_is_the_fold_of_all_ledgers(house)


def test_a_rejection_at_a_later_gate_tells_which_gates_had_been_passed(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    house.ann.approve(waiting)
    (card,) = house.bob.list_approvals().approvals
    rejected = house.bob.reject(card).bundle
    assert rejected is not None
    assert rejected.audit_trail.gates_passed == ("evidence", "uncertainty", "security")
    assert rejected.audit_trail.gates_failed == ("adversarial",)
    assert [word.decision for word in rejected.audit_trail.human_approvals] == ["APPROVED", "REJECTED"]


# -- policy that changes meanwhile -----------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        {"evidence": {"hash": "strict"}},
        {"security": {"allowed_origins": []}, "evidence": {"hash": "strict"}},
    ],
)
def test_the_gates_are_asked_again_under_the_policy_of_the_day(build: Build, rules: dict[str, Any]) -> None:
    house = build()
    session = house.session()
    odd = claim("DELETE", "FACT")
    odd["evidence_pointers"][0]["evidence_hash"] = "a" * 32
    waiting = house.agent.submit_claims(session, bundle(odd))
    assert waiting.decision == "ESCALATE"
    house.steward.adopt(policy(**rules))
    decided = house.ann.approve(waiting)
    assert (decided.status, decided.outcome) == ("approved", "REFUSE")
    assert house.agent.show_claims(session, waiting.id).decision == "REFUSE"
    assert house.agent.verify(session).ok


def test_a_gate_that_has_become_stricter_calls_its_own_person(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.4)))
    house.steward.adopt(policy(uncertainty={"explain_above": 0.1, "defer_above": 0.3}))
    decided = house.ann.approve(waiting)
    assert decided.outcome == "DEFER"
    (card,) = house.ann.list_approvals().approvals
    assert card.gate == "uncertainty"
    assert house.ann.approve(card).outcome == "PUBLISH"


def test_a_stricter_rule_about_people_holds_for_what_waits_already(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.adopt(policy(approvals={"approvers": {"DELETE": {"roles": ["admin"], "required": 2}}}))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(waiting))
    assert house.root.approve(waiting).outcome is None
    second = house.person(Principal(id="human://root2", role=Role.ADMIN))
    assert second.approve(waiting).outcome == "PUBLISH"
    assert house.agent.verify(session).ok


def test_a_looser_rule_about_people_does_not_open_what_waits_already(build: Build) -> None:
    house = build(rules=policy(approvals={"approvers": {"DELETE": {"roles": ["admin"], "required": 2}}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.adopt(policy())
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(waiting))
    assert house.root.approve(waiting).outcome is None


def test_a_rule_that_names_nobody_any_more_closes_what_waits_already(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.adopt(policy(approvals={"approvers": {"DELETE": {"roles": []}}}))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.root.approve(waiting))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.root.modify(waiting, claim()))
    assert house.ann.reject(waiting).outcome == "REFUSE"


# -- the end of a session --------------------------------------------------------------------------


def test_a_session_does_not_end_over_what_waits(house: House) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for force in (False, True):
        ruled = house.root.request_termination(session, context={"force": force})
        assert not ruled.approved
    house.ann.approve(waiting)
    assert house.root.request_termination(session, context={"force": True}).approved


def test_a_terminated_session_takes_no_claims_and_its_notices_bother_nobody(house: House) -> None:
    session = house.session()
    house.agent.submit_claims(session, bundle(claim("MODIFY")))
    assert house.root.request_termination(session, context={"force": True}).approved
    nothing_happens(
        house, session, Code.SESSION_TERMINATED, lambda: house.agent.submit_claims(session, bundle())
    )
    length = len(house.run(lambda: house.store.entries(session)))
    house.clock.advance(30 * 24 * 3600)
    assert house.expire() == 0
    house.ann.list_approvals()
    # Time goes on, but a closed ledger does not grow by it.
    assert len(house.run(lambda: house.store.entries(session))) == length
    inbox_is_the_fold_of_all_ledgers(house)


def test_commands_past_the_handlers_are_judged_alike(house: House) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    withdrawal = WithdrawApproval(approval_id=str(waiting.approval_id))
    assert isinstance(house.submit(session, withdrawal, ANN).event, Refused)
    word = DecideApproval(
        approval_id=str(waiting.approval_id), decision="APPROVED", content_hash=waiting.content_hash
    )
    assert isinstance(house.submit(session, word, ANN).event, ApprovalDecided)
    assert house.clock.now() == NOW
