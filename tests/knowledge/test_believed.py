"""Rows of the graph are believed as far as the ledgers of their sessions say the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.designing import bodies_of
from beliefd.kernel.experiments.state import tries_key
from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import LinkRow, NodeRow
from beliefd.ledger.envelope import Sealed
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.memory import MemoryStore
from beliefd.stores.projections import GRAPH
from beliefd.testing.world import AGENT, ONTOLOGY, ROOT, World, quiet
from tests.claims.support import bundle, claim
from tests.knowledge.story import Story, refuted, supported
from tests.knowledge.test_end_to_end import CLAIM, investigated
from tests.steward.test_damaged import damage

FELLING = Eliminate(source_id="s", observation_id="o", eliminated=("disk_full",), justification={})


@pytest.fixture
def house() -> Iterator[World]:
    with World() as opened:
        yield opened


def told(house: World, *stories: Story) -> None:
    for story in stories:
        house.run(lambda story=story: story.write(house.steward.store))  # type: ignore[misc]


def forge(house: World, session_id: str, kind: str, **said: Any) -> None:
    """Let rows of a session say otherwise than its ledger does."""

    async def put() -> None:
        store = house.steward.store
        head = await store.head(session_id)
        rows = {
            replace(row, **said) if isinstance(row, NodeRow) and row.kind == kind else row
            for row in await store.projected(GRAPH, session_id)
        }
        assert await store.replace_projection(session_id, head, GRAPH, rows)

    house.run(put)


def break_ledger(house: World, session_id: str, word: bytes = b"leak", other: bytes = b"lead") -> None:
    entries = house.steward.store._entries[session_id]  # type: ignore[attr-defined]
    first: Sealed = entries[0]
    assert word in first.record
    entries[0] = Sealed(1, first.event_id, first.record.replace(word, other), first.hash)
    house.steward.positions.forget(session_id)


FORGED: dict[str, dict[str, Any]] = {
    "status": {"status": "proven"},
    "no document": {"document": b"{"},
    "another claim": {"claim_id": "d"},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proposition_is_skipped_and_its_session_named(house: World, name: str) -> None:
    story, other = supported("a", 1), refuted("b", 2, "d")
    told(house, story, other)
    forge(house, "a", say.PROPOSITION, **FORGED[name])
    agent = house.person(AGENT)
    page = agent.list_propositions()
    assert [(row.claim_id, row.status, row.sessions) for row in page.propositions] == [("d", "refuted", 1)]
    assert [(one.session_id, "rebuild graph" in one.reason) for one in page.broken] == [("a", True)]
    for ask in (agent.show_proposition, agent.why_proposition):
        with pytest.raises(BeliefdError) as raised:
            ask("c")
        assert ("not believed" in raised.value.message) == ("claim_id" not in FORGED[name])
        assert raised.value.code is Code.PROPOSITION_NOT_FOUND
    assert agent.show_proposition("d").status == "refuted"


def test_a_forged_document_is_not_shown(house: World) -> None:
    told(house, supported("a", 1))
    (row,) = house.run(lambda: house.steward.store.nodes(say.PROPOSITION, ["c"], 9))
    forge(house, "a", say.PROPOSITION, document=row.document.replace(b"connections", b"secret keys"))
    assert house.person(AGENT).list_propositions().propositions == []


def test_forged_evidence_warrants_nothing(house: World) -> None:
    told(house, supported("a", 1))
    before = house.person(AGENT).show_proposition("c")
    assert before.truth_assertion.supporting
    (kind,) = {piece.kind for piece in before.evidence}
    (row,) = house.run(lambda: house.steward.store.nodes(kind, ["c"], 9))
    forge(house, "a", kind, document=row.document.replace(b'"support"', b'"refute"'))
    view = house.person(AGENT).show_proposition("c")
    assert (view.evidence, view.truth_assertion.supporting, view.truth_assertion.refuting) == ([], [], [])
    assert [one.session_id for one in view.broken] == ["a"]


def test_a_link_that_no_event_made_makes_no_evidence(house: World) -> None:
    story = Story("a", 1)
    story.run(story.design("c"))  # before anybody had said what is tested
    story.propose("c")
    told(house, story)
    (piece,) = story.session.experiments.evidence.values()

    async def link() -> None:
        store = house.steward.store
        rows = await store.projected(GRAPH, "a")
        made = LinkRow(say.EVIDENCE_FOR_PROPOSITION, "a", piece.kind, piece.evidence_id, say.PROPOSITION, "c")
        assert await store.replace_projection("a", await store.head("a"), GRAPH, rows | {made})

    assert house.person(AGENT).show_proposition("c").evidence == []
    house.run(link)
    assert house.person(AGENT).show_proposition("c").evidence == []


def test_a_proposition_of_a_broken_session_is_skipped_and_named_and_others_say_what_they_say(
    house: World,
) -> None:
    told(house, supported("a", 1), refuted("b", 2, "c"))
    agent = house.person(AGENT)
    assert agent.show_proposition("c").status == "unresolved"
    break_ledger(house, "a")
    page = agent.list_propositions()
    assert [(row.claim_id, row.status, row.sessions) for row in page.propositions] == [("c", "refuted", 1)]
    view, why = agent.show_proposition("c"), agent.why_proposition("c")
    assert (view.status, why.status) == ("refuted", "refuted")
    assert {step.session_id for step in why.steps} == {"b"}
    for answer in (page, view, why):
        assert [(one.session_id, one.seq) for one in answer.broken] == [("a", 1)]


def test_rows_of_a_session_that_is_not_there_are_named(house: World) -> None:
    told(house, supported("a", 1))
    store: Any = house.steward.store
    (row,) = house.run(lambda: store.nodes(say.PROPOSITION, ["c"], 9))
    store._graph.put([replace(row, session_id="nowhere")])
    page = house.person(ROOT).list_propositions()
    assert [row.sessions for row in page.propositions] == [1]
    assert [one.session_id for one in page.broken] == ["nowhere"]


def test_a_session_that_grows_while_it_is_compared_is_not_called_broken(
    house: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = investigated(house)
    read, grown = MemoryStore.nodes, 0

    async def nodes(self: MemoryStore, kind: str, *asked: Any) -> list[NodeRow]:
        nonlocal grown
        rows = await read(self, kind, *asked)
        if kind == say.PROPOSITION and not grown:  # what was read is old before it is looked at
            grown = 1
            await house.steward.submit(session_id, FELLING, ROOT)
            return [replace(row, status="speculative") for row in rows]
        return rows

    monkeypatch.setattr(MemoryStore, "nodes", nodes)
    page = house.person(AGENT).list_propositions()
    assert grown
    assert ([row.status for row in page.propositions], page.broken) == (["supported"], [])


def test_an_archived_session_says_what_it_said_and_is_named(
    house: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(house, supported("a", 1), refuted("b", 2, "d"))
    store: Any = house.steward.store
    head = house.run(lambda: store.head("a"))
    stub = Archived("a", head, "/far/away", "0" * 64, "2026-01-01T00:00:00.000000Z", ROOT.id, 1)
    read = MemoryStore.head

    async def at(self: MemoryStore, session_id: str) -> Any:
        if session_id == "a":
            raise SessionArchived(stub)
        return await read(self, session_id)

    monkeypatch.setattr(MemoryStore, "head", at)
    agent = house.person(AGENT)
    page = agent.list_propositions()
    assert [row.claim_id for row in page.propositions] == ["c", "d"]
    assert [one.place for one in page.archived] == ["/far/away"]
    view, why = agent.show_proposition("c"), agent.why_proposition("c")
    assert (view.status, len(view.evidence), why.steps) == ("supported", 1, [])
    assert [one.session_id for one in (*view.archived, *why.archived)] == ["a", "a"]


# -- what decisions are built upon -----------------------------------------------------------------------


def planned(house: World) -> Any:
    """An experiment on numbers that this agent may have tested elsewhere."""
    agent = house.person(AGENT)
    session_id = agent.declare_session(["disk_full", "pool_exhausted"], ONTOLOGY).session_id
    seen = agent.observe(session_id, quantity="wait", unit="ms", values=[40.0, 41.0, 39.0])
    body = bodies_of(house.state(session_id).observations.by_id[seen.observation_id])[0]
    tested = NodeRow(say.TESTED_DATA, "a", tries_key(body, AGENT.id), tries_key(body, AGENT.id), "", b"{")
    store: Any = house.steward.store
    store._graph.put([replace(tested, status="many"), replace(tested, session_id="b", status="19")])
    claim = {"claim_id": "wait", "claimed_value": 40.0, "tolerance": 2.0, "observed": [seen.observation_id]}
    return agent.design_experiment(session_id, claim=claim)


def test_forged_tries_use_up_no_alpha_and_hold_nobody_up(house: World) -> None:
    told(house, supported("a", 1), refuted("b", 2, "d"))
    assert planned(house).tries == 1


def test_attempts_are_counted_as_ledgers_say_and_damaged_rows_hold_nobody_up(house: World) -> None:
    agent = house.person(AGENT)
    first, second = investigated(house), agent.declare_session(["a", "b"], ONTOLOGY).session_id
    forge(house, first, say.EXPERIMENT, document=b"{")
    assert agent.design_experiment(second, claim=CLAIM).alpha == 0.05 / (2 * 3)
    break_ledger(house, first, b"disk_full", b"disk_fill")
    third = agent.declare_session(["a", "b"], ONTOLOGY).session_id
    assert agent.design_experiment(third, claim=CLAIM).alpha == 0.05 / (2 * 3), "that of the second session"


def test_rejected_words_are_told_as_ledgers_say_and_damaged_rows_hold_nobody_up() -> None:
    with World(detector=quiet) as house:
        first, second, third = house.session(), house.session(), house.session()
        waiting = house.agent.submit_claims(first, bundle(claim("DELETE", statement="drop it"), id="a"))
        house.ann.reject(waiting, reason="customers use it")

        def said(session_id: str) -> str:
            there = bundle(claim("DELETE", statement="drop it"), id="a")
            return " ".join(house.agent.submit_claims(session_id, there).caveats)

        (row,) = [row for row in graph_of(house, first) if row.kind == say.REJECTED_WORDS]
        forge(house, first, say.REJECTED_WORDS, document=row.document.replace(b"customers", b"nobodies "))
        assert "customers use it" in said(second)
        forge(house, first, say.REJECTED_WORDS, document=b"{")
        assert "customers use it" in said(third)


def graph_of(house: World, session_id: str) -> list[NodeRow]:
    rows = house.run(lambda: house.steward.store.projected(GRAPH, session_id))
    return [row for row in rows if isinstance(row, NodeRow)]


# -- cells of a database that are no text ----------------------------------------------------------------


@pytest.mark.parametrize("column", ["status", "document"])
def test_a_cell_that_is_no_text_hides_no_other_proposition(tmp_path: Path, column: str) -> None:
    file = tmp_path / "beliefd.db"
    with World(file) as house:
        told(house, supported("a", 1), refuted("b", 2, "d"))
    damage(file, f"UPDATE graph_nodes SET {column} = x'ff00' WHERE session_id = 'a'")
    with World(file) as house:
        page = house.person(AGENT).list_propositions()
        assert [row.claim_id for row in page.propositions] == ["d"]
        assert [one.session_id for one in page.broken] == ["a"]
