"""What an elimination cites gives it its label, by the rule of observations; policy may ask for a witness."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import Citation, Eliminate
from beliefd.kernel.beliefs.events import Eliminated
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.policy import AttestedPolicy, BeliefPolicy, EliminationPolicy, FirewallPolicy, Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.replay import fold
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.testing.world import AGENT, ANN, BOB, ENCODER, OTHER_AGENT, World, refused
from tests.conformance.node import verify_with_node
from tests.firewall.lab import FELLING, Lab, code_of, path_of
from tests.firewall.test_observing import RULES, called, opened, tools
from tests.ledger.ledgers import edited, joined, parts, relinked

STRICT = BeliefPolicy(eliminations=EliminationPolicy(require="witnessed"))
SAID: dict[str, Any] = {"source_id": "s", "observation_id": "o"}


def eliminating(*cites: Citation, name: str = "aether") -> Eliminate:
    said = Eliminate(**SAID, eliminated=(name,), justification={})
    return replace(said, cites=cites) if cites else said


def label_of(event: Event) -> Any:
    assert isinstance(event, Eliminated), event
    return event.label or "attested"


# ---- by the rule of observations -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("brought", "who", "label"),
    [
        (ENCODER, AGENT, "witnessed"),
        (ANN, AGENT, "witnessed"),
        (ANN, BOB, "witnessed"),
        (ANN, ANN, "attested"),
        (OTHER_AGENT, AGENT, "attested"),
        (AGENT, ANN, "attested"),
    ],
    ids=str,
)
def test_an_observation_is_a_witness_for_all_but_who_brought_it(
    brought: Principal, who: Principal, label: str
) -> None:
    lab = Lab()
    name = lab.observed(1, brought=brought)
    assert label_of(lab.ask(eliminating(Citation(observation=name)), who)) == label
    assert lab.state.beliefs.witnessed == (label == "witnessed")
    folded = fold(lab.entries)
    assert folded is not None
    assert folded.session.beliefs.witnessed == lab.state.beliefs.witnessed


def test_a_run_has_the_label_of_its_data_and_none_for_who_brought_them() -> None:
    lab = Lab()
    lab.observed(1, brought=ANN)
    seen, typed = lab.ran("c", body=1), lab.ran("c", body=2, typed=True)
    for run, who, label in (
        (seen, AGENT, "witnessed"),
        (seen, BOB, "witnessed"),
        (seen, ANN, "attested"),
        (typed, AGENT, "attested"),
        (typed, ANN, "attested"),
    ):
        assert label_of(lab.ask(eliminating(Citation(run=run)), who)) == label, (who.id, run == seen)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("call", "NOT_FOUND"), ("observation", "OBSERVATION_NOT_FOUND"), ("run", "RUN_NOT_FOUND")],
)
def test_what_is_not_there_cannot_be_cited(kind: str, code: str) -> None:
    lab = Lab()
    there = Citation(observation=lab.observed(1))
    event = lab.ask(eliminating(there, Citation(**{kind: "nothing"})))
    assert (code_of(event), path_of(event)) == (code, f"$.cites[1].{kind}")
    assert lab.state.beliefs.eliminations == 0


def test_a_run_that_came_to_nothing_cannot_be_cited() -> None:
    lab = Lab()
    event = lab.ask(eliminating(Citation(run=lab.ran("c", status="failed"))))
    assert (code_of(event), path_of(event)) == ("CONFLICT", "$.cites[0].run")


@settings(max_examples=30)
@given(st.lists(st.sampled_from([ENCODER, ANN, AGENT, OTHER_AGENT]), min_size=1, max_size=6), st.data())
def test_labels_join_and_another_citation_never_lifts_one(brought: list[Principal], data: Any) -> None:
    lab = Lab()
    cites = [Citation(observation=lab.observed(at, brought=one)) for at, one in enumerate(brought)]
    who = data.draw(st.sampled_from([AGENT, ANN]))
    labels = [label_of(lab.ask(eliminating(*cites[:n]), who)) for n in range(1, len(cites) + 1)]
    assert labels == sorted(labels, reverse=True), "witnessed until the first that is attested"
    alone = [label_of(lab.ask(eliminating(one), who)) for one in cites]
    assert (labels[-1] == "witnessed") == (set(alone) == {"witnessed"})


# ---- calls ---------------------------------------------------------------------------------------


@pytest.fixture
def house() -> Iterator[World]:
    with World(policy=RULES, registry=tools()) as there:
        yield there


def citing(who: Any, session_id: str, call_id: str) -> Any:
    return who.eliminate(session_id, **SAID, eliminated=["disk_full"], cites=[{"call": call_id}])


def test_the_server_is_the_witness_of_a_call_that_it_made(house: World) -> None:
    agent, session_id = opened(house)
    answer = citing(agent, session_id, called(house, session_id, "pool.waits"))
    assert (answer.label, answer.snapshot.rests_on.witnessed) == ("witnessed", 1)
    house.check(session_id)


@pytest.mark.parametrize("said", [{"waits": [1.5, 2.5, 3.5]}, {"note": "the disk is fine"}], ids=str)
def test_a_result_that_says_back_what_agents_put_in_is_attested(house: World, said: dict[str, Any]) -> None:
    agent, session_id = opened(house)
    assert citing(agent, session_id, called(house, session_id, "echo", **said)).label == "attested"
    called(house, session_id, "keep", **said)
    assert citing(agent, session_id, called(house, session_id, "kept")).label == "attested"
    house.check(session_id)


def test_numbers_that_agents_put_in_are_no_better_for_a_note_beside_them(house: World) -> None:
    agent, session_id = opened(house)
    dressed = called(house, session_id, "dressed", waits=[1.5, 2.5, 3.5])
    assert citing(agent, session_id, dressed).label == "attested"


def test_a_call_without_a_result_cannot_be_cited(house: World) -> None:
    agent, session_id = opened(house)
    broken = called(house, session_id, "broken")
    error = refused(Code.CONFLICT, lambda: citing(agent, session_id, broken))
    assert (error.details or {})["path"] == "$.cites[0].call"


def test_nobody_says_beside_a_citation_what_the_server_has_seen(house: World) -> None:
    """A call that is cited in a batch, or on a state that is known, is looked up like any other."""
    agent, session_id = opened(house)
    echo, seen = called(house, session_id, "echo", n="x"), called(house, session_id, "pool.waits")
    lines = [
        {"verb": "ELIMINATE", **SAID, "eliminated": [], "justification": {}, "cites": [{"call": name}]}
        for name in (echo, seen)
    ]
    answers = agent.batch(session_id, lines)
    assert [answer["label"] for answer in answers] == ["attested", "witnessed"]


# ---- policy --------------------------------------------------------------------------------------


def test_policy_may_take_witnessed_eliminations_only() -> None:
    lab = Lab(Policy(beliefs=STRICT))
    refusals = [eliminating(), eliminating(Citation(observation=lab.observed(1, brought=AGENT)))]
    for command in refusals:
        event = lab.ask(command)
        assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", "$.cites")
    assert lab.state.beliefs.eliminations == 0
    assert label_of(lab.ask(eliminating(Citation(observation=lab.observed(2))))) == "witnessed"


def test_such_a_policy_lets_attested_evidence_eliminate_nothing_either() -> None:
    attested = AttestedPolicy(supports="as_witnessed", eliminates=True)
    lenient = FirewallPolicy(attested=attested)
    for beliefs, fell in ((BeliefPolicy(), ("aether",)), (STRICT, ())):
        lab = Lab(Policy(beliefs=beliefs, firewall=lenient))
        lab.proposition("c", FELLING)
        run_id = lab.ran(
            "c", typed=True, eliminates_if_supported=("aether",), eliminates_if_refuted=("caloric",)
        )
        linked = lab.link("c", run_id, "support")
        assert isinstance(linked, EvidenceLinked)
        assert linked.eliminated == fell
        assert bool(linked.withheld) == (not fell)
        assert lab.state.beliefs.witnessed == 0


def test_what_falls_by_witnessed_evidence_rests_on_a_witness() -> None:
    lab = Lab()
    lab.proposition("c", FELLING)
    lab.clock.advance(60)
    lab.evidence("c", eliminates_if_supported=("aether",), eliminates_if_refuted=("caloric",))
    assert (lab.state.beliefs.eliminations, lab.state.beliefs.witnessed) == (1, 1)


# ---- in the ledger -------------------------------------------------------------------------------


def test_a_citation_names_exactly_one_thing() -> None:
    for given_ in ({}, {"call": "c", "run": "r"}, {"call": "c", "observation": "o", "run": "r"}):
        with pytest.raises(ValueError, match="exactly one"):
            Citation(**given_)


def test_without_citations_a_ledger_is_byte_for_byte_what_it_was() -> None:
    lab = Lab()
    lab.ask(eliminating())
    (entry,) = (one for one in parts(lab.export)[1] if one["verb"] == "ELIMINATE")
    assert set(entry["payload"]) == {"source_id", "observation_id", "eliminated", "justification"}
    assert set(entry["delta"]) == {"kind", "eliminated", "ignored"}
    assert "facts" not in entry


def test_node_folds_and_hashes_what_is_witnessed(house: World) -> None:
    agent, session_id = opened(house)
    replica = house.export(session_id)
    seen = called(house, session_id, "pool.waits")
    citing(agent, session_id, seen)
    with World() as elsewhere:
        elsewhere.import_ledger(replica)
        typed = elsewhere.ann.observe(session_id, quantity="q", values=[1.0]).observation_id
        elsewhere.agent.eliminate(
            session_id, **SAID, eliminated=["pool_exhausted"], cites=[{"observation": typed}]
        )
        merged = house.merge(session_id, elsewhere.export(session_id))
    assert merged.snapshot.rests_on.witnessed == 2
    conclude = {"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"}
    agent.batch(session_id, [conclude] * STATE_HASH_EVERY)
    export = house.export(session_id)
    header, entries = parts(export)
    assert any("state_hash" in entry for entry in entries)
    assert verify_with_node(export) == (0, f"ok {len(entries)} events, head {header['head']['hash']}")
    house.forget()
    assert house.state(session_id).beliefs.witnessed == 2
    house.check(session_id)


def test_a_forged_label_is_found_out(house: World) -> None:
    """The second language cannot tell, because it does not decide again; the first one can."""
    agent, session_id = opened(house)
    agent.eliminate(session_id, **SAID, eliminated=["disk_full"])
    header, entries = parts(house.export(session_id))

    def lifted(entry: dict[str, Any]) -> dict[str, Any]:
        return {**entry, "delta": {**entry["delta"], "label": "witnessed"}}

    forged = joined(*relinked(header, edited(entries, 2, lifted), 2))
    with World() as elsewhere:
        error = refused(Code.LEDGER_BROKEN, lambda: elsewhere.import_ledger(forged))
    assert (error.details or {})["seq"] == 2
