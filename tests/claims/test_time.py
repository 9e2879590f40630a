"""What time does to approvals: it denies nothing, it allows nothing, and policy says what follows."""

from functools import partial
from typing import Any

import pytest

from beliefd.kernel.approvals.commands import ExpireApproval
from beliefd.kernel.approvals.events import ApprovalClosed
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.envelope import read
from beliefd.steward.effects.expiry import CLOCKWORK
from beliefd.stores.projections import InboxRow
from beliefd.testing.world import World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import GATE_NAMES, bundle, claim, delete, inbox_is_the_fold_of_all_ledgers

HOUR = 3600
ZOE = Principal(id="human://zoe", role=Role.ADMIN)


def expiring(on_expiry: str, **more: Any) -> dict[str, Any]:
    return {"policy": policy(approvals={"expires_seconds": HOUR, "on_expiry": on_expiry, **more})}


def last_event(house: World, session: str) -> Any:
    return read(house.run(lambda: house.store.entries(session))[-1].record).delta


@pytest.mark.parametrize("on_expiry", ["refuse", "escalate", "keep"])
def test_nothing_expires_before_its_time(build: Build, on_expiry: str) -> None:
    house = build(**expiring(on_expiry))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    card = house.ann.show_approval(str(waiting.approval_id))
    assert (card.opened_at, card.expires_at) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T01:00:00.000000Z")
    house.clock.advance(HOUR - 0.000001)
    assert house.expire() == 0
    early = house.submit(session, ExpireApproval(approval_id=card.approval_id), CLOCKWORK).event
    assert isinstance(early, Refused)
    assert house.ann.approve(waiting).outcome == "PUBLISH"


