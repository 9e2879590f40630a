"""The graph is a fold: what events write one by one is what the state says as a whole."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.approvals.state import OPEN
from beliefd.kernel.evolve import evolve
from beliefd.kernel.experiments.commands import LinkEvidence, StartRun
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import Change
from beliefd.kernel.speculation.events import ClaimSpeculated, Speculated
from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import GraphRows, LinkRow, merged
from beliefd.knowledge.schema import PLAYS, RELATIONS
from beliefd.steward.projections import PROJECTIONS
from beliefd.steward.projections.graph import all_rows, graph_rows
from beliefd.stores.memory.graph import MemoryGraph
from tests.knowledge.story import Story, refuted, supported

CLAIMS = st.sampled_from(["c1", "c2", "c3"])
LAB = ("speculate", "claim", "design", "start", "run", "link")
BELIEFS = ("create", "promote", "revise", "fork", "quarantine", "metric", "supersede")
WORDS = ("decide", "decide", "lower")
ACTIONS = st.tuples(st.sampled_from((*LAB, *BELIEFS, *WORDS)), CLAIMS, CLAIMS, st.integers(0, 3))


def links_of(rows: GraphRows, relation: str) -> list[LinkRow]:
    return [link for link in rows.links if link.relation == relation]


def test_no_speculative_kind_plays_evidence_in_any_relation() -> None:
    for name, relation in RELATIONS.items():
        for kind in say.SPECULATIVE_KINDS:
            assert (name, "evidence", kind) not in PLAYS
        if relation.first == "evidence":
            assert relation.first_kinds == say.EVIDENCE_KINDS
        if relation.second == "evidence":
            assert relation.second_kinds == say.EVIDENCE_KINDS


def test_a_story_leaves_the_whole_way_from_idea_to_status_in_the_graph() -> None:
    story = supported()
    rows = all_rows(story.session)
    kinds = [row.kind for row in rows.nodes]
    assert {kind: kinds.count(kind) for kind in say.KINDS} == {
        say.SESSION: 1,
        say.PROPOSITION: 1,
        say.EXPERIMENT: 1,
        say.RUN: 1,
        say.TESTED_DATA: 2,
        say.REJECTED_WORDS: 0,
        say.VALIDATION_EVIDENCE: 1,
        say.NEGATIVE_EVIDENCE: 0,
        say.INTENT: 2,
        say.SPECULATIVE_HYPOTHESIS: 2,
        say.SPECULATIVE_CLAIM: 0,
    }
    counts = {name: len(links_of(rows, name)) for name in RELATIONS}
    assert counts == {
        say.EVIDENCE_FOR_PROPOSITION: 1,
        say.EVIDENCE_FROM_RUN: 1,
        say.RUN_OF_EXPERIMENT: 1,
        say.EXPERIMENT_TESTS_PROPOSITION: 1,
        say.INTENT_CHANGES_PROPOSITION: 2,
        say.INTENT_RESTS_ON_EVIDENCE: 1,
        say.INTENT_SUPERSEDES: 0,
        say.PROPOSITION_FORKED_FROM: 0,
        say.SESSION_HAS_PROPOSITION: 1,
        say.SESSION_HAS_SPECULATIVE_HYPOTHESIS: 2,
        say.SESSION_HAS_SPECULATIVE_CLAIM: 0,
        say.HYPOTHESIS_TARGETS_PROPOSITION: 2,
    }


def test_a_node_carries_its_artifact_as_canonical_json_and_the_status_it_has() -> None:
    (row,) = [row for row in all_rows(supported().session).nodes if row.kind == say.PROPOSITION]
    document: dict[str, Any] = json.loads(row.document)
    assert (row.session_id, row.id, row.claim_id, row.status) == ("s", "c", "c", "supported")
    assert document["statement"] == "the pool leaks connections"
    assert document["lane"] == "grounded"


def test_refuting_evidence_is_negative_evidence() -> None:
    rows = all_rows(refuted().session)
    (link,) = links_of(rows, say.EVIDENCE_FOR_PROPOSITION)
    assert link.first_kind == say.NEGATIVE_EVIDENCE


def test_an_idea_without_a_proposition_hangs_on_its_session_only_for_ever() -> None:
    story = Story()
    story.speculate("c", "the clock jumps")
    story.propose("c")
    rows = all_rows(story.session)
    assert len(links_of(rows, say.SESSION_HAS_SPECULATIVE_HYPOTHESIS)) == 1
    assert links_of(rows, say.HYPOTHESIS_TARGETS_PROPOSITION) == []


def test_evidence_that_came_before_its_proposition_is_linked_when_that_appears() -> None:
    story = Story()
    story.evidence("c")
    assert links_of(merged(story.rows), say.EVIDENCE_FOR_PROPOSITION) == []
    story.propose("c")
    rows = merged(story.rows)
    assert len(links_of(rows, say.EVIDENCE_FOR_PROPOSITION)) == 1
    assert len(links_of(rows, say.EXPERIMENT_TESTS_PROPOSITION)) == 1


def test_evidence_is_for_the_proposition_that_said_beforehand_what_is_tested() -> None:
    story = Story()
    story.run(story.design("c"))
    story.propose("c")
    assert links_of(merged(story.rows), say.EVIDENCE_FOR_PROPOSITION) == []
    story.run(story.design("c", 1), "unresolved")
    assert links_of(merged(story.rows), say.EVIDENCE_FOR_PROPOSITION) == [], "it says nothing either way"
    story.run(story.design("c", 2))
    assert len(links_of(merged(story.rows), say.EVIDENCE_FOR_PROPOSITION)) == 1


def test_events_outside_the_firewall_write_nothing() -> None:
    story = Story()
    assert story.rows == [GraphRows()]
    assert all_rows(story.session) == GraphRows()


def test_grounded_rows_are_the_same_without_the_speculative_records() -> None:
    """Law of non-interference, for the graph."""
    story, silent = supported(), Story().session
    for event in story.events[1:]:
        if not isinstance(event, Speculated | ClaimSpeculated):
            silent = evolve(silent, event)
    rows = all_rows(story.session)
    nodes = tuple(row for row in rows.nodes if row.kind not in say.SPECULATIVE_KINDS)
    links = tuple(link for link in rows.links if "speculative" not in link.relation)
    assert len(nodes) < len(rows.nodes)
    assert all_rows(silent) == GraphRows(nodes, links)


def _act(story: Story, action: str, claim: str, other: str, number: int) -> None:
    if action in LAB:
        _work(story, action, claim, number)
    elif action in BELIEFS:
        _wish(story, action, claim, other, number)
    if action in WORDS or (action in BELIEFS and number < 2):
        for approval in [one for one in story.session.approvals.by_id.values() if one.status in OPEN]:
            if action == "lower":
                story.decide(approval.approval_id, "MODIFIED", to_status="supported")
            else:
                word = ("APPROVED", "APPROVED", "REJECTED", "DEFERRED")[number]
                story.decide(approval.approval_id, word)


def _work(story: Story, action: str, claim: str, number: int) -> None:
    session = story.session
    if action == "speculate":
        story.speculate(claim, *(f"idea {n}" for n in range(number + 1)))
    elif action == "claim":
        _stage(story, "create_claim", claim, statement="words")
    elif action == "design":
        story.design(claim, number)
    elif action == "start" and session.experiments.by_id:
        story.ask(
            StartRun(experiment_id=sorted(session.experiments.by_id)[number % len(session.experiments.by_id)])
        )
    elif action == "run":
        outcome: Any = ("support", "refute", "unresolved", "support")[number]
        story.run(story.design(claim, number), outcome, fragile=number == 3)
    elif action == "link":
        for run_id, run in sorted(session.experiments.runs.items()):
            role: Any = (run.outcome, run.outcome, "undercut", "replicate")[number]
            if role in ("support", "refute", "undercut", "replicate"):
                story.ask(LinkEvidence(claim_id=claim, run_id=run_id, role=role))


def _wish(story: Story, action: str, claim: str, other: str, number: int) -> None:
    if action == "create":
        _stage(story, "create_proposition", claim, statement="words")
    elif action == "promote":
        status = ("supported", "refuted", "proven", "unresolved")[number]
        names = story.session.experiments.by_claim.get(claim, ())
        _stage(story, "update_epistemic_status", claim, to_status=status, evidence_ids=names)
    elif action == "revise":
        _stage(story, "revise_proposition", claim, statement=f"other words {number}")
    elif action == "fork":
        _stage(story, "fork_proposition", claim, statement="branched", new_claim_id=other)
    elif action == "quarantine":
        _stage(story, "quarantine_proposition", claim)
    elif action == "metric":
        _stage(story, "record_metric", claim, values={"n": number})
    elif action == "supersede":
        for old in [one for one in story.session.intents.by_id.values() if one.state == "awaiting_approval"]:
            story.ask(StageIntent(change=old.change, supersedes=old.intent_id))


def _stage(story: Story, kind: Any, claim: str, **rest: Any) -> None:
    story.ask(StageIntent(change=Change(type=kind, claim_id=claim, **rest)))


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_rows_written_event_by_event_are_the_rows_of_the_state(actions: list[tuple[Any, ...]]) -> None:
    """INVARIANT: the read model cannot disagree with the ledger, whatever happens in which order."""
    story, graph = Story(), MemoryGraph()
    story.evidence("c1")
    story.propose("c1")
    for rows in story.rows:
        graph.put(rows)
    for action in actions:
        before = len(story.events)
        _act(story, *action)
        for rows in story.rows[before:]:
            graph.check(tuple(rows))
            graph.put(rows)
        assert set(graph.rows) == set(all_rows(story.session))
        for one in PROJECTIONS:
            assert set(story.projected[one.name].values()) == set(one.all_rows(story.session))


def test_rows_are_a_function_of_event_and_state() -> None:
    story = supported()
    assert graph_rows(story.events[-1], story.session) == story.rows[-1]
