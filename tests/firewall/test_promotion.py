"""What evidence warrants, and how a status moves: by an intent that was carried out, and by nothing else."""

import pytest
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval, WithdrawApproval
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.warrant import counted
from beliefd.kernel.policy import FirewallPolicy, Policy
from beliefd.kernel.speculation.events import ClaimSpeculated
from beliefd.steward.projections.inbox import inbox_rows
from beliefd.testing.world import AGENT, ANN, BOB
from tests.firewall.lab import PREDICTION, Lab, code_of, path_of

AUTOMATIC = Policy(
    firewall=FirewallPolicy(automatic=("create_proposition", "update_epistemic_status", "refute_claim"))
)
Piece = tuple[str, str, int, bool]
"""Outcome, role, body of data, fragile."""
S1: Piece = ("support", "support", 1, False)
S2: Piece = ("support", "support", 2, False)
SAME: Piece = ("support", "support", 1, False)
R1: Piece = ("refute", "refute", 3, False)
U1: Piece = ("unresolved", "undercut", 4, False)
FRAGILE_S: Piece = ("support", "support", 5, True)
FRAGILE_R: Piece = ("refute", "refute", 6, True)


@pytest.mark.parametrize(
    ("pieces", "warranted"),
    [
        ((), "unresolved"),
        ((S1,), "supported"),
        ((S1, SAME), "supported"),
        ((S1, S2), "proven"),
        ((R1,), "refuted"),
        ((S1, R1), "unresolved"),
        ((S1, S2, R1), "unresolved"),
        ((S1, U1), "unresolved"),
        ((R1, U1), "unresolved"),
        ((FRAGILE_S,), "unresolved"),
        ((FRAGILE_S, FRAGILE_R), "unresolved"),
        ((FRAGILE_R,), "unresolved"),
        ((S1, FRAGILE_S), "supported"),
        ((S1, FRAGILE_R), "supported"),
        ((R1, FRAGILE_S), "refuted"),
    ],
)
def test_all_the_evidence_together_warrants_one_status(pieces: tuple[Piece, ...], warranted: str) -> None:
    """Whatever is asked for beyond it is refused, and what is warranted is reached."""
    for wanted in ("proven", "supported", "refuted"):
        lab = Lab()
        lab.proposition("c")
        found = [
            lab.evidence("c", outcome, role, body=body, fragile=fragile)
            for outcome, role, body, fragile in pieces
        ]
        event = lab.stage(
            "update_epistemic_status",
            "c",
            to_status=wanted,
            evidence_ids=tuple(one.evidence_id for one in found) or ("ev-none",),
        )
        if wanted == warranted or (wanted, warranted) == ("supported", "proven"):
            assert isinstance(event, IntentStaged)
            lab.decide("APPROVED")
            assert lab.state.intents.propositions["c"].status == wanted
        else:
            assert code_of(event) == ("NOT_WARRANTED" if found else "EVIDENCE_NOT_FOUND")
            assert lab.state.intents.propositions["c"].status == "unresolved"


def test_one_error_level_above_alpha_is_no_proof() -> None:
    lab = Lab()
    lab.proposition("c")
    ids = tuple(lab.evidence("c", body=body, error_level=0.05).evidence_id for body in (1, 2))
    event = lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    assert code_of(event) == "NOT_WARRANTED"


def test_no_policy_lets_anything_be_proven_without_a_person() -> None:
    lab = Lab(AUTOMATIC)
    lab.stage("create_proposition", "c", statement="the mean is one", prediction=PREDICTION)
    ids = tuple(lab.evidence("c", body=body).evidence_id for body in (1, 2))
    event = lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=ids)
    assert isinstance(event, IntentStaged)
    assert event.intent.state == "executed"
    event = lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    assert isinstance(event, IntentStaged)
    assert event.intent.state == "awaiting_approval"
    assert lab.state.intents.propositions["c"].status == "supported"


def test_by_default_a_downgrade_needs_nobody_and_an_upgrade_does() -> None:
    lab = Lab()
    lab.proposition("c")
    found = (lab.evidence("c").evidence_id,)
    lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=found)
    lab.decide("APPROVED")
    event = lab.stage("update_epistemic_status", "c", to_status="unresolved")
    assert isinstance(event, IntentStaged)
    assert event.intent.state == "executed"
    assert lab.state.intents.propositions["c"].status == "unresolved"


