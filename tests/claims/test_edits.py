"""What proposers and editors do to what waits: edit, withdraw, supersede."""

from functools import partial

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import OTHER_AGENT, World, policy
from tests.claims.conftest import Build
from tests.claims.support import (
    TIERS,
    bundle,
    claim,
    delete,
    hash_of,
    inbox_is_the_fold_of_all_ledgers,
    nothing_happens,
)


def test_an_edit_is_a_new_proposal_that_somebody_else_must_approve(house: World) -> None:
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
def test_no_edit_gets_out_without_another_person(house: World, tier: str) -> None:
    """Not even one that no gate has anything against: a person was called for, and sees the edit."""
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    edited = house.ann.modify(waiting, claim(tier))
    assert edited.outcome == "ESCALATE"
    assert edited.bundle is not None
    assert "human" not in edited.bundle.audit_trail.gates_passed
    (card,) = house.bob.list_approvals().approvals
    assert house.bob.approve(card).outcome == "PUBLISH"


def test_an_edit_does_not_rise_above_the_tier_of_who_proposed_it(house: World) -> None:
    session = house.session()
    small = house.person(Principal(id="agent://small", role=Role.AGENT, tier="READ_ONLY"))
    waiting = small.submit_claims(
        session, bundle(claim("READ_ONLY", value=0.9), origin_agent="agent://small")
    )
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
    house = build(policy=policy(approvals=rules))
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


def test_who_proposed_it_can_withdraw_it_and_nobody_else(house: World) -> None:
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


def test_a_new_version_supersedes_the_one_that_waits(house: World) -> None:
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


def test_a_new_version_that_gates_refuse_takes_the_old_one_with_it(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, delete(id="b"))
    answer = house.agent.submit_claims(
        session, bundle(claim("READ_ONLY", "FACT", evidence_pointers=[]), id="b")
    )
    assert answer.decision == "REFUSE"
    assert house.ann.list_approvals().approvals == []


def test_nobody_supersedes_what_another_proposed(house: World) -> None:
    session = house.session()
    house.agent.submit_claims(session, delete(id="b"))
    other = house.person(OTHER_AGENT)
    nothing_happens(house, session, Code.CONFLICT, lambda: other.submit_claims(session, delete(id="b")))


@pytest.mark.parametrize("decision", ["APPROVED", "REJECTED"])
def test_a_decided_bundle_is_not_submitted_again(house: World, decision: str) -> None:
    session = house.session()
    house.ann.decide(house.agent.submit_claims(session, delete(id="b")), decision)
    nothing_happens(house, session, Code.CONFLICT, lambda: house.agent.submit_claims(session, delete(id="b")))
    house.agent.submit_claims(session, bundle(id="free"))
    nothing_happens(
        house, session, Code.CONFLICT, lambda: house.agent.submit_claims(session, bundle(id="free"))
    )
