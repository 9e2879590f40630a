"""The acts of the demo in which something is imagined, tested, and only then believed."""

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from beliefd.cli.demo.database_pool import WAITS_MS
from beliefd.cli.demo.run import DemoRun, must

if TYPE_CHECKING:
    from beliefd.kernel.speculation.hints import Speculation

CLAIM: Final = "checkout-waits-40ms"
STATEMENT: Final = "a checkout waits 40 ms for a connection, give or take 2"
QUANTITY: Final = "checkout_wait"
PREDICTION: Final = {
    "quantity": QUANTITY,
    "unit": "ms",
    "criterion": {"region": "tolerance", "value": 40.0, "tolerance": 2.0},
}
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


def imagine(demo: DemoRun) -> None:
    ideas = [{"statement": one.statement, "mechanism": one.mechanism} for one in _imagined().alternatives]
    answer = demo.agent.speculate(demo.session_id, CLAIM, ideas)
    noted = answer.hypotheses[0]
    demo.screen.say(f"speculative: {noted.alternative.statement}")
    refusal = _refused(demo, noted.hypothesis_id)
    must(refusal == "HYPOTHESIS_IS_NOT_EVIDENCE", f"an idea was taken for evidence: {refusal}")
    demo.screen.mark("refused", f"to count as evidence: {refusal}")


def _refused(demo: DemoRun, hypothesis_id: str) -> str:
    from beliefd.kernel.errors import BeliefdError

    try:
        demo.agent.link_evidence(demo.session_id, claim_id=CLAIM, run_id=hypothesis_id, role="support")
    except BeliefdError as error:
        return error.code.value
    return "nothing"


def predict(demo: DemoRun) -> None:
    """INVARIANT of the story: the wording stands before the data do."""
    wording = {"type": "create_proposition", "claim_id": CLAIM, "statement": STATEMENT}
    _decided(demo, {**wording, "prediction": PREDICTION}, "that can be measured")
    demo.screen.say(f"fixed before anything is measured: {STATEMENT}")


def take_its_word(demo: DemoRun) -> None:
    typed = demo.agent.observe(demo.session_id, quantity=QUANTITY, unit="ms", values=WAITS_MS)
    must(typed.label == "attested", f"the agent's word was taken for more: {typed.label}")
    demo.screen.say(f"{typed.count} numbers, {typed.label}: {typed.where}")
    ran = _tested(demo, typed.observation_id)
    change = {"type": "update_epistemic_status", "claim_id": CLAIM, "to_status": "supported"}
    staged = demo.agent.stage_intent(demo.session_id, {**change, "evidence_ids": [ran]})
    card = demo.approver.show_approval(staged.approval_id or "")
    must("numbers typed by" in card.reason, f"nobody was told whose numbers they are: {card.reason}")
    demo.screen.mark("waits", card.reason)
    demo.approver.decide_approval(
        card.approval_id, "REJECTED", content_hash=card.content_hash, reason="who has measured that?"
    )
    demo.screen.mark("refused", "by the on-call engineer: who has measured that?")


def put_to_the_test(demo: DemoRun) -> None:
    looked = demo.call("pool.waits", {})
    must(looked.status == "ok" and looked.call_id is not None, f"looking was not allowed: {looked}")
    seen = demo.agent.observe(
        demo.session_id, quantity=QUANTITY, unit="ms", call_id=looked.call_id, pointer="/waits"
    )
    must(seen.label == "witnessed", f"what the server saw is {seen.label}")
    demo.screen.mark("allowed", f"{seen.count} numbers, {seen.label}: {seen.where}")
    _tested(demo, seen.observation_id)


def _tested(demo: DemoRun, observation_id: str) -> str:
    """The id of the evidence that a test of the claim on these data leaves."""
    claim = {"claim_id": CLAIM, "observed": [observation_id]}
    ideas = msgspec.to_builtins(_imagined())
    planned = demo.agent.design_experiment(demo.session_id, claim=claim, speculation=ideas)
    demo.screen.say(f"{planned.template}, informed by {planned.informed_by}: that is all that is kept of it")
    demo.screen.mark("allowed", f"frozen before the first draw as {planned.spec_hash[:16]}")
    ran = demo.agent.run_experiment(demo.session_id, planned.experiment_id)
    must(ran.run is not None and ran.run.outcome == "support", f"the test came out otherwise: {ran.run}")
    assert ran.report is not None  # noqa: S101 - it has run
    assert ran.run is not None  # noqa: S101 - asked by `must`
    passed = sum(check.passed for check in ran.report.checks)
    demo.screen.mark("allowed", f"it holds: {passed} of {len(ran.report.checks)} checks passed")
    again = demo.agent.reproduce_experiment(demo.session_id, planned.experiment_id)
    must(again.reproduced, "made again with its seed, the run came out otherwise")
    demo.screen.mark("verified", f"made again with its seed: the same result {again.result_hash[:16]}")
    return ran.run.evidence_id or ""


def believe(demo: DemoRun) -> None:
    found = demo.agent.list_evidence(demo.session_id, claim_id=CLAIM).evidence
    piece = next(one for one in found if one.label == "witnessed")
    linked = demo.agent.link_evidence(
        demo.session_id, claim_id=CLAIM, run_id=piece.execution_id, role="support"
    )
    demo.screen.say(f"one run supports it, which warrants `{linked.warrants}`: a proof would take two")
    change = {"type": "update_epistemic_status", "claim_id": CLAIM, "to_status": linked.warrants}
    _decided(demo, {**change, "evidence_ids": [piece.evidence_id]}, "the run was made again")
    demo.screen.say(f"{STATEMENT}: {linked.warrants}")


def _decided(demo: DemoRun, change: dict[str, Any], why: str) -> None:
    staged = demo.agent.stage_intent(demo.session_id, change)
    must(staged.state == "awaiting_approval", f"nobody was asked: {staged.state}")
    card, answer = demo.approve(staged.approval_id or "", why)
    done = answer.intent is not None and answer.intent.state == "executed"
    must(done, f"it was not carried out: {answer.intent}")
    demo.screen.mark("allowed", f"{card.reason}; approved and carried out")
