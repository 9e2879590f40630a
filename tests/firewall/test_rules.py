"""Every refusal of the lanes' rules, one at a time: what is turned away, where, and that nothing happened."""

from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import ExpireApproval
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.experiments.commands import DesignExperiment, RecordRun, StartRun
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunStarted
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.plan import ExperimentSpec
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import Change
from beliefd.kernel.policy import ApprovalPolicy, ApproverRule, Policy
from beliefd.testing.world import ANN, BOB
from tests.firewall.lab import CODE, Lab, code_of, path_of


def designed(lab: Lab, claim_id: str = "c", body: int = 0) -> str:
    event = lab.designed(claim_id, body)
    assert isinstance(event, ExperimentDesigned)
    return event.experiment.experiment_id


def started(lab: Lab, claim_id: str = "c") -> str:
    event = lab.ask(StartRun(experiment_id=designed(lab, claim_id)), findings=CODE)
    assert isinstance(event, RunStarted)
    return event.run.run_id


def refused(lab: Lab, event: Any, code: str, path: str) -> None:
    assert (code_of(event), path_of(event)) == (code, path)


def test_residue_is_found_behind_the_door_too() -> None:
    """The handler has looked at it before; whoever comes another way meets the same refusal, on record."""
    lab = Lab()
    params = {"values": [1.0], "threshold": 0.5, "direction": "above", "Edge-Cases": ["cold"]}
    spec = ExperimentSpec(claim_id="c", template="threshold_check", params=params)
    event = lab.ask(DesignExperiment(spec=spec), findings=CODE)
    refused(lab, event, "SPECULATIVE_RESIDUE", "$.params.Edge-Cases")


def test_a_plan_with_wrong_parameters_is_refused_by_the_kernel_itself() -> None:
    lab = Lab()
    spec = ExperimentSpec(claim_id="c", template="threshold_check", params={"values": [1.0]})
    event = lab.ask(DesignExperiment(spec=spec), findings=CODE)
    assert code_of(event) == "INVALID_REQUEST"
    assert path_of(event).startswith("$.params")


def test_without_a_template_there_is_no_plan() -> None:
    lab = Lab()
    params = {"claimed_value": 1.0, "observed_values": [1.0]}
    spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params=params)
    refused(lab, lab.ask(DesignExperiment(spec=spec)), "INVALID_REQUEST", "$.template")


def test_what_was_not_planned_cannot_be_run() -> None:
    lab = Lab()
    event = lab.ask(StartRun(experiment_id="exp-none"), findings=CODE)
    refused(lab, event, "EXPERIMENT_NOT_FOUND", "$.experiment_id")


@pytest.mark.parametrize("found", [None, ExperimentFindings(template=CODE.template, code_hash="d" * 64)])
def test_a_plan_is_run_by_the_code_that_it_was_frozen_with_or_not_at_all(
    found: ExperimentFindings | None,
) -> None:
    lab = Lab()
    experiment_id = designed(lab)
    event = lab.ask(StartRun(experiment_id=experiment_id), findings=found)
    refused(lab, event, "CONFLICT", "$.experiment_id")
    assert not lab.state.experiments.runs


def test_a_report_of_no_run_counts_for_nothing() -> None:
    lab = Lab()
    report = lab.report(started(lab))
    event = lab.ask(RecordRun(run_id="run-none", report=report))
    refused(lab, event, "RUN_NOT_FOUND", "$.run_id")


def test_a_run_ends_once() -> None:
    lab = Lab()
    run_id = lab.ran("c")
    event = lab.ask(RecordRun(run_id=run_id, report=lab.report(run_id)))
    refused(lab, event, "CONFLICT", "$.run_id")
    assert len(lab.state.experiments.evidence) == 1


@pytest.mark.parametrize(
    ("member", "other"),
    [("spec_hash", "0" * 64), ("code_hash", "0" * 64), ("template", "bootstrap_ci@1"), ("seed", 99)],
)
def test_a_report_of_another_plan_code_or_seed_is_none_of_this_run(member: str, other: Any) -> None:
    lab = Lab()
    run_id = started(lab)
    report = replace(lab.report(run_id), **{member: other})
    event = lab.ask(RecordRun(run_id=run_id, report=report))
    refused(lab, event, "CONFLICT", f"$.report.{member}")
    assert not lab.state.experiments.evidence


def test_a_report_that_carries_hints_mints_nothing() -> None:
    lab = Lab()
    run_id = started(lab)
    leaked = replace(lab.report(run_id), diagnostics={"context": {"epistemic_status": "speculative"}})
    event = lab.ask(RecordRun(run_id=run_id, report=leaked))
    assert code_of(event) == "SPECULATIVE_EVIDENCE"
    assert not lab.state.experiments.evidence


def test_evidence_counts_for_the_claim_that_was_tested_and_once() -> None:
    lab = Lab()
    run_id = lab.ran("c")
    refused(lab, lab.link("other", run_id, "support"), "CONFLICT", "$.claim_id")
    refused(lab, lab.link("c", "run-none", "support"), "RUN_NOT_FOUND", "$.run_id")
    lab.link("c", run_id, "support")
    refused(lab, lab.link("c", run_id, "support"), "CONFLICT", "$.run_id")
    assert [one.role for one in lab.state.experiments.evidence.values()] == ["support"]


