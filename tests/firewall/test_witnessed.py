"""What counts was witnessed, its test was worded before the data, and all of it counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned
from beliefd.kernel.experiments.plan import ExperimentSpec, Near, Ordered, Within
from beliefd.kernel.experiments.referring import reference, resolved, stand_ins, typed
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.warrant import counted, warrant_of
from beliefd.kernel.labels import ATTESTED, WITNESSED, join, label_for
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.rules import repeats
from beliefd.kernel.policy import AttestedPolicy, FirewallPolicy, Policy
from beliefd.kernel.values import Principal
from beliefd.testing.world import AGENT, ANN, ENCODER, TOOL
from tests.firewall.lab import CODE, FELLING, PREDICTION, Lab, code_of, path_of

OTHER = Principal(id="agent://other", role=AGENT.role)
LENIENT = Policy(
    firewall=FirewallPolicy(
        attested=AttestedPolicy(supports="as_witnessed", eliminates=True, proves=True),
        automatic=("create_proposition", "update_epistemic_status", "refute_claim"),
    )
)


def promoted(lab: Lab, to_status: str, *evidence_ids: str) -> Any:
    ids = evidence_ids or tuple(lab.state.experiments.by_claim.get("c", ()))
    return lab.stage("update_epistemic_status", "c", to_status=to_status, evidence_ids=ids)


# ---- labels --------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([WITNESSED, ATTESTED])))
def test_one_attested_input_is_enough(labels: list[Any]) -> None:
    assert (join(labels) == WITNESSED) == (bool(labels) and ATTESTED not in labels)


@given(st.sets(st.sampled_from(["server", "human://ann", "tool://probe"])), st.sampled_from("ab"))
def test_nobody_is_a_witness_for_himself(witnesses: set[str], who: str) -> None:
    assert label_for(witnesses, f"agent://{who}") == (WITNESSED if witnesses else ATTESTED)
    for one in witnesses:
        assert label_for({one}, one) == ATTESTED


@pytest.mark.parametrize(
    ("who", "label_to_himself", "label_to_the_agent"),
    [
        (AGENT, ATTESTED, ATTESTED),
        (OTHER, ATTESTED, ATTESTED),
        (ENCODER, ATTESTED, WITNESSED),
        (TOOL, ATTESTED, WITNESSED),
        (ANN, ATTESTED, WITNESSED),
    ],
)
def test_numbers_that_are_typed_are_a_statement_of_who_types_them(
    who: Principal, label_to_himself: str, label_to_the_agent: str
) -> None:
    lab = Lab()
    lab.proposition("c")
    event = lab.ask(Observe(quantity="x", values=(1.0, 1.01, 0.99)), who)
    assert isinstance(event, Observed)
    assert (event.observation.label, event.observation.typed) == (label_to_himself, True)
    for designer, label in ((who, label_to_himself), (AGENT, label_to_the_agent)):
        designed = on(lab, event.observation.observation_id, designer)
        assert isinstance(designed, ExperimentDesigned)
        assert (designed.experiment.label, designed.experiment.typed_by) == (label, (who.id,))


def on(lab: Lab, observation_id: str, who: Principal = AGENT, **more: Any) -> Any:
    params = {"claimed_value": 1.0, "tolerance": 0.1, "observed_values": {"observed": [observation_id]}}
    spec = ExperimentSpec(claim_id="c", template="numeric_consistency", params={**params, **more})
    return lab.ask(DesignExperiment(spec=spec), who, findings=CODE)


@pytest.mark.parametrize("brought", [AGENT, OTHER])
def test_bytes_that_agents_stored_are_fixed_and_still_not_true(brought: Principal) -> None:
    lab = Lab()
    name = lab.observed(1, brought=brought)
    assert lab.state.observations.by_id[name].label == ATTESTED


def test_who_brought_the_bytes_is_no_witness_when_he_designs_the_test() -> None:
    lab = Lab()
    lab.proposition("c")
    name = lab.observed(1, ANN, brought=ANN)
    assert [on(lab, name, who).experiment.label for who in (ANN, AGENT)] == [ATTESTED, WITNESSED]


def test_typed_numbers_beside_observed_ones_make_all_of_it_attested() -> None:
    params: dict[str, Any] = {"values": {"observed": ["obs-1"]}, "threshold": 1.0}
    assert not typed("threshold_check", params)
    assert typed("threshold_check", {**params, "values": [1.0, 2.0]})
    assert typed("threshold_check", {**params, "more": [{"deep": [3.0]}]})
    assert not typed("threshold_check", {**params, "bounds": [0.0, 9.0], "axes": [1.0]})
    assert typed("model_simulation", {"inputs": [{"distribution": {"values": {"observed": ["obs-1"]}}}]})


def test_a_model_is_what_its_author_says_whatever_data_go_into_it() -> None:
    lab = Lab()
    data = {"is": "data", "values": {"observed": [lab.observed(1)]}}
    params = {
        "model": {"language": "expression", "expression": "x"},
        "inputs": [{"name": "x", "distribution": data}],
        "region": {"region": "ordering", "side": "above", "than": 0.5},
    }
    spec = ExperimentSpec(claim_id="c", template="model_simulation", params=params)
    event = lab.ask(DesignExperiment(spec=spec), findings=CODE)
    assert isinstance(event, ExperimentDesigned)
    assert (event.experiment.label, event.experiment.typed_by) == (ATTESTED, (AGENT.id,))


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
)
def test_values_are_put_in_place_of_names_one_after_the_other(
    first: list[float], second: list[float]
) -> None:
    named = {"data": reference(["obs-1", "obs-2"]), "null_value": 3.0, "deep": [reference(["obs-2"])]}
    found = resolved(named, {"obs-1": first, "obs-2": second}.__getitem__)
    assert found == {"data": [*first, *second], "null_value": 3.0, "deep": [second]}


def test_a_plan_that_names_too_much_is_refused_before_there_is_a_list_of_it() -> None:
    lab = Lab()
    name = lab.observed(1)
    one = replace(lab.state.observations.by_id[name], count=5_000)
    values_of = stand_ins({"obs": one})
    for _ in range(16):
        assert len(values_of("obs")) == 5_000
    with pytest.raises(BeliefdError, match="more than 80000 values"):
        values_of("obs")


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=10, unique=True), st.booleans())
def test_a_result_that_says_back_what_its_caller_said_is_no_witness(values: list[float], text: bool) -> None:
    told: Any = " ".join(map(str, values)) if text else [{"deep": values}]
    assert repeats({"say": told}, tuple(values))
    assert repeats([{str(value): None for value in values}], tuple(values)), "keys are said, too"
    assert not repeats({"say": "measure it", "limit": values[0]}, tuple(value + 1000 for value in values))


# ---- what attested data may do -------------------------------------------------------------------


def test_typed_numbers_support_past_a_person_who_is_told_whose_they_are() -> None:
    lab = Lab(Policy(firewall=FirewallPolicy(automatic=("update_epistemic_status",))))
    lab.proposition("c")
    found = lab.evidence("c", typed=True)
    event = promoted(lab, "supported", found.evidence_id)
    assert isinstance(event, IntentStaged)
    assert event.intent.state == "awaiting_approval", "although policy lets such changes be automatic"
    assert event.approval is not None
    assert f"numbers typed by {AGENT.id}" in event.approval.reason
    lab.decide("APPROVED")
    assert lab.status("c") == "supported"


def test_what_was_witnessed_is_automatic_where_policy_says_so() -> None:
    lab = Lab(Policy(firewall=FirewallPolicy(automatic=("update_epistemic_status",))))
    lab.proposition("c")
    event = promoted(lab, "supported", lab.evidence("c", body=1).evidence_id)
    assert event.intent.state == "executed"


def test_a_policy_may_let_typed_numbers_count_for_nothing_or_for_everything() -> None:
    strict = Lab(Policy(firewall=FirewallPolicy(attested=AttestedPolicy(supports="never"))))
    strict.proposition("c")
    strict.evidence("c", typed=True)
    assert code_of(promoted(strict, "supported")) == "NOT_WARRANTED"
    lenient = Lab(LENIENT)
    lenient.stage("create_proposition", "c", statement="s", prediction=FELLING)
    lenient.evidence("c", typed=True, eliminates_if_supported=("aether",))
    assert "aether" not in lenient.state.beliefs.survivors
    assert promoted(lenient, "supported").intent.state == "executed"


def test_typed_numbers_eliminate_nothing_and_say_why() -> None:
    lab = Lab()
    lab.proposition("c")
    for outcome in ("support", "refute"):
        member = "eliminates_if_supported" if outcome == "support" else "eliminates_if_refuted"
        more: dict[str, Any] = {member: getattr(FELLING, member)}
        run_id = lab.ran("c", outcome, typed=True, **more)
        event = lab.link("c", run_id, outcome)
        assert isinstance(event, EvidenceLinked)
        assert (event.eliminated, event.ignored) == ((), ())
        assert f"numbers typed by {AGENT.id}" in event.withheld
    assert len(list(lab.state.beliefs.survivors)) == 3


def test_fragile_evidence_fells_nothing_beside_solid_evidence_either() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", body=1)
    event = lab.link("c", lab.ran("c", body=2, fragile=True, eliminates_if_supported=("aether",)), "support")
    assert isinstance(event, EvidenceLinked)
    assert event.eliminated == ()
    assert "fragile" in event.withheld


@pytest.mark.parametrize("revised", [True, False])
def test_what_tested_other_words_fells_nothing_under_any_policy(revised: bool) -> None:
    lab = Lab(LENIENT)
    if revised:
        lab.stage("create_proposition", "c", statement="s", prediction=FELLING)
    run_id = lab.ran("c", body=1, eliminates_if_supported=("aether",))
    kind = "revise_proposition" if revised else "create_proposition"
    lab.stage(kind, "c", statement="other words", prediction=FELLING)
    if revised:
        lab.decide("APPROVED")
    lab.evidence("c", body=2)
    event = lab.link("c", run_id, "support")
    assert isinstance(event, EvidenceLinked)
    assert (event.eliminated, event.withheld) == ((), "it tested no wording that stands now")


def test_the_warrant_says_why_it_is_no_more() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", typed=True)
    found = warrant_of(counted(lab.state, "c"), lab.policy.firewall)
    assert (found.status, found.attested) == ("supported", True)
    assert found.why == "nobody but who proposes it has witnessed its data"


def test_typed_numbers_do_not_outweigh_what_was_witnessed() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", body=1)
    promoted(lab, "supported")
    lab.decide("APPROVED")
    lab.ran("c", "refute", typed=True)
    undercut = lab.ran("c", "unresolved", typed=True)
    lab.ask(LinkEvidence(claim_id="c", run_id=undercut, role="undercut"), ANN)
    assert lab.status("c") == "supported"
    other = Lab()
    other.proposition("c")
    other.evidence("c", typed=True)
    other.evidence("c", "refute", body=1)
    assert code_of(promoted(other, "supported")) == "NOT_WARRANTED"
    assert isinstance(promoted(other, "refuted"), IntentStaged)


# ---- worded before the data ----------------------------------------------------------------------


def test_a_prediction_belongs_to_a_wording_and_a_new_one_begins_anew() -> None:
    lab = Lab()
    lab.proposition("c")
    event = lab.stage("quarantine_proposition", "c", prediction=PREDICTION)
    assert (code_of(event), path_of(event)) == ("INVALID_REQUEST", "$.prediction")
    lab.evidence("c", body=1)
    promoted(lab, "supported")
    lab.decide("APPROVED")
    lab.ran("c", "refute", body=2)
    before = lab.state.intents.propositions["c"]
    assert before.fell
    lab.stage("revise_proposition", "c", statement="it is otherwise", prediction=PREDICTION)
    lab.decide("APPROVED")
    after = lab.state.intents.propositions["c"]
    assert (after.fell, after.prediction, after.worded_at) == ("", PREDICTION, after.changed_at)
    assert after.worded_at > before.worded_at


def test_a_test_that_came_before_the_wording_counts_for_nothing() -> None:
    lab = Lab()
    found = lab.evidence("c", body=1, eliminates_if_supported=("aether",))
    assert "aether" in lab.state.beliefs.survivors
    lab.proposition("c")
    event = promoted(lab, "supported", found.evidence_id)
    assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", "$.evidence_ids[0]")


def test_a_proposition_that_predicts_nothing_cannot_be_tested() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c", statement="it is so")
    lab.decide("APPROVED")
    lab.evidence("c", body=1)
    assert code_of(promoted(lab, "supported")) == "NOT_WARRANTED"


def test_data_from_before_the_wording_support_and_neither_prove_nor_eliminate() -> None:
    lab = Lab()
    for body in (1, 2):
        lab.observed(body)
    lab.proposition("c")
    for body in (1, 2):
        lab.evidence("c", body=body, eliminates_if_supported=("aether",))
    assert "aether" in lab.state.beliefs.survivors
    assert code_of(promoted(lab, "proven")) == "NOT_WARRANTED"
    assert isinstance(promoted(lab, "supported"), IntentStaged)


@pytest.mark.parametrize(
    ("predicted", "path"),
    [
        ({"criterion": Near(value=1.0, tolerance=0.2)}, "$.criterion"),
        ({"criterion": Near(value=1.1, tolerance=0.1)}, "$.criterion"),
        ({"criterion": Ordered(side="above", than=0.5)}, "$.criterion"),
        ({"unit": "ms"}, "$.unit"),
        ({"quantity": "y"}, "$.params"),
        ({"bounds": (0.0, 2.0)}, "$.params.bounds"),
        ({"at_least": 0.5}, "$.criterion.at_least"),
    ],
)
def test_a_test_is_for_what_was_predicted_or_it_is_not_planned(predicted: dict[str, Any], path: str) -> None:
    lab = Lab()
    prediction = replace(PREDICTION, **predicted)
    lab.stage("create_proposition", "c", statement="it is so", prediction=prediction)
    lab.decide("APPROVED")
    event = lab.designed("c", 1)
    assert (code_of(event), path_of(event)) == ("NOT_WARRANTED", path)


@pytest.mark.parametrize(
    ("criterion", "low", "high", "fits"),
    [
        (Near(value=40.0, tolerance=2.0), 50.0, 60.0, False),
        (Near(value=40.0, tolerance=2.0), 20.0, 38.0, True),
        (Ordered(side="above", than=10.0), 0.0, 10.0, False),
        (Ordered(side="below", than=10.0), 0.0, 10.0, True),
        (Ordered(side="below", than=0.0), 0.0, 10.0, False),
        (Within(low=1.0, high=2.0), 3.0, 4.0, False),
        (Within(low=1.0, high=2.0), 2.0, 4.0, True),
    ],
)
def test_a_region_that_no_possible_value_lies_in_cannot_be_predicted(
    criterion: Any, low: float, high: float, fits: bool
) -> None:
    if fits:
        assert replace(PREDICTION, criterion=criterion, bounds=(low, high)).bounds == (low, high)
    else:
        with pytest.raises(ValueError, match="no value within `bounds`"):
            replace(PREDICTION, criterion=criterion, bounds=(low, high))


def test_an_id_does_not_speak_for_the_server_on_a_card() -> None:
    lab = Lab()
    lab.stage("create_proposition", "c` takes nobody; `d", statement="s")
    assert lab.waiting.reason == "create_proposition of `c' takes nobody; 'd` takes a person"


def test_another_wording_needs_another_test() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.evidence("c", body=1)
    same = lab.stage("revise_proposition", "c", statement="The mean is one,  says c", prediction=FELLING)
    assert (code_of(same), path_of(same)) == ("CONFLICT", "$.statement"), "nothing would change"
    again = lab.stage("create_proposition", "d", statement="the mean is one, says c", prediction=FELLING)
    assert code_of(again) == "CONFLICT", "a new id is no new claim"
    lab.stage("revise_proposition", "c", statement="it is otherwise", prediction=PREDICTION)
    lab.decide("APPROVED")
    assert code_of(promoted(lab, "supported")) == "NOT_WARRANTED"
    lab.evidence("c", body=2)
    latest = lab.state.experiments.by_claim["c"][-1]
    assert isinstance(promoted(lab, "supported", latest), IntentStaged)
