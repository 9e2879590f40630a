"""Why something still stands: what was tried on it, by whom, and what that came to."""

from collections.abc import Iterator
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.protocol.ledger import Tried
from beliefd.testing.world import AGENT, ANN, Person, World, refused
from tests.claims.support import bundle, claim
from tests.firewall.data import WAITS, prediction
from tests.firewall.test_observing import RULES, called, opened, tools

SAID: dict[str, Any] = {"source_id": "s", "observation_id": "o1"}


@pytest.fixture
def house() -> Iterator[World]:
    with World(policy=RULES, registry=tools()) as there:
        yield there


def tried(house: World, session_id: str, name: str = "disk_full") -> list[Tried]:
    return house.why(session_id, name).tried


def worded(house: World, agent: Person, session_id: str) -> None:
    """A proposition whose support would eliminate `disk_full`."""
    change = {
        "type": "create_proposition",
        "claim_id": "wait",
        "statement": "a wait takes 40 ms, give or take 2",
        "prediction": {**prediction(), "eliminates_if_supported": ["disk_full"]},
    }
    staged = agent.stage_intent(session_id, change)
    (waits,) = tried(house, session_id)
    assert (waits.kind, waits.id, waits.actor) == ("prediction", "wait", AGENT.id)
    assert waits.came_to == "its intent is awaiting_approval"
    card = house.ann.show_approval(staged.approval_id or "")
    house.ann.decide_approval(card.approval_id, "APPROVED", content_hash=card.content_hash)


def plan(**data: Any) -> dict[str, Any]:
    return {"claim_id": "wait", "unit": "ms", **data}


def ran(agent: Person, session_id: str, experiment_id: str) -> str:
    run = agent.run_experiment(session_id, experiment_id, wait=True).run
    assert run is not None
    return run.run_id


def link(agent: Person, session_id: str, run_id: str) -> None:
    agent.link_evidence(session_id, claim_id="wait", run_id=run_id, role="support")


def test_a_refused_elimination_was_tried(house: World) -> None:
    agent, session_id = opened(house)
    refused(
        Code.INVALID_HYPOTHESIS_ID,
        lambda: agent.eliminate(session_id, **SAID, eliminated=["disk_full", "zebra"]),
    )
    (one,) = tried(house, session_id)
    assert (one.kind, one.id, one.actor, one.seq) == ("elimination_refused", "o1", AGENT.id, 2)
    assert one.came_to.startswith("INVALID_HYPOTHESIS_ID: not declared")
    assert tried(house, session_id, "pool_exhausted") == []


def test_claims_about_it_were_made(house: World) -> None:
    agent, session_id = opened(house)
    about: dict[str, Any] = {"about": {"hypothesis": "disk_full"}}
    agent.submit_claims(session_id, bundle(claim(kind="INFERENCE", **about), claim(id="c2"), id="b1"))
    card = agent.submit_claims(session_id, bundle(claim("DELETE", **about), id="b2"))
    assert [(one.kind, one.id, one.came_to) for one in tried(house, session_id)] == [
        ("claim", "c1", "PUBLISH"),
        ("claim", "c1", "ESCALATE"),
    ]
    house.ann.approve(card)
    told = tried(house, session_id)
    assert [(one.details["bundle_id"], one.came_to) for one in told] == [("b1", "PUBLISH"), ("b2", "PUBLISH")]


def test_a_test_that_eliminated_nothing_says_why(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, agent, session_id)
    typed = agent.design_experiment(session_id, claim=plan(observed_values=WAITS))
    assert tried(house, session_id)[1].came_to == "it has not been run"
    assert tried(house, session_id)[1].details == {
        "claim_id": "wait",
        "label": "attested",
        "eliminates_if": "supported",
    }
    run_id = ran(agent, session_id, typed.experiment_id)
    assert tried(house, session_id)[1].came_to == "its run came to `support`"
    link(agent, session_id, run_id)
    words, test = tried(house, session_id)
    assert words.came_to == "its proposition is unresolved"
    assert test.came_to.startswith(
        f"its run came to `support`; linked as `support` by {AGENT.id}; nothing fell: its data are attested"
    )
    assert house.why(session_id, "disk_full").survives


def test_a_test_that_eliminated_it_is_testimony(house: World) -> None:
    agent, session_id = opened(house)
    worded(house, agent, session_id)
    seen = called(house, session_id, "pool.waits")
    values = agent.observe(session_id, quantity="wait", unit="ms", call_id=seen, pointer="/waits")
    test = agent.design_experiment(session_id, claim=plan(observed=[values.observation_id]))
    run_id = ran(agent, session_id, test.experiment_id)
    link(agent, session_id, run_id)
    answer = house.why(session_id, "disk_full")
    (word,) = answer.events
    assert (word.label, word.actor, word.applied) == ("witnessed", AGENT.id, True)
    assert [one.kind for one in answer.tried] == ["prediction"]
    by_run = house.why(session_id, "disk_full", source_id=run_id)
    assert (by_run.events, by_run.tried) == ([word], [])
    by_agent = house.why(session_id, "disk_full", principal=AGENT.id)
    assert (by_agent.events, by_agent.tried) == (answer.events, answer.tried)
    assert not house.why(session_id, "disk_full", principal=ANN.id).events
    assert house.query_belief(session_id).rests_on.witnessed == 1
    leavings: list[dict[str, Any]] = [{"without_principals": [AGENT.id]}, {"without_source_ids": [run_id]}]
    for removed in leavings:
        assert house.counterfactual(session_id, **removed).restored == ["disk_full"]
    assert house.counterfactual(session_id, without_attested=True).restored == []
    assert house.counterfactual(session_id, without_principals=[ANN.id]).restored == []
