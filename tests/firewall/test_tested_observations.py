"""Tests on observations through the library: what could have been picked, what a person sees, what fell."""

import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from beliefd.cli.views.drawing import view
from beliefd.kernel.errors import BeliefdError
from beliefd.testing.world import AGENT, ANN, ENCODER, World
from tests.firewall.data import WAITS, prediction
from tests.firewall.test_observing import OTHER, called, house, opened, ran_on, worded

__all__ = ["house"]


def test_the_card_of_a_status_shows_all_that_a_person_weighs(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    call_id = called(house, session_id, "pool.waits")
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
    witnessed = ran_on(house, session_id, seen.observation_id)
    typed = agent.observe(session_id, quantity="wait", unit="ms", values=[60.0 + value for value in WAITS])
    against = ran_on(house, session_id, typed.observation_id)
    assert (witnessed.run.outcome, against.run.outcome) == ("support", "refute")
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    staged = agent.stage_intent(session_id, {**change, "evidence_ids": [witnessed.run.evidence_id]})
    card = house.person(ANN).show_approval(staged.approval_id or "").proposition
    assert card is not None
    assert (card.statement, card.status, card.to_status) == ("a wait takes 40 ms", "unresolved", "supported")
    assert card.prediction is not None
    assert card.prediction.quantity == "wait"
    assert (card.attempts, card.runs_in_all, card.warrants) == (2, 2, "supported")
    first, second = card.runs
    assert (first.outcome, first.label, first.failed_checks, first.counts) == (
        "support",
        "witnessed",
        [],
        True,
    )
    assert first.where == [
        f"call {call_id}: the server saw its result; at `/waits`; `pool.waits` was asked {{}}"
    ]
    assert (second.outcome, second.label) == ("refute", "attested")
    assert second.where == [f"numbers typed by {AGENT.id}"]
    assert first.picture is not None
    assert sum(first.picture.counts) == len(WAITS)
    assert (first.picture.region_low, first.picture.region_high) == (38.0, 42.0)
    assert f"numbers typed by {AGENT.id}" in card.doubts


def test_results_that_a_plan_leaves_out_count_like_tests(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    names = []
    for number in range(5):
        call_id = called(house, session_id, "noisy", number=number)
        seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
        assert seen.label == "witnessed"
        names.append(seen.observation_id)
    called(house, session_id, "pool.waits")  # another tool is another matter, and so is another agent
    called(house, session_id, "noisy", OTHER, number=77)
    picked = agent.design_experiment(session_id, claim={"claim_id": "wait", "observed": names[:1]})
    assert (picked.left_out, picked.tries, picked.alpha) == (4, 1, 0.05 / (5 * 6))
    all_of_it = agent.design_experiment(session_id, claim={"claim_id": "wait", "observed": names})
    assert (all_of_it.left_out, all_of_it.alpha) == (0, 0.05 / (2 * 3))


@pytest.mark.parametrize(
    ("document", "asked", "choices"),
    [
        ([1.5, 2.5], {}, 1),
        ({"a": [1.5, 2.5], "b": [3.5], "name": "x", "on": [True]}, {"pointer": "/a"}, 2),
        ({"a": 1.5, "b": 2.5, "c": {"d": 3.5}}, {"pointer": "/c/d"}, 3),
        ([{"a": 1.5, "b": 2.5}, {"a": 3.5, "b": 4.5}], {"each": "/a"}, 2),
        ({"rows": [{"a": {"x": 1.5}, "t": "monday"}]}, {"pointer": "/rows", "each": "/a/x"}, 1),
        ({f"c{n}": [1.5 + n, 2.5] for n in range(125)}, {"pointer": "/c7"}, 125),
        ([[1.5, 2.5], [3.5, 4.5]], {"pointer": "/1"}, 4),
    ],
    ids=str,
)
def test_who_may_choose_among_lists_tests_them_all(
    house: World, document: Any, asked: dict[str, Any], choices: int
) -> None:
    agent, session_id = opened(house)
    sha256 = house.person(ENCODER).store_content(msgspec.json.encode(document)).sha256
    seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256, **asked)
    assert seen.choices == choices
    claim = {"claim_id": "wait", "claimed_value": 2.0, "observed": [seen.observation_id]}
    planned = agent.design_experiment(session_id, claim=claim)
    assert planned.alpha == 0.025 / choices


def test_columns_of_numbers_are_choices_and_names_are_not(house: World) -> None:
    agent, session_id = opened(house)
    content = b"host,wait,load,note\ndb1,39.2,0.5,x\ndb2,41.0,0.7,y\n"
    sha256 = house.person(ENCODER).store_content(content).sha256
    seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256, column="wait")
    assert seen.choices == 2


