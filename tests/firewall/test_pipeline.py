"""From an idea to a status and back: the whole way, with real runs, through the library and over HTTP."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from beliefd.experiments import engine
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.experiments.commands import StartRun
from beliefd.ledger.envelope import read
from beliefd.ledger.non_interference import grounded_again, grounded_hash
from beliefd.ledger.replay import fold
from beliefd.ledger.transfer import read_export
from beliefd.testing.world import AGENT, ANN, ONTOLOGY, Person, World
from tests.firewall.data import WAITS, prediction

OBSERVED = WAITS
SPECULATION: dict[str, Any] = {
    "alternatives": [
        {
            "statement": "a zombie connection holds the lock",
            "mechanism": "leaked transaction",
            "prediction": "waits grow with uptime",
        }
    ],
    "analogies": [{"domain": "supermarket queues", "parallel": "one till is closed", "range": [30, 50]}],
    "edge_cases": ["cold cache", "failover under way"],
    "falsification_criteria": ["waits stay flat for a day"],
}


@pytest.fixture
def house() -> Iterator[World]:
    with World() as opened:
        yield opened


@pytest.fixture
def library(house: World) -> Person:
    return house.person(AGENT)


def session_of(library: Person) -> str:
    hypotheses = ["bad_deploy", "disk_full", "pool_exhausted"]
    return library.declare_session(hypotheses, ONTOLOGY).session_id


def claim(claimed: float = 40.0, **more: Any) -> dict[str, Any]:
    return {
        "claim_id": "wait",
        "claimed_value": claimed,
        "observed_values": OBSERVED,
        "tolerance": 2.0,
        "unit": "ms",
        **more,
    }


def witnessed(library: Person, session_id: str, **more: Any) -> dict[str, Any]:
    """The claim on what a person has measured, and for the rest as its proposition predicts it."""
    ann = library.world.person(ANN)
    seen = ann.observe(session_id, quantity="wait", unit="ms", values=OBSERVED)
    return {"claim_id": "wait", "observed": [seen.observation_id], **more}


def approve(library: Person, approval_id: str | None) -> Any:
    assert approval_id is not None
    ann = library.world.person(ANN)
    card = ann.show_approval(approval_id)
    return ann.decide_approval(approval_id, "APPROVED", content_hash=card.content_hash)


def believed(library: Person, session_id: str, change: dict[str, Any]) -> Any:
    staged = library.stage_intent(session_id, change)
    assert staged.state == "awaiting_approval"
    return approve(library, staged.approval_id).intent


def proposed(library: Person, session_id: str, statement: str, value: float = 40.0) -> None:
    change = {
        "type": "create_proposition",
        "claim_id": "wait",
        "statement": statement,
        "prediction": prediction(
            value, eliminates_if_supported=["disk_full"], eliminates_if_refuted=["pool_exhausted"]
        ),
    }
    assert believed(library, session_id, change).state == "executed"


def carried_out(library: Person, session_id: str, **design: Any) -> Any:
    planned = library.design_experiment(session_id, **design)
    return library.run_experiment(session_id, planned.experiment_id)


def without(library: Person, session_id: str) -> tuple[str, str]:
    """Hashes of the grounded state as it is, and without the speculative records."""
    export = read_export(library.export(session_id).splitlines())
    entries = [read(one.record) for one in export.entries]
    whole, bare = fold(export.entries), grounded_again(entries, export.header.policies)
    assert whole is not None
    assert bare is not None
    assert len(whole.session.speculation.ideas) > len(bare.speculation.ideas)
    return grounded_hash(whole.session), grounded_hash(bare)


def test_an_idea_becomes_a_test_and_a_tested_claim_becomes_supported(library: Person) -> None:
    session_id = session_of(library)
    proposed(library, session_id, "a wait takes 40 ms")
    noted = library.speculate(session_id, "wait", SPECULATION["alternatives"])
    assert noted.links.proposition_created == 1
    done = carried_out(
        library,
        session_id,
        claim=witnessed(library, session_id),
        speculation=SPECULATION,
    )
    assert (done.template, done.run.status, done.run.outcome) == (
        "sensitivity_suite@2",
        "completed",
        "support",
    )
    assert not done.run.fragile
    linked = library.link_evidence(session_id, claim_id="wait", run_id=done.run_id, role="support")
    assert linked.applied_eliminated == ["disk_full"]
    assert library.why(session_id, "disk_full").events[0].justification["evidence_id"] == (
        linked.evidence.evidence_id
    )
    change = {
        "type": "update_epistemic_status",
        "claim_id": "wait",
        "to_status": "supported",
        "evidence_ids": [linked.evidence.evidence_id],
    }
    assert believed(library, session_id, change).state == "executed"
    assert library.reproduce_experiment(session_id, done.experiment_id).reproduced
    assert library.verify(session_id).ok
    grounded, bare = without(library, session_id)
    assert grounded == bare


def test_a_claim_that_its_test_contradicts_becomes_refuted(library: Person) -> None:
    session_id = session_of(library)
    library.speculate(session_id, "wait", SPECULATION["alternatives"])
    proposed(library, session_id, "a wait takes 60 ms", 60.0)
    tested = witnessed(library, session_id)
    done = carried_out(library, session_id, claim=tested)
    assert done.run.outcome == "refute"
    linked = library.link_evidence(session_id, claim_id="wait", run_id=done.run_id, role="refute")
    assert linked.evidence.kind == "negative-evidence"
    assert linked.evidence.failure_mode is not None
    assert linked.applied_eliminated == ["pool_exhausted"]
    change = {
        "type": "refute_claim",
        "claim_id": "wait",
        "evidence_ids": [linked.evidence.evidence_id],
    }
    assert believed(library, session_id, change).state == "executed"
    assert library.reproduce_experiment(session_id, done.experiment_id).reproduced
    assert library.verify(session_id).ok
    grounded, bare = without(library, session_id)
    assert grounded == bare


def test_a_fragile_success_stops_there(library: Person) -> None:
    session_id = session_of(library)
    library.speculate(session_id, "wait", SPECULATION["alternatives"])
    proposed(library, session_id, "a wait takes 40 ms")
    # Each value is a bit larger than the one before: they are not independent, and what comes next is larger.
    spec = {
        "claim_id": "wait",
        "template": "bootstrap_ci",
        "params": {"data": sorted(OBSERVED)},
        "criterion": prediction()["criterion"],
        "unit": "ms",
    }
    done = carried_out(library, session_id, spec=spec)
    assert done.run.fragile, done.report
    role = "support" if done.run.outcome == "support" else "undercut"
    linked = library.link_evidence(session_id, claim_id="wait", run_id=done.run_id, role=role)
    assert linked.warrants == "unresolved"
    change = {
        "type": "update_epistemic_status",
        "claim_id": "wait",
        "to_status": "supported",
        "evidence_ids": [linked.evidence.evidence_id],
    }
    with pytest.raises(BeliefdError) as refused:
        library.stage_intent(session_id, change)
    assert refused.value.code == "NOT_WARRANTED"
    assert library.reproduce_experiment(session_id, done.experiment_id).reproduced
    grounded, bare = without(library, session_id)
    assert grounded == bare


def test_no_word_of_a_hint_stands_in_the_ledger(library: Person) -> None:
    session_id = session_of(library)
    planned = library.design_experiment(session_id, claim=claim(), speculation=SPECULATION)
    assert len(planned.informed_by) == 16
    told = library.export(session_id).decode()
    for text in texts(SPECULATION):
        assert text not in told


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


def test_a_run_can_be_watched_and_stopped_and_leaves_no_evidence(library: Person) -> None:
    session_id = session_of(library)
    spec = {
        "claim_id": "wait",
        "template": "model_simulation",
        "params": {
            "model": {"language": "expression", "expression": "x"},
            "inputs": [{"name": "x", "distribution": {"is": "normal", "mean": 0.0, "std": 1.0}}],
            "region": {"region": "ordering", "side": "above", "than": 0.0},
        },
        "criterion": {"region": "probability", "at_least": 0.5},
        "budget": {"seconds": 30, "replicates": 10_000_000},
    }
    planned = library.design_experiment(session_id, spec=spec)
    started: Any = library.run_experiment(session_id, planned.experiment_id, wait=False)
    assert started.run.status == "running"
    assert started.progress is not None
    stopped: Any = library.cancel_experiment(session_id, planned.experiment_id)
    assert stopped.run.status == "cancelled"
    assert library.list_evidence(session_id).evidence == []
    with pytest.raises(BeliefdError) as refused:
        library.link_evidence(session_id, claim_id="wait", run_id=started.run_id or "", role="support")
    assert refused.value.code == "CONFLICT"


def test_the_same_key_runs_an_experiment_once(library: Person) -> None:
    session_id = session_of(library)
    planned = library.design_experiment(session_id, claim=claim())
    first = library.run_experiment(session_id, planned.experiment_id, idempotency_key="k")
    again = library.run_experiment(session_id, planned.experiment_id, idempotency_key="k")
    assert first.run == again.run
    with pytest.raises(BeliefdError) as refused:
        library.run_experiment(session_id, planned.experiment_id)
    assert refused.value.code == "CONFLICT"


def test_a_run_that_nobody_finished_fails_at_its_deadline(house: World, library: Person) -> None:
    """Its process is gone with it: started in the ledger, and never heard of again."""
    session_id = session_of(library)
    planned = library.design_experiment(session_id, claim=claim())
    start = StartRun(experiment_id=planned.experiment_id)
    house.submit(session_id, start, AGENT)
    house.clock.advance(3600)
    assert house.expire() == 1
    shown = library.show_experiment(session_id, planned.experiment_id)
    assert shown.run is not None
    assert (shown.run.status, shown.run.failure) == ("failed", "nobody recorded an outcome in time")
    assert not house.state(session_id).experiments.evidence
    again = library.run_experiment(session_id, planned.experiment_id)
    assert again.run is not None
    assert again.run.status == "completed"


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({}, "INVALID_REQUEST", "$"),
        ({"spec": {"claim_id": "c"}}, "INVALID_REQUEST", "$.spec.template"),
        (
            {"spec": {"claim_id": "c", "template": "tea_leaves", "params": {}}},
            "INVALID_REQUEST",
            "$.spec.template",
        ),
        (
            {"spec": {"claim_id": "c", "template": "threshold_check", "params": {"values": []}}},
            "INVALID_REQUEST",
            "$.spec.params.values",
        ),
        (
            {"spec": {"claim_id": "c", "template": "threshold_check", "params": {"Edge-Cases": ["x"]}}},
            "SPECULATIVE_RESIDUE",
            "$.spec.params.Edge-Cases",
        ),
        ({"claim": claim(), "hints": {"claim_id": "wait"}, "speculation": {}}, "INVALID_REQUEST", "$"),
    ],
)
def test_a_bad_plan_is_refused_with_the_path_and_only_residue_leaves_a_record(
    library: Person, body: dict[str, Any], code: str, path: str
) -> None:
    session_id = session_of(library)
    with pytest.raises(BeliefdError) as refused:
        library.design_experiment(session_id, **body)
    assert (refused.value.code, (refused.value.details or {})["path"]) == (code, path)
    assert library.query_belief(session_id).seq == (2 if code == "SPECULATIVE_RESIDUE" else 1)


def test_answers_are_what_the_protocol_says_they_are(library: Person) -> None:
    session_id = session_of(library)
    done = carried_out(library, session_id, claim=claim())
    plain = msgspec.to_builtins(done)
    assert plain["lane"] == "grounded"
    assert plain["run"]["evidence_id"] == library.list_evidence(session_id).evidence[0].evidence_id


def test_a_run_that_cannot_be_made_again_says_why(library: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another result would look like a forgery; other code of the template is none."""
    session_id = session_of(library)
    done = carried_out(library, session_id, claim=claim(40.0))
    assert library.reproduce_experiment(session_id, done.experiment_id).failure == ""
    monkeypatch.setattr(engine, "code_hash", lambda _: "0" * 64)
    again = library.reproduce_experiment(session_id, done.experiment_id)
    assert (again.reproduced, again.failure) == (False, "the template's code is not the one that was frozen")
