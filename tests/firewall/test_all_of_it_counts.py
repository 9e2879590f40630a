"""Nothing can be picked: every run counts, every try counts, and the same data again are no replication."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunRecorded
from beliefd.kernel.experiments.plan import ExperimentSpec
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.labels import Bringer
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.observations.rules import repeats
from beliefd.kernel.policy import FirewallPolicy, Policy
from beliefd.testing.world import ANN, ENCODER
from tests.firewall.lab import CODE, FELLING, Lab, code_of, path_of
from tests.firewall.test_witnessed import OTHER, on, promoted

# ---- nothing can be picked -----------------------------------------------------------------------


def test_a_refuting_run_that_nobody_linked_counts() -> None:
    lab = Lab()
    lab.proposition("c")
    found = lab.evidence("c", body=1)
    lab.ran("c", "refute", body=2)
    event = promoted(lab, "supported", found.evidence_id)
    assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", "$.to_status")


def test_a_run_that_ends_between_staging_and_approval_counts() -> None:
    lab = Lab()
    lab.proposition("c")
    promoted(lab, "supported", lab.evidence("c", body=1).evidence_id)
    lab.ran("c", "refute", body=2)
    event = lab.decide("APPROVED")
    assert isinstance(event, ApprovalDecided)
    assert event.intents[0].state == "failed"
    assert lab.status("c") == "unresolved"


@pytest.mark.parametrize("status", ["supported", "proven"])
def test_when_status_and_evidence_part_the_status_falls_by_itself_and_is_on_record(status: str) -> None:
    lab = Lab()
    lab.proposition("c")
    for body in (1, 2):
        lab.evidence("c", body=body)
    promoted(lab, status)
    lab.decide("APPROVED")
    assert lab.status("c") == status
    lab.ran("c", "refute", body=3)
    fell = lab.events[-1]
    assert isinstance(fell, RunRecorded)
    (proposition,) = fell.propositions
    assert (proposition.status, lab.status("c")) == ("unresolved", "unresolved")
    assert status in proposition.fell
    lab.ran("c", body=4)
    assert lab.status("c") == "unresolved", "up it goes only by a person"


def test_an_undercutting_link_lets_the_status_fall_too() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", body=1)
    promoted(lab, "supported")
    lab.decide("APPROVED")
    run_id = lab.ran("c", "unresolved", body=2)
    assert code_of(lab.link("c", run_id, "undercut")) == "FORBIDDEN", "a program cannot"
    event = lab.ask(LinkEvidence(claim_id="c", run_id=run_id, role="undercut"), ANN)
    assert isinstance(event, EvidenceLinked)
    assert (event.propositions[0].status, lab.status("c")) == ("unresolved", "unresolved")


def test_support_fells_nothing_while_another_run_refutes() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.ran("c", "refute", body=2)
    event = lab.link("c", lab.ran("c", body=1, eliminates_if_supported=("aether",)), "support")
    assert isinstance(event, EvidenceLinked)
    assert event.eliminated == ()
    assert "unresolved" in event.withheld


def test_a_replication_fells_what_its_plan_had_named() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", body=1)
    event = lab.link("c", lab.ran("c", body=2, eliminates_if_supported=("aether",)), "replicate")
    assert isinstance(event, EvidenceLinked)
    assert event.eliminated == ("aether",)


@pytest.mark.parametrize("typed_too", [True, False])
def test_a_refutation_that_evidence_no_longer_warrants_is_taken_back_to_unresolved_only(
    typed_too: bool,
) -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", "refute", typed=typed_too, body=1)
    lab.stage("refute_claim", "c", evidence_ids=tuple(lab.state.experiments.by_claim["c"]))
    lab.decide("APPROVED")
    assert lab.status("c") == "refuted"
    lab.ran("c", body=2)
    assert lab.status("c") == "unresolved"


def test_what_falls_by_a_test_was_said_with_its_wording() -> None:
    lab = Lab()
    lab.proposition("c")
    event = lab.designed("c", 1, eliminates_if_supported=("phlogiston",))
    assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", "$.eliminates_if_supported")
    event = lab.designed("c", 1, eliminates_if_refuted=("aether",))
    assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", "$.eliminates_if_refuted")
    with pytest.raises(ValueError, match="whatever the outcome"):
        replace(FELLING, eliminates_if_refuted=("aether",))


# ---- every try counts ----------------------------------------------------------------------------


def test_a_fresh_claim_id_on_the_same_data_gets_no_fresh_alpha() -> None:
    lab = Lab()
    alphas = []
    for number in range(30):
        event = lab.designed(f"c{number}", 1)
        assert isinstance(event, ExperimentDesigned)
        assert (event.experiment.attempt, event.experiment.tries) == (1, number + 1)
        alphas.append(event.frozen.alpha)
    assert sum(alphas) < 0.05
    other = lab.designed("c", 2)
    assert isinstance(other, ExperimentDesigned)
    assert other.frozen.alpha == 0.025, "other data are another matter"
    somebody = lab.designed("d", 1, who=OTHER)
    assert isinstance(somebody, ExperimentDesigned)
    assert somebody.experiment.tries == 1, "nobody uses up what another may spend"


def test_nobody_uses_up_the_attempts_of_another() -> None:
    lab = Lab()
    for _ in range(20):
        assert isinstance(lab.designed("c", 1, who=OTHER), ExperimentDesigned)
    assert code_of(lab.designed("c", 1, who=OTHER)) == "CONFLICT"
    own = lab.designed("c", 1)
    assert isinstance(own, ExperimentDesigned)
    assert (own.experiment.attempt, own.frozen.alpha) == (1, 0.025)


def test_the_same_values_from_two_sources_are_one_body() -> None:
    lab = Lab()
    lab.proposition("c")
    values = (1.0, 1.01, 0.99)
    evidence = []
    for sha256 in ("a" * 64, "b" * 64):
        brought = (Bringer(id=ENCODER.id, role=ENCODER.role, at=lab.clock.now()),)
        found = ObservationFindings(values=values, source_hash=sha256, brought=brought)
        seen = lab.ask(Observe(quantity="x", content=sha256), findings=found)
        assert isinstance(seen, Observed)
        designed = on(lab, seen.observation.observation_id)
        assert isinstance(designed, ExperimentDesigned)
        evidence.append(designed.experiment)
    first, second = evidence
    assert second.tries == 2
    assert {*first.bodies} & {*second.bodies}
    together = {"observed": [*first.observations, *second.observations]}
    params = {"claimed_value": 1.0, "tolerance": 0.1, "observed_values": together}
    spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params=params)
    assert path_of(lab.ask(DesignExperiment(spec=spec), findings=CODE)) == "$.params"


def test_parts_of_one_source_are_not_put_together() -> None:
    lab = Lab()
    names = []
    for pointer, values in (("/a", (1.0, 1.01)), ("/b", (0.98, 0.99))):
        brought = (Bringer(id=ENCODER.id, role=ENCODER.role, at=lab.clock.now()),)
        found = ObservationFindings(values=values, source_hash="a" * 64, choices=9, brought=brought)
        seen = lab.ask(Observe(quantity="x", content="a" * 64, pointer=pointer), findings=found)
        assert isinstance(seen, Observed)
        names.append(seen.observation.observation_id)
    params = {"claimed_value": 1.0, "tolerance": 0.1, "observed_values": {"observed": names}}
    spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params=params)
    event = lab.ask(DesignExperiment(spec=spec), findings=CODE)
    assert (code_of(event), path_of(event)) == ("INVALID_REQUEST", "$.params")


def test_all_that_a_principal_types_is_one_body() -> None:
    lab = Lab()
    tries = []
    for number in range(5):
        event = lab.designed(f"c{number}", typed=True)
        assert isinstance(event, ExperimentDesigned)
        tries.append(event.experiment.tries)
    assert tries == [1, 2, 3, 4, 5]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.booleans()), max_size=25))
def test_on_no_body_and_for_no_claim_is_more_spent_than_alpha(tests: list[tuple[str, int, bool]]) -> None:
    lab = Lab(Policy(firewall=FirewallPolicy(attempts_per_claim=100)))
    by_body: dict[str, float] = {}
    by_claim: dict[str, float] = {}
    for claim, body, typed_too in tests:
        event = lab.designed(claim, body, typed=typed_too)
        assert isinstance(event, ExperimentDesigned)
        by_claim[claim] = by_claim.get(claim, 0.0) + event.frozen.alpha
        for one in event.experiment.bodies:
            by_body[one] = by_body.get(one, 0.0) + event.frozen.alpha
    assert max([*by_body.values(), *by_claim.values()], default=0.0) < 0.05


# ---- replication ---------------------------------------------------------------------------------


def test_the_same_data_again_prove_nothing_and_other_data_do() -> None:
    lab = Lab()
    lab.proposition("c")
    for _ in range(3):
        lab.evidence("c", body=1)
    event = promoted(lab, "proven")
    assert code_of(event) == "NOT_WARRANTED"
    lab.evidence("c", body=2)
    assert isinstance(promoted(lab, "proven"), IntentStaged)


def test_the_server_draws_the_seed_and_nobody_else() -> None:
    lab = Lab()
    seeds = set()
    for number in range(10):
        event = lab.designed(f"c{number}", 1)
        assert isinstance(event, ExperimentDesigned)
        assert event.frozen.spec.seed == event.experiment.seed
        seeds.add(event.experiment.seed)
    assert len(seeds) == 10
    refused = lab.designed("c", 1, seed=7)
    assert (code_of(refused), path_of(refused)) == ("INVALID_REQUEST", "$.seed")


def test_values_cannot_be_named_twice_nor_quantities_and_units_be_mixed() -> None:
    lab = Lab()
    first, same, other = lab.observed(1), lab.observed(1), lab.observed(2)
    seconds = lab.ask(Observe(quantity="x", unit="s", values=(1.0, 1.1)), ENCODER).observation.observation_id  # type: ignore[union-attr]
    load = lab.ask(Observe(quantity="load", values=(1.0, 1.2)), ENCODER).observation.observation_id  # type: ignore[union-attr]
    for names, path in (
        ([first, first], "$.params"),
        ([first, same], "$.params"),
        ([first, seconds], "$.params"),
        ([first, load], "$.params"),
        ([seconds], "$.unit"),
    ):
        params = {"claimed_value": 1.0, "observed_values": {"observed": names}}
        spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params=params)
        event = lab.ask(DesignExperiment(spec=spec), findings=CODE)
        assert (code_of(event), path_of(event)) == ("INVALID_REQUEST", path)
    params = {"claimed_value": 1.0, "observed_values": {"observed": [first, other]}}
    spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params=params)
    assert isinstance(lab.ask(DesignExperiment(spec=spec), findings=CODE), ExperimentDesigned)


def test_an_observation_that_was_not_taken_cannot_be_tested() -> None:
    lab = Lab()
    event = on(lab, "obs-none")
    assert (code_of(event), path_of(event)) == ("OBSERVATION_NOT_FOUND", "$.params")


def test_numbers_are_read_as_whoever_wrote_them_may_have_meant_them() -> None:
    assert repeats({"say": ".5, .25 and -.75"}, (0.5, 0.25, -0.75))
    assert repeats({"say": "4_0.1,4_0.2"}, (40.1, 40.2))