def test_the_same_bytes_in_another_session_get_no_fresh_alpha(house: World) -> None:
    sha256 = house.person(ENCODER).store_content(msgspec.json.encode(WAITS)).sha256
    alphas = []
    for number in range(4):
        agent, session_id = opened(house)
        seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256)
        claim = {"claim_id": f"wait{number}", "claimed_value": 40.0, "observed": [seen.observation_id]}
        planned = agent.design_experiment(session_id, claim=claim)
        assert planned.tries == number + 1
        alphas.append(planned.alpha)
    assert sum(alphas) < 0.05
    for values, tries in ((WAITS, 5), (WAITS[:30], 2)):
        typed = agent.observe(session_id, quantity="wait", unit="ms", values=values)
        claim = {"claim_id": "typed", "claimed_value": 40.0, "observed": [typed.observation_id]}
        assert agent.design_experiment(session_id, claim=claim).tries == tries


@pytest.mark.parametrize(
    ("criterion", "template"),
    [
        ({"region": "ordering", "side": "below", "than": 45.0}, "threshold_check"),
        ({"region": "ordering", "side": "above", "than": 35.0}, "threshold_check"),
        ({"region": "interval", "low": 35.0, "high": 45.0}, "bootstrap_ci"),
        ({"region": "tolerance", "value": 40.0, "tolerance": 5.0}, "numeric_consistency"),
    ],
)
@pytest.mark.parametrize("hints", [False, True])
@pytest.mark.parametrize("bounds", [None, [30.0, 50.0]])
def test_a_claim_is_tested_for_what_it_predicts_whichever_kind_of_region_that_is(
    house: World, criterion: dict[str, Any], template: str, hints: bool, bounds: list[float] | None
) -> None:
    agent, session_id = opened(house)
    change = {"type": "create_proposition", "claim_id": "wait", "statement": "so long"}
    predicted = {"quantity": "wait", "unit": "ms", "criterion": criterion, "bounds": bounds}
    staged = agent.stage_intent(session_id, {**change, "prediction": predicted})
    ann = house.person(ANN)
    ann.decide_approval(staged.approval_id or "", "APPROVED", content_hash=staged.content_hash or "")
    seen = ann.observe(session_id, quantity="wait", unit="ms", values=WAITS)
    ideas = {"edge_cases": ["a cold cache"]} if hints else None
    claim = {"claim_id": "wait", "observed": [seen.observation_id]}
    planned = agent.design_experiment(session_id, claim=claim, speculation=ideas)
    assert planned.template.partition("@")[0] == ("sensitivity_suite" if hints else template)
    assert (planned.label, planned.revision) == ("witnessed", 1)
    ran = agent.run_experiment(session_id, planned.experiment_id).run
    assert ran is not None
    assert ran.outcome == "support"


def test_the_same_claim_in_another_session_gets_no_fresh_alpha(house: World) -> None:
    alphas = []
    for number in range(3):
        agent, session_id = opened(house)
        seen = house.person(ANN).observe(
            session_id, quantity="wait", unit="ms", values=[value + number for value in WAITS]
        )
        claim = {"claim_id": "wait", "claimed_value": 40.0, "observed": [seen.observation_id]}
        alphas.append(agent.design_experiment(session_id, claim=claim).alpha)
    assert alphas == [0.05 / 2, 0.05 / 6, 0.05 / 12]


