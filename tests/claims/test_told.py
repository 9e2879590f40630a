"""What whoever looks at a bundle is told: words rejected before, gates overridden, who has agreed so far."""

from collections.abc import Callable

from beliefd.protocol.claims import JudgedBundle
from beliefd.testing.world import World, policy
from tests.claims.conftest import Build
from tests.claims.support import DECLARED, UNNAMED, alarmed, bundle, claim, pointer


def test_the_same_words_again_tell_who_rejected_them_and_why(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", statement="Drop the table."), id="a"))
    house.ann.reject(waiting, reason="customers use it")
    again = house.agent.submit_claims(session, bundle(claim("DELETE", statement="drop  the TABLE"), id="b"))
    (*others, said) = again.caveats
    assert others == [UNNAMED, DECLARED]
    assert said.startswith("c1: the same words were rejected by human://ann on 20")
    assert said.endswith(": customers use it")
    card = house.bob.show_approval(again.approval_id or "")
    assert [one.reason for one in card.gates if one.outcome == "EXPLAIN"] == [
        one.removeprefix("c1: ") for one in (UNNAMED, DECLARED, said)
    ]
    other = house.agent.submit_claims(session, bundle(claim("DELETE", statement="drop the index"), id="c"))
    assert other.caveats == [UNNAMED, DECLARED]
    elsewhere = house.session()
    there = house.agent.submit_claims(elsewhere, bundle(claim("DELETE", statement="drop the table"), id="a"))
    (_, _, said) = there.caveats
    assert f"in session `{session}`: customers use it" in said
    for one in (session, elsewhere):
        house.check(one)


def test_words_that_were_approved_withdrawn_or_edited_are_not_rejected(house: World) -> None:
    session = house.session()
    acts: tuple[Callable[[JudgedBundle], object], ...] = (
        house.ann.approve,
        lambda waiting: house.agent.withdraw_approval(waiting.approval_id or ""),
        lambda waiting: house.ann.modify(waiting, claim("DELETE", statement="another")),
    )
    for place, act in enumerate(acts):
        waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id=f"b{place}"))
        assert waiting.caveats == [UNNAMED, DECLARED]
        act(waiting)
    assert house.agent.submit_claims(session, bundle(claim("DELETE"))).caveats == [UNNAMED, DECLARED]


def test_rejected_words_do_not_count_as_a_gate_that_was_asked(house: World) -> None:
    session = house.session()
    weak = claim(kind="FACT", evidence_pointers=[pointer(source_confidence=0.3)])
    house.ann.reject(house.agent.submit_claims(session, bundle(weak, id="a")), reason="weak")
    waiting = house.agent.submit_claims(session, bundle(weak, id="b"))
    assert waiting.audit_trail.gates_passed == ()
    rejected = house.ann.reject(waiting).bundle
    assert rejected is not None
    assert (rejected.audit_trail.gates_passed, rejected.audit_trail.gates_failed) == ((), ("evidence",))


def test_a_gate_that_people_let_pass_is_told_as_overridden_with_who_did(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9), id="b1"))
    first = house.ann.approve(waiting)
    card = house.bob.show_approval(first.approval.successor or "")
    assert [(one.gate, one.by) for one in card.overridden] == [("uncertainty", ("human://ann",))]
    second = house.bob.approve(card).bundle
    assert second is not None
    trail = house.agent.show_claims(session, "b1").audit_trail
    assert trail == second.audit_trail
    assert trail.gates_passed == ("evidence", "security", "human")
    assert trail.gates_failed == ()
    overridden = [(one.gate, one.by) for one in trail.gates_overridden or ()]
    assert overridden == [("uncertainty", ("human://ann",)), ("adversarial", ("human://bob",))]
    seen = [(one.gate, one.by) for one in house.ann.show_approval(card.approval_id).overridden]
    assert seen == overridden
    house.check(session)


def test_a_gate_that_would_let_it_pass_today_was_not_overridden(house: World) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    house.steward.in_force.adopt(policy(uncertainty={"explain_above": 0.95, "defer_above": 0.95}))
    decided = house.ann.approve(waiting).bundle
    assert decided is not None
    assert "uncertainty" in decided.audit_trail.gates_passed
    assert not decided.audit_trail.gates_overridden


def test_who_has_agreed_so_far_is_told_on_the_card_in_the_list_and_with_the_bundle(build: Build) -> None:
    house = build(policy=policy(approvals={"approvers": {"DELETE": {"required": 2}}}))
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    assert waiting.progress is not None
    assert waiting.progress.text == "0 of 2 approved"
    answer = house.ann.approve(waiting)
    (listed,) = house.bob.list_approvals().approvals
    for seen in (answer.approval, listed, house.agent.show_claims(session, "b1")):
        assert seen.progress is not None
        (word,) = seen.progress.given
        assert seen.progress.text == f"1 of 2 approved: human://ann at {word.timestamp}"
    # One yes of two is no rejection.
    assert house.agent.submit_claims(session, bundle(claim("DELETE"), id="b2")).caveats == [UNNAMED, DECLARED]
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    assert house.agent.show_claims(session, "b1").progress is None


def test_as_long_as_something_waits_one_more_must_agree(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE"), id="b1"))
    house.steward.in_force.adopt(policy(approvals={"approvers": {"DELETE": {"required": 2}}}))
    house.ann.approve(waiting)
    progress = house.agent.show_claims(session, "b1").progress
    assert progress is not None
    assert (progress.required, len(progress.given)) == (2, 1)