def test_a_time_out_refuses_and_is_not_told_as_a_denial(build: Build) -> None:
    house = build(**expiring("refuse"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    assert house.ann.list_approvals().approvals == []
    card = house.ann.show_approval(str(waiting.approval_id))
    assert (card.status, card.decided_by, card.approvals) == ("timed_out", None, [])
    event = last_event(house, session)
    assert isinstance(event, ApprovalClosed)
    assert event.outcome == "refuse"
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.approval_id) == ("REFUSE", None)
    assert shown.audit_trail.human_approvals == ()
    assert "nobody decided" in shown.reason
    assert "reject" not in shown.reason
    assert house.ann.list_approvals(status="rejected").approvals == []
    assert house.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(house)


@pytest.mark.parametrize("decision", ["APPROVED", "REJECTED", "MODIFIED"])
@pytest.mark.parametrize("on_expiry", ["refuse", "escalate", "keep"])
def test_a_late_word_does_not_count_even_before_the_sweep(
    build: Build, on_expiry: str, decision: str
) -> None:
    house = build(**expiring(on_expiry))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    claims = [claim("DELETE")] if decision == "MODIFIED" else []
    error = refused(Code.CONFLICT, partial(house.ann.decide, waiting, decision, claims=claims))
    assert "ran out" in error.message
    assert house.agent.show_claims(session, waiting.id).decision == "ESCALATE"


def test_escalation_asks_others_and_keeps_the_earlier_words(build: Build) -> None:
    house = build(**expiring("escalate", approvers={"DELETE": {"required": 2}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.ann.approve(waiting)
    house.clock.advance(HOUR)
    assert house.expire() == 1
    old = house.ann.show_approval(str(waiting.approval_id))
    assert old.status == "timed_out"
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.required_approvals) == ("ESCALATE", ["role://admin"])
    assert shown.approval_id == old.successor
    (card,) = house.root.list_approvals().approvals
    assert (card.approval_id, card.required_approvals) == (old.successor, ["role://admin"])
    assert card.content_hash == waiting.content_hash
    assert card.expires_at == "2026-01-01T02:00:00.000000Z"
    refused(Code.FORBIDDEN, lambda: house.bob.approve(card))
    refused(Code.CONFLICT, lambda: house.bob.approve(waiting))
    assert house.root.approve(card).status == "pending", "it still takes two, and Ann is none of them"
    decided = house.person(ZOE).approve(card)
    assert decided.outcome == "PUBLISH"
    assert decided.bundle is not None
    assert decided.bundle.audit_trail.gates_passed == GATE_NAMES
    words = [word.approver for word in decided.bundle.audit_trail.human_approvals]
    assert words == ["human://ann", "human://root", ZOE.id]
    assert house.agent.verify(session).ok
    inbox_is_the_fold_of_all_ledgers(house)


def test_as_many_must_agree_after_an_escalation_as_before_it(build: Build) -> None:
    """Under the rule that it waited under, though the policy of now would take one."""
    house = build(**expiring("escalate", approvers={"DELETE": {"required": 2}}))
    session = house.session()
    house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    house.expire()
    house.steward.in_force.adopt(expiring("escalate")["policy"])
    (card,) = house.root.list_approvals().approvals
    assert (card.required, card.required_approvals) == (2, ["role://admin"])
    assert house.root.approve(card).status == "pending"
    assert house.person(ZOE).approve(card).outcome == "PUBLISH"
    house.check(session)


def test_the_rule_of_now_holds_for_what_was_escalated(build: Build) -> None:
    house = build(**expiring("escalate"))
    session = house.session()
    house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    house.expire()
    (card,) = house.root.list_approvals().approvals
    assert card.required == 1
    house.steward.in_force.adopt(expiring("escalate", approvers={"DELETE": {"roles": []}})["policy"])
    error = refused(Code.FORBIDDEN, lambda: house.root.approve(card))
    assert "nobody" in error.message
    house.steward.in_force.adopt(expiring("escalate", approvers={"DELETE": {"required": 2}})["policy"])
    assert house.root.show_approval(card.approval_id).required == 2
    refused(Code.FORBIDDEN, lambda: house.ann.approve(card))
    assert house.root.approve(card).status == "pending"
    assert house.person(ZOE).approve(card).outcome == "PUBLISH"
    house.check(session)


def test_what_takes_more_people_than_there_are_to_escalate_to_is_refused(build: Build) -> None:
    house = build(
        **expiring(
            "escalate",
            approvers={"DELETE": {"required": 2}},
            escalate_to={"roles": [], "principals": ["human://root"]},
        )
    )
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    assert house.expire() == 1
    assert house.root.list_approvals().approvals == []
    assert house.agent.show_claims(session, waiting.id).decision == "REFUSE"
    house.check(session)


def test_what_was_escalated_in_vain_is_refused_not_escalated_for_ever(build: Build) -> None:
    house = build(**expiring("escalate"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    for _ in range(2):
        house.clock.advance(HOUR)
        assert house.expire() == 1
    assert house.root.list_approvals().approvals == []
    assert house.agent.show_claims(session, waiting.id).decision == "REFUSE"
    house.clock.advance(HOUR)
    assert house.expire() == 0


def test_what_is_kept_can_still_be_decided_and_says_that_it_is_overdue(build: Build) -> None:
    house = build(**expiring("keep"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    assert house.expire() == 1
    (card,) = house.ann.list_approvals().approvals
    assert (card.approval_id, card.overdue) == (waiting.approval_id, True)
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.approval_id) == ("ESCALATE", waiting.approval_id)
    assert shown.required_approvals == waiting.required_approvals
    house.clock.advance(100 * HOUR)
    assert house.expire() == 0
    assert house.ann.approve(card).outcome == "PUBLISH"
    inbox_is_the_fold_of_all_ledgers(house)


def test_what_follows_a_time_out_is_the_policy_of_that_moment(build: Build) -> None:
    house = build(**expiring("keep"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.steward.in_force.adopt(policy(approvals={"on_expiry": "refuse"}))
    house.clock.advance(HOUR)
    house.expire()
    assert house.agent.show_claims(session, waiting.id).decision == "REFUSE"
    assert house.agent.verify(session).ok


def test_a_deferred_bundle_stays_deferred_when_it_is_kept(build: Build) -> None:
    house = build(**expiring("keep"))
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim(value=0.9)))
    house.clock.advance(HOUR)
    house.expire()
    shown = house.agent.show_claims(session, waiting.id)
    assert (shown.decision, shown.audit_trail.gates_failed) == ("DEFER", ("uncertainty",))


def test_two_sweepers_expire_an_approval_once(build: Build) -> None:
    house = build(**expiring("refuse"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    house.clock.advance(HOUR)
    command = ExpireApproval(approval_id=str(waiting.approval_id))
    first, second = (house.submit(session, command, CLOCKWORK).event for _ in range(2))
    assert isinstance(first, ApprovalClosed)
    assert isinstance(second, Refused)
    assert second.code is Code.CONFLICT


def test_a_sweep_counts_what_it_did_so_that_it_comes_to_rest(build: Build) -> None:
    """A row that lags behind its ledger, or whose ledger is broken, must not keep the sweeper busy."""
    house = build(**expiring("refuse"))
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    stale = house.rows()
    house.ann.approve(waiting)
    house.clock.advance(HOUR)

    async def lagging(now: str, limit: int) -> list[InboxRow]:
        return [*stale, InboxRow("apr-x", "no such session", "pending", now, now)]

    house.store.inbox_due = lagging  # type: ignore[method-assign]
    assert house.expire() == 0
    assert house.agent.show_claims(session, waiting.id).decision == "PUBLISH"


def test_many_expire_at_once(build: Build) -> None:
    house = build(**expiring("refuse"))
    sessions = [house.session() for _ in range(3)]
    for number in range(120):
        house.agent.submit_claims(sessions[number % 3], delete())
    house.clock.advance(HOUR)
    assert [house.expire(), house.expire(), house.expire()] == [100, 20, 0]
    inbox_is_the_fold_of_all_ledgers(house)


def test_an_expired_item_can_still_be_withdrawn_or_superseded_until_it_is_swept(build: Build) -> None:
    house = build(**expiring("refuse"))
    session = house.session()
    one, two = (house.agent.submit_claims(session, delete(id=name)) for name in ("1", "2"))
    house.clock.advance(HOUR)
    assert house.agent.withdraw_approval(str(one.approval_id)).status == "withdrawn"
    again = house.agent.submit_claims(session, delete(id="2"))
    assert house.ann.show_approval(str(two.approval_id)).status == "superseded"
    assert house.ann.approve(again).outcome == "PUBLISH"