def test_the_evidence_is_weighed_again_when_the_word_is_given() -> None:
    lab = Lab()
    lab.proposition("c")
    found = (lab.evidence("c").evidence_id,)
    lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=found)
    lab.evidence("c", "refute", body=9)
    event = lab.decide("APPROVED")
    assert isinstance(event, ApprovalDecided)
    assert [step.state for step in event.intents[0].history[-2:]] == ["approved", "failed"]
    assert lab.state.intents.propositions["c"].status == "unresolved"


def test_the_proposer_cannot_approve_and_nothing_else_is_approved_in_its_place() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    assert code_of(lab.decide("APPROVED", AGENT)) == "FORBIDDEN"
    forged = DecideApproval(approval_id=lab.waiting.approval_id, decision="APPROVED", content_hash="0" * 64)
    assert code_of(lab.ask(forged, ANN)) == "CONFLICT"
    assert not lab.state.intents.propositions


@pytest.mark.parametrize(
    ("ending", "state"),
    [("REJECTED", "rejected"), ("DEFERRED", "deferred"), ("withdraw", "cancelled"), ("expire", "expired")],
)
def test_an_intent_that_ended_otherwise_never_executes(ending: str, state: str) -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    waiting = lab.waiting
    if ending == "withdraw":
        lab.ask(WithdrawApproval(approval_id=waiting.approval_id))
    elif ending == "expire":
        assert isinstance(lab.expire(), ApprovalClosed)
    else:
        lab.decide(ending)
    assert lab.state.intents.by_id[waiting.subject.intent_id].state == state
    late = lab.ask(
        DecideApproval(
            approval_id=waiting.approval_id, decision="APPROVED", content_hash=waiting.content_hash
        ),
        BOB,
    )
    assert code_of(late) == "CONFLICT"
    assert not lab.state.intents.propositions


def test_a_word_after_the_time_has_run_out_counts_for_nothing() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    lab.clock.advance(8 * 24 * 3600)
    assert code_of(lab.decide("APPROVED")) == "CONFLICT"
    assert not lab.state.intents.propositions


def test_a_deferred_intent_may_have_a_successor_that_names_it() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    first = lab.waiting.subject.intent_id
    lab.decide("DEFERRED", reason="show me a run")
    event = lab.stage("create_proposition", "c", statement="s, measured", supersedes=first)
    assert isinstance(event, IntentStaged)
    assert lab.state.intents.by_id[first].superseded_by == event.intent.intent_id
    again = lab.stage("create_proposition", "c", statement="s", supersedes=first)
    assert code_of(again) == "CONFLICT"
    other = lab.stage("create_proposition", "d", statement="s", supersedes=event.intent.intent_id)
    assert code_of(other) == "CONFLICT"


def test_superseding_what_waits_takes_it_out_of_the_inbox() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="s")
    old = lab.waiting
    lab.stage("create_proposition", "c", statement="better", supersedes=old.subject.intent_id)
    assert lab.waiting.approval_id != old.approval_id
    assert lab.state.approvals.by_id[old.approval_id].status == "superseded"
    lab.decide("APPROVED")
    assert lab.state.intents.propositions["c"].statement == "better"


def test_a_person_may_lower_what_was_asked_for_and_another_must_agree() -> None:
    lab = Lab()
    lab.proposition("c")
    ids = tuple(lab.evidence("c", body=body).evidence_id for body in (1, 2))
    lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    event = lab.decide("MODIFIED", to_status="supported")
    assert isinstance(event, ApprovalDecided)
    assert [one.state for one in event.intents] == ["superseded", "awaiting_approval"]
    assert lab.status("c") == "unresolved"
    rows = {row.approval_id: row.status for row in inbox_rows(event, lab.state)}
    assert rows == {event.approval_id: "modified", lab.waiting.approval_id: "pending"}, "the inbox shows both"
    assert code_of(lab.decide("APPROVED", ANN)) == "FORBIDDEN"
    lab.decide("APPROVED", BOB)
    assert lab.status("c") == "supported"


