"""The verifier in another language folds the two lanes as we do, state hashes included."""

from beliefd.kernel.approvals.commands import WithdrawApproval
from beliefd.kernel.experiments.events import RunStarted
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.testing.world import BOB
from tests.conformance.node import verify_many
from tests.firewall.lab import Lab


def whole_story() -> Lab:
    """Every event of the firewall, and every way in which an intent can end."""
    lab = Lab()
    lab.speculate("c", "the aether, \u2028 or not")
    lab.stage("create_claim", "maybe", statement="perhaps")
    lab.proposition("c")
    lab.speculate("c")
    ids = tuple(
        lab.evidence("c", body=body, eliminates_if_supported=("aether",)).evidence_id for body in (1, 2)
    )
    lab.ran("c", body=3, status="failed")
    lab.stage("update_epistemic_status", "c", to_status="proven", evidence_ids=ids)
    lab.decide("MODIFIED", to_status="supported")
    lab.decide("APPROVED", BOB)
    lab.stage("quarantine_proposition", "c")
    lab.stage("quarantine_proposition", "c", supersedes=lab.waiting.subject.intent_id)
    lab.decide("DEFERRED")
    lab.stage("fork_proposition", "c", statement="s", new_claim_id="d")
    lab.decide("REJECTED")
    lab.stage("revise_proposition", "c", statement="s")
    lab.ask(WithdrawApproval(approval_id=lab.waiting.approval_id))
    lab.stage("revise_proposition", "c", statement="t")
    lab.expire()
    lab.stage("record_metric", "c", values={"n": 1e21, "x": -0.0})
    return lab


def test_node_folds_every_event_of_the_firewall_to_the_same_state_hash() -> None:
    lab = whole_story()
    while len(lab.entries) % STATE_HASH_EVERY != 1:
        lab.speculate("c", f"idea {len(lab.entries)}")
    assert b'"state_hash"' in lab.export
    (verdict,) = verify_many([lab.export])
    assert verdict.code == 0, verdict


def test_node_finds_a_forged_piece_of_evidence() -> None:
    lab = whole_story()
    told = lab.export.replace(b'"eliminated":["aether"]', b'"eliminated":["caloric"]', 1)
    (verdict,) = verify_many([told])
    assert verdict.code == 5


def test_the_story_has_every_kind_of_event_that_the_lanes_know() -> None:
    kinds = {str(entry.delta.__struct_config__.tag) for entry in whole_story().recorded}
    assert {
        "speculated", "claim_speculated", "experiment_designed", "run_started", "run_recorded",
        "evidence_linked", "intent_staged", "approval_decided", "approval_closed",
    } <= kinds  # fmt: skip
    assert RunStarted.__struct_config__.tag == "run_started"
