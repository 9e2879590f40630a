"""A yes answers the questions that stood on the card, and nobody is asked about what is refused anyway."""

from collections.abc import Sequence

from beliefd.kernel.claims.threat import Threat
from beliefd.protocol.approvals import ApprovalCard
from beliefd.testing.world import policy
from tests.claims.conftest import Build
from tests.claims.support import alarmed, bundle, claim, pointer


def test_a_card_names_the_questions_that_a_yes_answers(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    card = house.ann.show_approval(str(waiting.approval_id))
    assert (card.gate, card.asking) == ("uncertainty", ["uncertainty", "human"])
    seen = {(one.gate, one.outcome) for one in card.gates}
    assert {("uncertainty", "DEFER"), ("adversarial", "DEFER"), ("human", "ESCALATE")} <= seen
    assert "uncertainty and human" in card.on_approval
    first = house.ann.approve(card)
    (word,) = first.approval.approvals
    assert word.gates == ("uncertainty", "human")
    (card,) = house.ann.list_approvals().approvals
    assert card.asking == ["adversarial"]
    published = house.ann.approve(card).bundle
    assert published is not None
    words = published.audit_trail.human_approvals
    assert [word.gates for word in words] == [("uncertainty", "human"), ("adversarial",)]
    house.check(session)


def test_a_yes_to_one_gate_does_not_answer_another_that_asks_only_now(build: Build) -> None:
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("MODIFY", value=0.9)))
    card = house.ann.show_approval(str(waiting.approval_id))
    assert card.asking == ["uncertainty"]
    house.steward.in_force.adopt(policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]}))
    decided = house.ann.approve(card)
    assert (decided.status, decided.outcome) == ("approved", "ESCALATE")
    (card,) = house.ann.list_approvals().approvals
    assert (card.gate, card.asking) == ("human", ["human"])
    assert house.ann.approve(card).outcome == "PUBLISH"
    house.check(session)


def test_nobody_is_asked_about_what_a_later_gate_refuses(build: Build) -> None:
    house = build(policy=policy(security={"allowed_origins": []}))
    session = house.session()
    unsure = bundle(claim("DELETE", value=0.9), origin_agent="agent://somebody-else")
    judged = house.agent.submit_claims(session, unsure)
    assert (judged.decision, judged.audit_trail.gates_failed) == ("REFUSE", ("security",))
    assert judged.audit_trail.gates_passed == ("evidence",)
    assert house.ann.list_approvals().approvals == []
    house.check(session)


def test_a_gate_that_has_found_something_worse_than_the_card_shows_asks_again(build: Build) -> None:
    scores = [0.92]

    def rising(_: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
        return Threat(detector="rising", score=scores[-1])

    def seen(card: ApprovalCard) -> tuple[list[str], list[object]]:
        return card.asking, [one.observed for one in card.gates if one.gate == "adversarial"]

    house = build(detector=rising)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    house.ann.approve(waiting)
    (card,) = house.ann.list_approvals().approvals
    assert seen(card) == (["adversarial"], [0.92])
    scores.append(0.99)
    assert house.ann.approve(card).outcome == "DEFER"
    (card,) = house.ann.list_approvals().approvals
    assert seen(card) == (["adversarial"], [0.99])
    assert [one.gates for one in card.approvals] == [("uncertainty", "human"), ("adversarial",)]
    scores.append(0.95)
    assert house.ann.approve(card).outcome == "PUBLISH", "what is no worse is nothing new"
    house.check(session)


def test_a_yes_to_a_tier_is_none_to_a_higher_one_whatever_else_is_asked_meanwhile(build: Build) -> None:
    house = build(detector=alarmed)
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE", value=0.9)))
    house.ann.approve(waiting)
    (card,) = house.ann.list_approvals().approvals
    assert card.asking == ["adversarial"]
    raised = {"types": ["INFERENCE"], "to": "PRIVILEGE"}
    house.steward.in_force.adopt(policy(tiers={"raise": [raised]}))
    assert house.ann.approve(card).outcome == "ESCALATE"
    (card,) = house.ann.list_approvals().approvals
    assert (card.asking, card.tier) == (["human"], "PRIVILEGE")
    assert house.ann.approve(card).outcome == "PUBLISH"
    house.check(session)


def test_an_answered_gate_that_finds_more_waits_for_its_turn_and_is_not_answered_by_another(
    build: Build,
) -> None:
    house = build(detector=alarmed)
    session = house.session()
    unsure = claim(value=0.9, evidence_pointers=[pointer(source_confidence=0.3)])
    better = claim(value=0.5, id="c2", evidence_pointers=[pointer(source_confidence=0.7)])
    house.agent.submit_claims(session, bundle(unsure, better))
    stricter = policy(
        uncertainty={"explain_above": 0.3, "defer_above": 0.4}, evidence={"min_confidence": 0.8}
    )
    asked = []
    for number in range(6):
        (card,) = house.ann.list_approvals().approvals
        asked.append(card.asking)
        if number == 2:
            house.steward.in_force.adopt(stricter)
        if house.ann.approve(card).outcome == "PUBLISH":
            break
    assert asked == [["evidence"], ["uncertainty"], ["adversarial"], ["evidence"], ["uncertainty"]]
    house.check(session)
