"""The rows of the contract's matrix that need a steward: what becomes evidence, and what never does.

Each test has the name that the matrix gives it. A hard failure is a `ValueError` in the library, and over the
client the same refusal with its code.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from beliefd.client.requests import Request
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.scan.guards import guard_evidence
from beliefd.kernel.speculation.hints import ExperimentHints
from beliefd.kernel.speculation.state import SpeculativeHypothesis
from beliefd.protocol.experiments import ExperimentRows
from beliefd.testing.world import AGENT, Person, World
from tests.firewall.test_pipeline import OBSERVED, proposed, session_of


@pytest.fixture
def library() -> Iterator[Person]:
    with World() as house:
        yield house.person(AGENT)


def evidence(**more: Any) -> dict[str, Any]:
    return {"claim_id": "wait", "run_id": "run-1", "role": "support", **more}


def stopped(library: Person, document: dict[str, Any], code: Code) -> BeliefdError:
    """The guard raises in the library, and the same document is stopped at the door; nothing is minted."""
    with pytest.raises(ValueError, match=r"CRITICAL: ") as raised:
        guard_evidence(document)
    session_id = session_of(library)
    with pytest.raises(BeliefdError) as refused:
        library._send(Request(ExperimentRows.link_evidence, {"session_id": session_id}, body=document))
    assert refused.value.code == code
    assert str(raised.value) == str(refused.value)
    assert library.query_belief(session_id).seq == 2, "the attempt is on record, and nothing else"
    assert isinstance(library.world.deltas(session_id)[-1], Refused)
    assert library.list_evidence(session_id).evidence == []
    return refused.value


def test_v22_p11_guard_speculative_evidence(library: Person) -> None:
    error = stopped(library, evidence(epistemic_status="speculative"), Code.SPECULATIVE_EVIDENCE)
    assert error.message.startswith("CRITICAL: Attempted to persist speculative evidence")


def test_v22_p11_guard_nested_speculative(library: Person) -> None:
    nested = evidence(result={"steps": [{"source": {"epistemic_status": "speculative"}}]})
    error = stopped(library, nested, Code.SPECULATIVE_EVIDENCE)
    assert (error.details or {})["path"] == "$.result.steps[0].source.epistemic_status"


def test_v22_p11_guard_json_string_speculative(library: Person) -> None:
    hidden = evidence(result='{"epistemic_status": "speculative"}')
    stopped(library, hidden, Code.SPECULATIVE_EVIDENCE)


def test_v22_p11_guard_json_string_kebab_speculative(library: Person) -> None:
    hidden = evidence(result='[{"epistemic-status": "speculative"}]')
    stopped(library, hidden, Code.SPECULATIVE_EVIDENCE)


def test_v22_p11_guard_missing_claim_id(library: Person) -> None:
    anonymous = {"run_id": "run-1", "role": "support", "epistemic_status": "speculative"}
    error = stopped(library, anonymous, Code.MISSING_CLAIM_ID)
    assert error.message.startswith("CRITICAL: Validation evidence missing claim_id")


def test_v22_p11_missing_claim_id_does_not_fallback_to_entity_id(library: Person) -> None:
    for name in ("entity_id", "entity-id", "hypothesis_id", "evidence_id"):
        stopped(library, {name: "wait", "run_id": "run-1", "role": "support"}, Code.MISSING_CLAIM_ID)


def test_v22_p11_claim_id_kebab_case_accepted(library: Person) -> None:
    session_id = session_of(library)
    for name in ("claim-id", "proposition_id"):
        given = {"claim_id": "wait", "claimed_value": 40.0, "observed_values": OBSERVED, "tolerance": 2.0}
        planned = library.design_experiment(session_id, claim=given)
        run_id = library.run_experiment(session_id, planned.experiment_id).run_id
        body = {name: "wait", "run_id": run_id, "role": "support"}
        linked = library._send(Request(ExperimentRows.link_evidence, {"session_id": session_id}, body=body))
        assert linked.evidence.claim_id == "wait"
    assert [one.claim_id for one in library.list_evidence(session_id, claim_id="wait").evidence] == [
        "wait",
        "wait",
    ]


def test_v22_p11_speculative_happy_path_with_proposition(library: Person) -> None:
    session_id = session_of(library)
    proposed(library, session_id, "a wait takes 40 ms")
    noted = library.speculate(session_id, "wait", [{"statement": "a leak"}])
    assert noted.hypotheses[0].hypothesis_id == f"shyp-{session_id}-wait-0"
    links = [*["session"] * noted.links.session, *["proposition"] * noted.links.proposition_created]
    assert len(links) == 2
    assert noted.soft_failures == []


def test_v22_p11_speculative_no_proposition_no_link(library: Person) -> None:
    session_id = session_of(library)
    noted = library.speculate(session_id, "wait", [{"statement": "a leak"}])
    assert noted.links.proposition_attempted == 1
    assert noted.links.proposition_created == 0
    assert len(noted.soft_failures) == 1
    held = library.list_hypotheses(session_id).hypotheses
    assert [one.hypothesis_id for one in held] == [f"shyp-{session_id}-wait-0"]


def test_v22_p11_speculative_segregation(library: Person) -> None:
    session_id = session_of(library)
    proposed(library, session_id, "a wait takes 40 ms")
    noted = library.speculate(session_id, "wait", [{"statement": "a leak", "confidence": 1.0}])
    state = library.world.state(session_id)
    assert [type(one) for one in state.speculation.ideas.values()] == [SpeculativeHypothesis]
    assert len(state.experiments.evidence) == 0
    assert len(library.list_evidence(session_id).evidence) == 0
    for role in ("support", "refute", "undercut", "replicate"):
        with pytest.raises(BeliefdError) as refused:
            library.link_evidence(
                session_id, claim_id="wait", run_id=noted.hypotheses[0].hypothesis_id, role=role
            )
        assert refused.value.code == Code.HYPOTHESIS_IS_NOT_EVIDENCE
    assert len(library.list_evidence(session_id).evidence) == 0
    other = session_of(library)
    assert library.list_hypotheses(other).hypotheses == []


def test_steward_rejects_experiment_hints_in_evidence_via_epistemic_status(library: Person) -> None:
    hints = ExperimentHints(claim_id="wait", sensitivity_axes=("cold cache",))
    stopped(library, evidence(context=msgspec.to_builtins(hints)), Code.SPECULATIVE_EVIDENCE)
    bare = {"sensitivity_axes": ["cold cache"], "epistemic_status": "speculative"}
    stopped(library, evidence(context=[bare]), Code.SPECULATIVE_EVIDENCE)