def test_a_status_that_fell_is_told_with_its_reason_wherever_one_looks(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    ann = house.person(ANN)
    first = ann.observe(session_id, quantity="wait", unit="ms", values=WAITS)
    ran = ran_on(house, session_id, first.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    staged = agent.stage_intent(session_id, {**change, "evidence_ids": [ran.run.evidence_id]})
    ann.decide_approval(staged.approval_id or "", "APPROVED", content_hash=staged.content_hash or "")
    other = house.person(ENCODER).observe(
        session_id, quantity="wait", unit="ms", values=[value + 20 for value in WAITS]
    )
    assert ran_on(house, session_id, other.observation_id).run.outcome == "refute"
    view = agent.show_proposition("wait")
    assert view.status == "unresolved"
    assert [piece.linked_by for piece in view.evidence] == [None, None], "nobody had to link anything"
    (holding,) = view.sessions
    assert "it was supported" in holding.fell
    assert holding.prediction is not None
    step = agent.why_proposition("wait").steps[-1]
    assert (step.event, step.status) == ("run_recorded", "unresolved")
    assert "it was supported" in step.said
    for shown in (view, agent.why_proposition("wait")):
        text = drawn(shown)
        assert "it was supported" in text
    assert "predicts wait is 40 ms, give or take 2" in drawn(view)


def drawn(answer: Any) -> str:
    from rich.console import Console

    console = Console(width=400, record=True, file=io.StringIO())
    console.print(view(answer))
    return console.export_text()


def test_a_person_sees_the_prediction_that_he_is_about_to_fix(house: World) -> None:
    agent, session_id = opened(house)
    change = {"type": "create_proposition", "claim_id": "wait", "statement": "a wait takes 40 ms"}
    for more, words in (
        ({"prediction": prediction(value=1e9)}, "predicts wait is 1e+09 ms, give or take 2"),
        ({}, "predicts nothing that could be tested"),
    ):
        staged = agent.stage_intent(session_id, {**change, **more})
        card = house.person(ANN).show_approval(staged.approval_id or "")
        assert words in drawn(card)
        assert "can test them" in card.on_approval


def test_an_error_says_what_was_predicted(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    seen = house.person(ANN).observe(session_id, quantity="wait", unit="ms", values=WAITS)
    claim = {"claim_id": "wait", "claimed_value": 41.0, "observed": [seen.observation_id]}
    with pytest.raises(BeliefdError, match=r'predicts \{"region":"tolerance","tolerance":2,"value":40\}'):
        agent.design_experiment(session_id, claim=claim)
    with pytest.raises(BeliefdError) as unknown:
        agent.design_experiment(session_id, claim={"claim_id": "wait", "observed": ["obs-none"]})
    assert (unknown.value.details or {})["path"] == "$.claim.observed[0]"


def test_plans_of_one_principal_are_frozen_one_after_the_other(house: World) -> None:
    sha256 = house.person(ENCODER).store_content(msgspec.json.encode(WAITS)).sha256
    plans = []
    for _ in range(6):
        agent, session_id = opened(house)
        seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256)
        claim = {"claim_id": session_id, "claimed_value": 40.0, "observed": [seen.observation_id]}
        plans.append((session_id, claim))
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda plan: agent.design_experiment(plan[0], claim=plan[1]).tries, plans))
    assert sorted(done) == [1, 2, 3, 4, 5, 6]


