"""The acts of the demo in which something is imagined, tested, and only then believed."""

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from beliefd.cli.stage import Stage, must
from beliefd.cli.world import WAITS_MS

if TYPE_CHECKING:
    from beliefd.kernel.speculation.hints import Speculation

CLAIM: Final = "checkout-waits-40ms"
STATEMENT: Final = "a checkout waits 40 ms for a connection, give or take 2"
SAID: Final = {
    "alternatives": [
        {
            "statement": "a forgotten batch job holds its connections for hours",
            "mechanism": "transactions that nobody ends",
            "prediction": "waits grow with the age of the oldest transaction",
        }
    ],
    "analogies": [
        {"domain": "supermarket tills", "parallel": "one of two is closed", "low": None, "high": None}
    ],
    "edge_cases": ["right after a failover", "with a cold cache"],
    "falsification_criteria": ["waits stay as they are when idle sessions are ended"],
}
"""What the demo's language model says. It is scripted; the agent that asks it and reads its answer is not."""


def _imagined() -> "Speculation":
    from beliefd.agents.speculative import SpeculativeAgent
    from beliefd.llm.scripted import ScriptedModel

    model = ScriptedModel([json.dumps(SAID)])
    return asyncio.run(SpeculativeAgent(model).speculate(STATEMENT))


def imagine(stage: Stage) -> None:
    ideas = [{"statement": one.statement, "mechanism": one.mechanism} for one in _imagined().alternatives]
    answer = stage.agent.speculate(stage.session_id, CLAIM, ideas)
    noted = answer.hypotheses[0]
    stage.screen.say(f"speculative: {noted.alternative.statement}")
    refusal = _refused(stage, noted.hypothesis_id)
    must(refusal == "HYPOTHESIS_IS_NOT_EVIDENCE", f"an idea was taken for evidence: {refusal}")
    stage.screen.verdict("refused", f"to count as evidence: {refusal}")


def _refused(stage: Stage, hypothesis_id: str) -> str:
    from beliefd.kernel.errors import BeliefdError

    try:
        stage.agent.link_evidence(stage.session_id, claim_id=CLAIM, run_id=hypothesis_id, role="support")
    except BeliefdError as error:
        return error.code.value
    return "nothing"


def put_to_the_test(stage: Stage) -> None:
    claim = {
        "claim_id": CLAIM,
        "claimed_value": 40.0,
        "observed_values": list(WAITS_MS),
        "tolerance": 2.0,
        "unit": "ms",
        "seed": 2041,
    }
    ideas = msgspec.to_builtins(_imagined())
    planned = stage.agent.design_experiment(stage.session_id, claim=claim, speculation=ideas)
    stage.screen.say(f"{planned.template}, informed by {planned.informed_by}: that is all that is kept of it")
    stage.screen.verdict("allowed", f"frozen before the first draw as {planned.spec_hash[:16]}")
    ran = stage.agent.run_experiment(stage.session_id, planned.experiment_id)
    must(ran.run is not None and ran.run.outcome == "support", f"the test came out otherwise: {ran.run}")
    assert ran.report is not None  # noqa: S101 - it has run
    passed = sum(check.passed for check in ran.report.checks)
    stage.screen.verdict("allowed", f"it holds: {passed} of {len(ran.report.checks)} checks passed")
    again = stage.agent.reproduce_experiment(stage.session_id, planned.experiment_id)
    must(again.reproduced, "made again with its seed, the run came out otherwise")
    stage.screen.verdict("verified", f"made again with its seed: the same result {again.result_hash[:16]}")


def believe(stage: Stage) -> None:
    _decided(stage, {"type": "create_proposition", "claim_id": CLAIM, "statement": STATEMENT})
    run_id = stage.agent.list_evidence(stage.session_id, claim_id=CLAIM).evidence[0].execution_id
    linked = stage.agent.link_evidence(stage.session_id, claim_id=CLAIM, run_id=run_id, role="support")
    stage.screen.say(f"one run supports it, which warrants `{linked.warrants}`: a proof would take two")
    wanted = {"type": "update_epistemic_status", "claim_id": CLAIM}
    found = [linked.evidence.evidence_id]
    _decided(stage, {**wanted, "to_status": linked.warrants, "evidence_ids": found})
    stage.screen.say(f"{STATEMENT}: {linked.warrants}")


def _decided(stage: Stage, change: dict[str, Any]) -> None:
    staged = stage.agent.stage_intent(stage.session_id, change)
    must(staged.state == "awaiting_approval", f"nobody was asked: {staged.state}")
    card = stage.approver.show_approval(staged.approval_id or "")
    answer = stage.approver.decide_approval(
        card.approval_id, "APPROVED", content_hash=card.content_hash, reason="the run was made again"
    )
    done = answer.intent is not None and answer.intent.state == "executed"
    must(done, f"it was not carried out: {answer.intent}")
    stage.screen.verdict("allowed", f"{card.reason}; approved and carried out")
