"""The graph behind a steward at work: real runs, real approvals, a ledger that travels, and all surfaces."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.client import AsyncClient, Client
from beliefd.kernel.errors import BeliefdError
from beliefd.steward.knowledge import export
from beliefd.steward.projections.graph import all_rows
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import AGENT, ANN, ONTOLOGY, ROOT, World, policy
from tests.firewall.data import WAITS, prediction
from tests.firewall.test_observing import RULES, called, opened, ran_on, tools, worded
from tests.knowledge.fake_typedb import FakeDriver
from tests.knowledge.story import refuted, supported
from tests.knowledge.test_typedb import copy_in
from tests.support.server import server_process

CLAIM = {
    "claim_id": "wait",
    "claimed_value": 40.0,
    "observed_values": WAITS,
    "tolerance": 2.0,
    "unit": "ms",
}


@pytest.fixture
def house() -> Iterator[World]:
    with World() as opened:
        yield opened


def believed(house: World, session_id: str, change: dict[str, Any]) -> None:
    agent, ann = house.person(AGENT), house.person(ANN)
    staged = agent.stage_intent(session_id, change)
    assert staged.approval_id is not None
    card = ann.show_approval(staged.approval_id)
    ann.decide_approval(staged.approval_id, "APPROVED", content_hash=card.content_hash)


def investigated(house: World) -> str:
    """A session in which a claim is proposed, tested and supported."""
    agent = house.person(AGENT)
    session_id = agent.declare_session(["disk_full", "pool_exhausted"], ONTOLOGY).session_id
    believed(
        house,
        session_id,
        {
            "type": "create_proposition",
            "claim_id": "wait",
            "statement": "a wait takes 40 ms",
            "prediction": prediction(),
        },
    )
    agent.speculate(session_id, "wait", [{"statement": "a zombie holds the lock"}])
    planned = agent.design_experiment(session_id, claim=CLAIM)
    done = agent.run_experiment(session_id, planned.experiment_id)
    assert done.run_id is not None
    linked = agent.link_evidence(session_id, claim_id="wait", run_id=done.run_id, role="support")
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    believed(house, session_id, {**change, "evidence_ids": [linked.evidence.evidence_id]})
    return session_id


def witnessed(house: World) -> str:
    """The same on numbers that the server itself saw a tool return."""
    agent, session_id = opened(house)
    worded(house, session_id)
    call_id = called(house, session_id, "pool.waits")
    seen = agent.observe(session_id, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
    done = ran_on(house, session_id, seen.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "supported"}
    believed(house, session_id, {**change, "evidence_ids": [done.run.evidence_id]})
    return session_id


def test_what_a_steward_writes_is_what_its_ledger_says(house: World) -> None:
    session_id = investigated(house)
    position = house.run(lambda: house.steward.positions.existing(session_id))
    stored = house.run(lambda: house.steward.store.projected("graph", session_id))
    assert stored == set(all_rows(position.session))
    view = house.person(AGENT).show_proposition("wait")
    assert (view.status, view.truth_assertion.warrants) == ("supported", "supported")
    assert [piece.role for piece in view.evidence] == ["support"]
    assert len(view.speculative_hypotheses) == 1
    told = house.person(AGENT).why_proposition("wait")
    ledger = {event["event_id"] for event in house.person(AGENT).audit_trace(session_id).events}
    assert {step.event_id for step in told.steps} < ledger
    assert told.steps[-1].status == "supported"


def test_an_imported_ledger_brings_its_graph_under_a_mark_and_nothing_in_it_counts_as_witnessed() -> None:
    with World(policy=RULES, registry=tools()) as house:
        session_id = witnessed(house)
        here = house.person(AGENT).show_proposition("wait")
        assert ([piece.label for piece in here.evidence], here.foreign) == (["witnessed"], {})
        assert here.truth_assertion.warrants == "supported"
        exported = house.person(AGENT).export(session_id)
    with World(policy=policy(firewall={"attested": {"supports": "never"}})) as elsewhere:
        elsewhere.person(ROOT).import_ledger(exported, source="a friend")

        def marked() -> None:
            agent = elsewhere.person(AGENT)
            view = agent.show_proposition("wait")
            assert view.status == "supported", "what was believed there is told"
            assert [piece.label for piece in view.evidence] == ["attested"]
            assert view.truth_assertion.warrants == "unresolved"
            assert {one: view.foreign[one].source for one in view.foreign} == {session_id: "a friend"}
            assert list(agent.why_proposition("wait").foreign) == [session_id]
            assert [row.foreign for row in agent.list_propositions().propositions] == [1]
            held = (
                agent.list_evidence(session_id).evidence[0],
                agent.list_experiments(session_id).experiments[0],
                agent.show_experiment(session_id, view.evidence[0].experiment_id),
                (seen := agent.list_observations(session_id).observations[0]),
                agent.show_observation(session_id, seen.observation_id),
            )
            assert [one.label for one in held] == ["attested"] * len(held)
            assert seen.witnesses == []
            (capability,) = agent.list_capabilities(session_id).capabilities
            assert capability.revoked_at is not None

        marked()
        position = elsewhere.run(lambda: elsewhere.steward.positions.existing(session_id))
        assert position.due is not None, "nothing was said in it here"
        copy = FakeDriver()
        elsewhere.run(lambda: export(elsewhere.steward.store, copy_in(copy)))
        documents = [owned.get("document", "") for _, owned in copy.data.things.values()]
        assert not [one for one in documents if '"label":"witnessed"' in one]
        elsewhere.person(AGENT).speculate(session_id, "wait", [{"statement": "the clock is wrong"}])
        marked()
        position = elsewhere.run(lambda: elsewhere.steward.positions.existing(session_id))
        stored = elsewhere.run(lambda: elsewhere.steward.store.projected("graph", session_id))
        assert stored == set(all_rows(position.session))


def test_a_refused_command_leaves_the_graph_as_it_was(house: World) -> None:
    session_id = investigated(house)
    before = house.run(lambda: house.steward.store.projected("graph", session_id))
    change = {"type": "update_epistemic_status", "claim_id": "wait", "to_status": "proven"}
    evidence = house.person(AGENT).show_proposition("wait").evidence[0].evidence_id
    with pytest.raises(BeliefdError, match="not `proven`"):
        house.person(AGENT).stage_intent(session_id, {**change, "evidence_ids": [evidence]})
    assert house.run(lambda: house.steward.store.projected("graph", session_id)) == before


def test_propositions_are_the_same_over_http_for_both_clients(tmp_path: Path) -> None:
    async def prepare() -> None:
        store = await SqliteStore.open(tmp_path / "beliefd.db")
        for story in (supported("a", 1), refuted("b", 2, "d")):
            await story.write(store)
        await store.close()

    async def asked(url: str) -> list[Any]:
        async with AsyncClient(url) as client:
            return [
                await client.list_propositions(),
                await client.list_propositions(status="refuted"),
                await client.show_proposition("c"),
                await client.why_proposition("c"),
            ]

    asyncio.run(prepare())
    with server_process(tmp_path) as process, Client(process.url) as client:
        answers: list[Any] = [
            client.list_propositions(),
            client.list_propositions(status="refuted"),
            client.show_proposition("c"),
            client.why_proposition("c"),
        ]
        assert asyncio.run(asked(process.url)) == answers
    assert [row.claim_id for row in answers[0].propositions] == ["c", "d"]
    assert [row.claim_id for row in answers[1].propositions] == ["d"]
    assert (answers[2].status, answers[3].status) == ("supported", "supported")