def test_a_list_of_the_inbox_comes_without_what_takes_long_to_draw(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    seen = house.person(ANN).observe(session_id, quantity="wait", unit="ms", values=WAITS)
    ran = ran_on(house, session_id, seen.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    staged = agent.stage_intent(session_id, {**change, "evidence_ids": [ran.run.evidence_id]})
    (listed,) = house.person(ANN).list_approvals().approvals
    assert listed.proposition is None
    assert house.person(ANN).show_approval(staged.approval_id or "").proposition is not None


def test_a_settled_change_of_status_keeps_its_claim_and_what_was_tested(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    seen = house.person(ANN).observe(session_id, quantity="wait", unit="ms", values=WAITS)
    ran = ran_on(house, session_id, seen.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    staged = agent.stage_intent(session_id, {**change, "evidence_ids": [ran.run.evidence_id]})
    name, ann = staged.approval_id or "", house.person(ANN)
    waiting = ann.show_approval(name)
    assert "open until" in drawn(waiting)
    ann.decide_approval(name, "REJECTED", content_hash=waiting.content_hash)
    ran_on(house, session_id, seen.observation_id)  # what comes later is none of what was decided on
    settled = ann.show_approval(name)
    assert settled.status == "rejected"
    assert settled.proposition is not None
    assert settled.proposition == waiting.proposition
    shown = drawn(settled)
    assert "a wait takes 40 ms" in shown
    assert "as it stood when it was asked for" in shown
    assert "open until" not in shown


def test_data_that_do_not_fit_cannot_be_kept_out_by_declaring_that_there_are_none(house: World) -> None:
    agent, session_id = opened(house)
    ann = house.person(ANN)
    change = {"type": "create_proposition", "claim_id": "wait", "statement": "so long"}
    staged = agent.stage_intent(session_id, {**change, "prediction": prediction(bounds=[30.0, 51.0])})
    ann.decide_approval(staged.approval_id or "", "APPROVED", content_hash=staged.content_hash or "")
    beyond = ann.observe(session_id, quantity="wait", unit="ms", values=[value + 20 for value in WAITS])
    planned = agent.design_experiment(
        session_id, claim={"claim_id": "wait", "observed": [beyond.observation_id]}
    )
    assert "bounds" not in planned.spec.params
    ran = agent.run_experiment(session_id, planned.experiment_id).run
    assert ran is not None
    assert (ran.outcome, ran.fragile) == ("refute", False)


def test_a_call_that_says_back_what_it_was_told_confirms_no_memory(house: World) -> None:
    agent, session_id = opened(house)
    entry = {"memory_id": "m", "kind": "fact", "value": "the disk is full", "confidence": 0.9}
    for tool_id, confirms in (("echo", False), ("pool.waits", True)):
        called(house, session_id, tool_id, said="the disk is full")
        event_id = agent.audit_trace(session_id).events[-1]["event_id"]
        asked = {**entry, "confirmed_by_event_id": event_id}
        if confirms:
            assert agent.remember(session_id, asked).memory.confirmed
        else:
            with pytest.raises(BeliefdError):
                agent.remember(session_id, asked)


def test_a_card_warns_of_a_status_that_evidence_no_longer_warrants_and_says_what_a_yes_came_to(
    house: World,
) -> None:
    agent, session_id = opened(house)
    worded(house, session_id)
    near = agent.observe(session_id, quantity="wait", unit="ms", values=WAITS)
    support = ran_on(house, session_id, near.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    staged = agent.stage_intent(session_id, {**change, "evidence_ids": [support.run.evidence_id]})
    name = staged.approval_id or ""
    assert house.person(ANN).show_approval(name).cannot_run is None
    far = agent.observe(session_id, quantity="wait", unit="ms", values=[60.0 + value for value in WAITS])
    assert ran_on(house, session_id, far.observation_id).run.outcome == "refute"
    card = house.person(ANN).show_approval(name)
    assert "not `supported`" in str(card.cannot_run)
    assert "not `supported`" in card.on_approval
    decided = house.person(ANN).approve(card)
    assert decided.intent is not None
    assert decided.intent.state == "failed"
    assert str(decided.approval.came_to).startswith("approved, and it was not made: ")
    house.check(session_id)