def test_an_edit_cannot_ask_for_more() -> None:
    lab = Lab()
    lab.proposition("c")
    ids = tuple(lab.evidence("c", body=body).evidence_id for body in (1, 2))
    lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=ids)
    assert path_of(lab.decide("MODIFIED", to_status="proven")) == "$.to_status"
    assert path_of(lab.decide("MODIFIED")) == "$.to_status"
    assert path_of(lab.decide("APPROVED", to_status="unresolved")) == "$.to_status"


def test_other_words_are_another_claim_and_need_other_evidence() -> None:
    lab = Lab()
    lab.proposition("c")
    found = (lab.evidence("c").evidence_id,)
    lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=found)
    lab.decide("APPROVED")
    lab.stage("revise_proposition", "c", statement="the median is one")
    lab.decide("APPROVED")
    revised = lab.state.intents.propositions["c"]
    assert (revised.status, revised.revision, revised.evidence_ids) == ("unresolved", 2, ())
    event = lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=found)
    assert code_of(event) == "NOT_WARRANTED"


def test_what_is_quarantined_can_only_be_revised_or_forked() -> None:
    lab = Lab()
    lab.proposition("c")
    found = (lab.evidence("c").evidence_id,)
    lab.stage("quarantine_proposition", "c", reason="the data was wrong")
    lab.decide("APPROVED")
    event = lab.stage("update_epistemic_status", "c", to_status="supported", evidence_ids=found)
    assert code_of(event) == "CONFLICT"
    lab.stage("fork_proposition", "c", statement="another", new_claim_id="d")
    lab.decide("APPROVED")
    assert lab.state.intents.propositions["d"].forked_from == "c"
    lab.stage("revise_proposition", "c", statement="repaired")
    lab.decide("APPROVED")
    assert not lab.state.intents.propositions["c"].quarantined


def test_a_claim_of_the_speculative_lane_has_no_way_up() -> None:
    lab = Lab()
    event = lab.stage("create_claim", "c", statement="perhaps")
    assert isinstance(event, ClaimSpeculated)
    assert not lab.state.intents.propositions
    assert not lab.state.intents.by_id
    assert code_of(lab.stage("update_epistemic_status", "c", to_status="unresolved")) == (
        "PROPOSITION_NOT_FOUND"
    )


def test_nothing_is_made_speculative() -> None:
    lab = Lab()
    lab.proposition("c")
    event = lab.stage("update_epistemic_status", "c", to_status="speculative")
    assert code_of(event) == "SPECULATIVE_ASSERTION"


BAD_CHANGES: list[tuple[dict[str, object], str, str]] = [
    ({"kind": "create_proposition"}, "INVALID_REQUEST", "statement"),
    ({"kind": "create_proposition", "statement": "s", "to_status": "proven"}, "INVALID_REQUEST", "to_status"),
    ({"kind": "update_epistemic_status"}, "INVALID_REQUEST", "to_status"),
    ({"kind": "update_epistemic_status", "to_status": "supported"}, "INVALID_REQUEST", "evidence_ids"),
    ({"kind": "fork_proposition", "statement": "s"}, "INVALID_REQUEST", "new_claim_id"),
    ({"kind": "refute_claim", "evidence_ids": ("ev-1",)}, "EVIDENCE_NOT_FOUND", "evidence_ids[0]"),
    (
        {"kind": "refute_claim", "evidence_ids": ("shyp-lab-c-0",)},
        "HYPOTHESIS_IS_NOT_EVIDENCE",
        "evidence_ids[0]",
    ),
    ({"kind": "create_claim"}, "INVALID_REQUEST", "statement"),
    ({"kind": "record_metric"}, "INVALID_REQUEST", "values"),
    (
        {"kind": "record_metric", "values": {"epistemic-status": "Speculative"}},
        "SPECULATIVE_PROPOSAL",
        "values.epistemic-status",
    ),
    (
        {"kind": "revise_proposition", "statement": '{"speculative_context": 1}'},
        "SPECULATIVE_PROPOSAL",
        "statement{}.speculative_context",
    ),
]


@pytest.mark.parametrize(("change", "code", "path"), BAD_CHANGES)
def test_a_change_that_cannot_be_is_refused_with_the_path(
    change: dict[str, object], code: str, path: str
) -> None:
    lab = Lab()
    lab.proposition("c")
    known = dict(change)
    claim = "new" if known["kind"] == "create_proposition" else "c"
    before = lab.state
    event = lab.stage(known.pop("kind"), claim, **known)  # type: ignore[arg-type]
    assert (code_of(event), path_of(event)) == (code, f"$.{path}")
    assert lab.state is before