@pytest.mark.parametrize(
    ("outcome", "fragile", "fitting"),
    [
        ("support", False, {"support"}),
        ("support", True, {"support", "undercut"}),
        ("refute", False, {"refute"}),
        ("refute", True, {"refute", "undercut"}),
        ("unresolved", False, {"undercut"}),
        ("unresolved", True, {"undercut"}),
    ],
)
def test_a_role_is_what_the_outcome_makes_of_it(outcome: str, fragile: bool, fitting: set[str]) -> None:
    for role in ("support", "refute", "undercut", "replicate"):
        lab = Lab()
        event = lab.link("c", lab.ran("c", outcome, fragile=fragile), role)
        if role in fitting:
            assert isinstance(event, EvidenceLinked)
            assert event.evidence.role == role
        else:
            refused(lab, event, "NOT_WARRANTED", "$.role")


def test_a_replication_needs_something_else_to_replicate() -> None:
    """The same data with other random numbers are no replication."""
    lab = Lab()
    lab.proposition("c")
    lab.link("c", lab.ran("c", body=1), "support")
    refused(lab, lab.link("c", lab.ran("c", body=1), "replicate"), "NOT_WARRANTED", "$.role")
    replicated = lab.link("c", lab.ran("c", body=2), "replicate")
    assert isinstance(replicated, EvidenceLinked)
    refuting = lab.ran("c", "refute", body=3)
    refused(lab, lab.link("c", refuting, "replicate"), "NOT_WARRANTED", "$.role")


def test_there_is_one_proposition_a_claim_and_a_status_is_reached_once() -> None:
    lab = Lab()
    lab.proposition("c")
    again = lab.stage("create_proposition", "c", statement="again")
    refused(lab, again, "CONFLICT", "$.claim_id")
    same = lab.stage("update_epistemic_status", "c", to_status="unresolved")
    refused(lab, same, "CONFLICT", "$.to_status")
    fork = lab.stage("fork_proposition", "c", statement="s", new_claim_id="c")
    refused(lab, fork, "CONFLICT", "$.new_claim_id")


def test_evidence_of_another_claim_cannot_be_cited() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.proposition("d")
    own, others = lab.evidence("c", body=1).evidence_id, lab.evidence("d", body=2).evidence_id
    event = lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=(own, others))
    refused(lab, event, "NOT_WARRANTED", "$.evidence_ids[1]")


def test_speculation_supersedes_nothing_and_nothing_supersedes_what_is_not_there() -> None:
    lab = Lab()
    change = Change(type="create_claim", claim_id="c", statement="perhaps")
    event = lab.ask(StageIntent(change=change, supersedes="int-1"))
    refused(lab, event, "INVALID_REQUEST", "$.supersedes")
    unknown = lab.stage("create_proposition", "c", statement="s", supersedes="int-none")
    refused(lab, unknown, "INTENT_NOT_FOUND", "$.supersedes")


def test_what_waits_is_superseded_by_who_proposed_it_only() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    change = Change(type="create_proposition", claim_id="c", statement="mine now")
    event = lab.ask(StageIntent(change=change, supersedes=lab.waiting.subject.intent_id), BOB)
    refused(lab, event, "FORBIDDEN", "$.supersedes")
    assert lab.waiting.subject.change.statement == "s"


def test_where_two_must_agree_one_word_carries_nothing_out() -> None:
    two = Policy(approvals=ApprovalPolicy(approvers={"MODIFY": ApproverRule(required=2)}))
    lab = Lab(two)
    lab.stage("create_proposition", "c", statement="s")
    first = lab.decide("APPROVED", ANN)
    assert isinstance(first, ApprovalDecided)
    assert not first.intents
    assert not lab.state.intents.propositions
    lab.decide("APPROVED", BOB)
    assert "c" in lab.state.intents.propositions


def test_an_escalated_intent_waits_under_its_new_item() -> None:
    lab = Lab(Policy(approvals=ApprovalPolicy(on_expiry="escalate")))
    lab.stage("create_proposition", "c", statement="s")
    old = lab.waiting
    lab.clock.advance(8 * 24 * 3600)
    event = lab.ask(ExpireApproval(approval_id=old.approval_id))
    assert isinstance(event, ApprovalClosed)
    intent = lab.state.intents.by_id[old.subject.intent_id]
    assert (intent.state, intent.approval_id) == ("awaiting_approval", lab.waiting.approval_id)
    assert lab.waiting.approval_id != old.approval_id


def test_a_weaker_status_must_be_warranted_too() -> None:
    lab = Lab()
    lab.proposition("c")
    ids = tuple(lab.evidence("c", body=body).evidence_id for body in (1, 2))
    staged = lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    assert isinstance(staged, IntentStaged)
    lab.evidence("c", "refute", body=3)
    event = lab.decide("MODIFIED", to_status="supported")
    refused(lab, event, "NOT_WARRANTED", "$.to_status")
    assert lab.state.intents.by_id[staged.intent.intent_id].state == "awaiting_approval"
