"""Several people, several gates, a policy that changes meanwhile, and the end of a session."""

from typing import Any

import pytest

from beliefd.kernel.approvals.commands import DecideApproval, WithdrawApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import ANN, NOW, World, policy
from tests.claims.conftest import Build
from tests.claims.support import (
    alarmed,
    bundle,
    claim,
    delete,
    inbox_is_the_fold_of_all_ledgers,
    nothing_happens,
    pointer,
)

TWO = {"approvers": {"DELETE": {"required": 2}}}


def test_two_required_approvals_take_two_people(build: Build) -> None:
    house = build(policy=policy(approvals=TWO))
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
    house = build(policy=policy(approvals=TWO))
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
    assert second.bundle.audit_trail.gates_passed == ("evidence", "security", "human")
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
    assert rejected.audit_trail.gates_passed == ("evidence", "security")
    assert [one.gate for one in rejected.audit_trail.gates_overridden or ()] == ["uncertainty"]
    assert rejected.audit_trail.gates_failed == ("adversarial",)
    assert [word.decision for word in rejected.audit_trail.human_approvals] == ["APPROVED", "REJECTED"]


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
    odd = claim("DELETE", "INFERENCE", evidence_pointers=[pointer()])
    odd["evidence_pointers"][0]["evidence_hash"] = "a" * 32
    waiting = house.agent.submit_claims(session, bundle(odd))
    assert waiting.decision == "ESCALATE"
    house.steward.in_force.adopt(policy(**rules))
    decided = house.ann.approve(waiting)
    assert (decided.status, decided.outcome) == ("approved", "REFUSE")
    assert house.agent.show_claims(session, waiting.id).decision == "REFUSE"
    assert house.agent.verify(session).ok


def test_a_gate_that_has_become_stricter_calls_its_own_person(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.4)))
    house.steward.in_force.adopt(policy(uncertainty={"explain_above": 0.1, "defer_above": 0.3}))
    decided = house.ann.approve(waiting)
    assert decided.outcome == "DEFER"
    (card,) = house.ann.list_approvals().approvals
    assert card.gate == "uncertainty"
    assert house.ann.approve(card).outcome == "PUBLISH"


def test_a_stricter_rule_about_people_holds_for_what_waits_already(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.in_force.adopt(
        policy(approvals={"approvers": {"DELETE": {"roles": ["admin"], "required": 2}}})
    )
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(waiting))
    assert house.root.approve(waiting).outcome is None
    second = house.person(Principal(id="human://root2", role=Role.ADMIN))
    assert second.approve(waiting).outcome == "PUBLISH"
    assert house.agent.verify(session).ok


def test_a_looser_rule_about_people_does_not_open_what_waits_already(build: Build) -> None:
    house = build(policy=policy(approvals={"approvers": {"DELETE": {"roles": ["admin"], "required": 2}}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.in_force.adopt(policy())
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.ann.approve(waiting))
    assert house.root.approve(waiting).outcome is None


def test_a_rule_that_names_nobody_any_more_closes_what_waits_already(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.in_force.adopt(policy(approvals={"approvers": {"DELETE": {"roles": []}}}))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.root.approve(waiting))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: house.root.modify(waiting, claim()))
    assert house.ann.reject(waiting).outcome == "REFUSE"


def test_a_session_does_not_end_over_what_waits(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for force in (False, True):
        ruled = house.root.request_termination(session, context={"force": force})
        assert not ruled.approved
    house.ann.approve(waiting)
    assert house.root.request_termination(session, context={"force": True}).approved


def test_a_terminated_session_takes_no_claims_and_its_notices_bother_nobody(house: World) -> None:
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


def test_commands_past_the_handlers_are_judged_alike(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    withdrawal = WithdrawApproval(approval_id=str(waiting.approval_id))
    assert isinstance(house.submit(session, withdrawal, ANN).event, Refused)
    word = DecideApproval(
        approval_id=str(waiting.approval_id), decision="APPROVED", content_hash=waiting.content_hash
    )
    assert isinstance(house.submit(session, word, ANN).event, ApprovalDecided)
    assert house.clock.now() == NOW