def test_metrics_and_traces_are_written_without_asking_anybody() -> None:
    lab = Lab()
    for kind in ("record_metric", "record_trace"):
        event = lab.stage(kind, "c", values={"latency_ms": 3})
        assert isinstance(event, IntentStaged)
        assert event.intent.state == "executed"
    assert not lab.state.intents.propositions


def test_solid_evidence_fells_what_its_plan_had_named_and_nothing_else() -> None:
    lab = Lab()
    lab.proposition("c")
    found = lab.ran("c", eliminates_if_supported=("aether",), eliminates_if_refuted=("caloric",))
    event = lab.link("c", found, "support")
    assert isinstance(event, EvidenceLinked)
    assert event.eliminated == ("aether",)
    assert list(lab.state.beliefs.survivors) == ["caloric", "phlogiston"]
    fragile = lab.ran("c", "refute", body=2, fragile=True, eliminates_if_refuted=("caloric",))
    assert isinstance(lab.link("c", fragile, "refute"), EvidenceLinked)
    assert "caloric" in lab.state.beliefs.survivors
    again = lab.ran("c", body=3, eliminates_if_supported=("aether",))
    event = lab.link("c", again, "support")
    assert isinstance(event, EvidenceLinked)
    assert (event.eliminated, event.ignored) == ((), ("aether",))


def test_a_plan_cannot_doom_what_was_never_declared() -> None:
    event = Lab().designed("c", eliminates_if_refuted=("n-rays",))
    assert (code_of(event), path_of(event)) == ("INVALID_HYPOTHESIS_ID", "$.eliminates_if_refuted")


def test_every_try_at_a_claim_has_less_of_alpha_to_spend() -> None:
    lab = Lab()
    spent = []
    for body in range(20):
        event = lab.designed("c", body)
        assert isinstance(event, ExperimentDesigned)
        assert event.experiment.attempt == body + 1
        spent.append(event.frozen.alpha)
    assert spent == sorted(spent, reverse=True)
    assert sum(spent) < 0.05
    assert code_of(lab.designed("c", 21)) == "CONFLICT"
    other = lab.designed("d")
    assert isinstance(other, ExperimentDesigned)
    assert other.experiment.attempt == 1


def test_what_is_labelled_speculative_weighs_nothing_however_it_came_there() -> None:
    lab = Lab()
    lab.proposition("c")
    minted = lab.evidence("c")
    tainted = replace(minted, lane="speculative")
    held = lab.state.experiments
    held = replace(held, evidence=held.evidence.insert(minted.evidence_id, tainted))
    lab.session = replace(lab.state, experiments=held)
    event = lab.stage(
        "update_epistemic_status", "c", to_status="supported", evidence_ids=(minted.evidence_id,)
    )
    assert (code_of(event), path_of(event)) == ("SPECULATIVE_ASSERTION", "$.evidence_ids[0]")
    assert counted(lab.state, "c") == []


def test_evidence_and_intents_carry_the_label_of_what_they_come_from() -> None:
    lab = Lab()
    lab.proposition("c")
    minted = lab.evidence("c")
    assert minted.lane == "grounded"
    event = lab.stage(
        "update_epistemic_status", "c", to_status="supported", evidence_ids=(minted.evidence_id,)
    )
    assert isinstance(event, IntentStaged)
    assert event.intent.lane == "grounded"


@pytest.mark.parametrize("outcome", ["support", "refute"])
def test_what_only_counts_labels_that_a_caller_gave_moves_nothing(outcome: str) -> None:
    lab = Lab()
    lab.proposition("c")
    run_id = lab.ran(
        "c",
        outcome,
        bookkeeping=True,
        error_level=1.0,
        eliminates_if_supported=("aether",),
        eliminates_if_refuted=("caloric",),
    )
    event = lab.link("c", run_id, outcome)
    assert isinstance(event, EvidenceLinked)
    assert (event.eliminated, event.evidence.bookkeeping) == ((), True)
    wanted = "supported" if outcome == "support" else "refuted"
    staged = lab.stage(
        "update_epistemic_status", "c", to_status=wanted, evidence_ids=(event.evidence.evidence_id,)
    )
    assert code_of(staged) == "NOT_WARRANTED"
