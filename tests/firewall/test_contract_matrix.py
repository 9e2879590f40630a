"""The bridge's rows of the speculative-lane contract's matrix (section G), under their literal names."""

import asyncio
import json
from typing import Any

import pytest

from beliefd.agents.speculative import SpeculativeAgent
from beliefd.agents.verify import VerifyAgent
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.params import PARAMS, checked_spec, parse_spec
from beliefd.kernel.experiments.testable import TestableClaim
from beliefd.kernel.speculation.hints import ExperimentHints, PriorSuggestion, Speculation
from beliefd.kernel.speculation.state import Alternative
from beliefd.llm.scripted import ScriptedModel

SPEC: dict[str, Any] = {
    "claim_id": "c1",
    "template": "numeric_consistency",
    "params": {"claimed_value": 1.0, "observed_values": [1.0, 1.1]},
}
CLAIM = TestableClaim(claim_id="c1", claimed_value=1.0, observed_values=(0.9, 1.0, 1.1), tolerance=0.5)
SPECULATION = Speculation(
    alternatives=(Alternative(statement="it leaks", mechanism="a leak", prediction="memory grows"),),
    analogies=(PriorSuggestion(domain="roads", parallel="jams", range=(1.0, 2.0)),),
    edge_cases=("cold start", "leap second"),
    falsification_criteria=("it stops by itself",),
)


def refused_at(document: dict[str, Any]) -> str:
    with pytest.raises(ValueError, match="speculation was left in an experiment's plan") as raised:
        parse_spec(document)
    error = raised.value
    assert isinstance(error, BeliefdError)
    assert error.code is Code.SPECULATIVE_RESIDUE
    assert error.details is not None
    return str(error.details["path"])


def test_experiment_hints_digest_is_stable() -> None:
    def made(*axes: str) -> ExperimentHints:
        return ExperimentHints(claim_id="c1", sensitivity_axes=axes, candidate_mechanisms=("a leak",))

    assert made("cold start", "leap second").digest() == made("cold start", "leap second").digest()
    assert made("cold start", "leap second").digest() == made("leap second", "cold start").digest()
    assert made("cold start", "leap second").digest() != made("cold start").digest()
    assert made().epistemic_status == "speculative"


def test_experiment_spec_rejects_experiment_hints_field() -> None:
    assert parse_spec(SPEC).claim_id == "c1"
    for name in ("experiment_hints", "experimentHints", "EXPERIMENT-HINTS"):
        assert refused_at({**SPEC, name: {"sensitivity_axes": ["cold start"]}}) == f"$.{name}"


def test_experiment_spec_rejects_nested_speculative_content() -> None:
    params = SPEC["params"]
    for name in ("alternatives", "analogies", "edge_cases", "speculative_context", "epistemic_status"):
        assert (
            refused_at({**SPEC, "params": {**params, "deep": [{"er": {name: []}}]}})
            == f"$.params.deep[0].er.{name}"
        )
        text = json.dumps({"er": {name: "x"}})
        assert refused_at({**SPEC, "params": {**params, "deep": text}}) == f"$.params.deep{{}}.er.{name}"


def test_speculative_agent_extract_experiment_hints() -> None:
    hints = SpeculativeAgent(ScriptedModel([])).extract_experiment_hints("c1", SPECULATION)
    assert isinstance(hints, ExperimentHints)
    assert hints.claim_id == "c1"
    assert hints.candidate_mechanisms == ("a leak",)
    assert hints.discriminative_predictions == ("memory grows",)
    assert hints.sensitivity_axes == ("cold start", "leap second")
    assert hints.prior_suggestions == (PriorSuggestion(domain="roads", parallel="jams", range=(1.0, 2.0)),)
    assert hints.falsification_criteria == ("it stops by itself",)
    assert hints.epistemic_status == "speculative"


def test_verify_agent_design_uses_hints_for_template_selection() -> None:
    hints = SpeculativeAgent.extract_experiment_hints("c1", SPECULATION)
    spec = asyncio.run(VerifyAgent().design(CLAIM, hints))
    assert spec.template == "sensitivity_suite"
    assert isinstance(checked_spec(spec), PARAMS["sensitivity_suite"])
    assert spec.hints_digest == hints.digest()


def test_verify_agent_design_falls_back_without_hints() -> None:
    for hints in (None, ExperimentHints(claim_id="c1")):
        spec = asyncio.run(VerifyAgent().design(CLAIM, hints))
        assert spec.template == "numeric_consistency"
        assert isinstance(checked_spec(spec), PARAMS["numeric_consistency"])
        assert spec.hints_digest == ""
