"""The story that `beliefd demo` plays through the public API. A new capability adds its act to ACTS.

Every act checks what it shows: if the server ruled otherwise than the story says, the demo fails.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from beliefd.cli import lanes_story
from beliefd.cli.stage import Stage, must

if TYPE_CHECKING:
    from beliefd.protocol.substrate import CandidateAnswer

FIRST_PROBES = 2
"""So many come back before the agent loses patience."""


class Act(Struct, frozen=True):
    title: str
    play: Callable[[Stage], None]


def play(stage: Stage) -> None:
    for act in ACTS:
        stage.screen.act(act.title)
        act.play(stage)


def _open(stage: Stage) -> None:
    kit = stage.kit
    stage.screen.say(kit.story)
    answer = stage.agent.declare_session(kit.hypotheses, kit.ontology, metadata={"title": kit.title})
    stage.session_id = answer.session_id
    stage.draw(answer.snapshot)


def _promise(stage: Stage) -> None:
    obligation = stage.kit.obligation
    stage.approver.enter_obligation(stage.session_id, obligation.id, obligation.min_total_eliminations)
    stage.screen.verdict("allowed", f"obligation {obligation.id}: {obligation.why}")


def _first_probes(stage: Stage) -> None:
    for probe in stage.kit.probes[:FIRST_PROBES]:
        stage.probe(probe)


def _jump(stage: Stage) -> None:
    hasty = stage.kit.concluded(stage.kit.tempting)
    conclusion = stage.agent.declare_conclusion(stage.session_id, hasty)
    must(not conclusion.accepted, "the hasty conclusion was accepted")
    stage.screen.verdict("refused", f"{hasty}: {conclusion.reason}")
    release = stage.agent.request_exit(stage.session_id, stage.kit.obligation.id)
    must(not release.approved, "the obligation was left before it was met")
    stage.screen.verdict("refused", f"to leave {stage.kit.obligation.id}: {release.reason}")


def _other_probes(stage: Stage) -> None:
    for probe in stage.kit.probes[FIRST_PROBES:]:
        stage.probe(probe)
    left = stage.agent.query_belief(stage.session_id).survivors
    must(left == [stage.kit.truth], f"the probes left {left}")


def _release(stage: Stage) -> None:
    answer = stage.agent.request_exit(stage.session_id, stage.kit.obligation.id)
    must(answer.approved, answer.reason)
    stage.screen.verdict("allowed", f"to leave {stage.kit.obligation.id}: {answer.reason}")


def _conclude(stage: Stage) -> None:
    found = stage.kit.concluded(stage.kit.truth)
    answer = stage.agent.declare_conclusion(stage.session_id, found)
    must(answer.accepted, answer.reason)
    stage.screen.verdict("allowed", f"{found}: {answer.reason}")


def _propose_remedy(stage: Stage) -> None:
    """A fact with evidence that can be hashed again, and an act that cannot be undone."""
    remedy = stage.kit.remedy
    if remedy is None:
        return
    evidence = stage.agent.store_content(f"{stage.kit.truth}: {remedy.finding}\n".encode())
    pointer = {
        "source": f"content://{evidence.sha256}",
        "source_confidence": 0.95,
        "evidence_hash": evidence.sha256,
        "retrieved_at": stage.agent.audit_trace(stage.session_id).events[-1]["ts"],
    }
    sure = {"method": "confidence_score", "value": 0.1}
    answer = stage.agent.submit_claims(
        stage.session_id,
        {
            "id": "remedy",
            "origin_agent": "agent://demo-agent",
            "claims": [
                {
                    "statement": remedy.finding,
                    "claim_type": "FACT",
                    "evidence_pointers": [pointer],
                    "uncertainty": sure,
                    "risk_tier": "READ_ONLY",
                },
                {
                    "statement": remedy.action,
                    "claim_type": "DECISION",
                    "uncertainty": sure,
                    "risk_tier": "DELETE",
                    "if_wrong_cost": remedy.if_wrong_cost,
                },
            ],
        },
    )
    must(answer.decision == "ESCALATE", f"the remedy was not held back: {answer.reason}")
    stage.screen.say(remedy.action)
    stage.screen.verdict(
        "waits", f"{answer.reason}; gates passed: {', '.join(answer.audit_trail.gates_passed)}"
    )


def _approve_remedy(stage: Stage) -> None:
    if stage.kit.remedy is None:
        return
    card = next(
        item for item in stage.approver.list_approvals().approvals if item.session_id == stage.session_id
    )
    stage.screen.say(f"the inbox shows {card.tier}, if wrong: {card.claims[-1].if_wrong_cost}")
    answer = stage.approver.decide_approval(
        card.approval_id, "APPROVED", content_hash=card.content_hash, reason="customers were told"
    )
    must(answer.outcome == "PUBLISH", f"the approved remedy did not get out: {answer.outcome}")
    stage.screen.verdict("allowed", f"approved as shown, content {card.content_hash[:16]}, and published")


def _call(stage: Stage, tool_id: str, args: dict[str, Any], key: str | None = None) -> "CandidateAnswer":
    candidate = {
        "kind": "tool_call",
        "tool_id": tool_id,
        "args": args,
        "capability_token": stage.capability,
        "idempotency_key": key,
    }
    return stage.agent.propose(stage.session_id, [candidate]).results[0]


def _equip(stage: Stage) -> None:
    issued = stage.admin.issue_capability(
        stage.session_id,
        agent_id="agent://demo-agent",
        scope={"tools": ["*"], "budgets": {"calls": 5}},
        expires_in_seconds=600,
    )
    stage.capability = issued.token
    stage.screen.verdict("allowed", "the agent may make five calls within ten minutes")
    goal = {"v": 1, "kind": "remedy", "target": stage.kit.truth}
    answer = stage.agent.propose(
        stage.session_id, [{"kind": "delta", "patch": {"set": {"goal.next_action": goal}}}]
    )
    must(answer.results[0].verdict == "allow", "the agent could not set its goal")
    looked = _call(stage, "pool.idle_sessions", {})
    must(looked.status == "ok", f"looking was not allowed: {looked.reason_code}")
    stage.screen.verdict("allowed", f"pool.idle_sessions: {looked.result}")


def _overreach(stage: Stage) -> None:
    answer = _call(stage, "pool.drop_table", {"table": "orders"}, "drop-1")
    must(answer.verdict == "deny", "a table was dropped")
    reason = answer.reasons[0]
    stage.screen.verdict("refused", f"pool.drop_table: {reason.text} ({reason.constraint})")


def _ask(stage: Stage) -> None:
    asked = _call(stage, "pool.end_idle_sessions", {}, "end-1")
    must(asked.on_fail == "ask" and asked.approval_id is not None, "nobody was asked")
    stage.screen.verdict("waits", f"pool.end_idle_sessions: {asked.reasons[0].text}")
    card = stage.approver.show_approval(asked.approval_id or "")
    answer = stage.approver.decide_approval(
        card.approval_id, "APPROVED", content_hash=card.content_hash, reason="told at 14:31"
    )
    must(answer.call is not None and answer.call.status == "ok", "the confirmed call did not run")
    assert answer.call is not None  # noqa: S101 - checked above
    stage.screen.verdict("allowed", f"confirmed, arbitrated again and run once: {answer.call.result}")
    again = _call(stage, "pool.end_idle_sessions", {}, "end-1")
    must(again.reason_code == "REPEATED", "it ran twice")
    stage.screen.say("asked for again under the same key, it is answered from the ledger and not run again")


def _end(stage: Stage) -> None:
    answer = stage.approver.request_termination(stage.session_id)
    must(answer.approved, answer.reason)
    stage.screen.verdict("allowed", f"to close the session: {answer.reason}")
    stage.draw(answer.snapshot)


def _verify(stage: Stage) -> None:
    answer = stage.agent.verify(stage.session_id)
    must(answer.ok, f"the ledger is broken: {answer.first_bad}")
    stage.screen.verdict("verified", f"{answer.checked} events: every hash, link and decision recomputed")


def _why(stage: Stage) -> None:
    answer = stage.agent.why(stage.session_id, stage.kit.tempting)
    must(not answer.survives and bool(answer.events), f"nobody spoke against {stage.kit.tempting}")
    for item in answer.events:
        said = item.justification["because"]
        stage.screen.say(f"{stage.kit.tempting} fell at event {item.seq} to {item.source_id}: {said}")


def _what_if(stage: Stage) -> None:
    silent = stage.kit.probes[-1].source
    answer = stage.agent.counterfactual(stage.session_id, without_source_ids=[silent])
    must(bool(answer.restored), f"nothing rests on {silent}")
    stage.screen.say(f"had {silent} never spoken, {', '.join(answer.restored)} would still stand")
    for item in answer.conclusions:
        rests = "rests" if item.rests_on_removed else "does not rest"
        stage.screen.say(f"so {item.conclusion_id} {rests} on its word")


def _measure(stage: Stage) -> None:
    """The same question three times: what the answers say counts, not how sure the agent says it is."""
    answers = [f"It was {name}." for name in list(stage.kit.hypotheses)[:3]]
    answer = stage.agent.check_claims(
        {
            "origin_agent": "agent://demo-agent",
            "claims": [
                {
                    "statement": answers[0],
                    "claim_type": "INFERENCE",
                    "uncertainty": {"method": "semantic_entropy", "value": 0.05, "samples": answers},
                    "risk_tier": "READ_ONLY",
                }
            ],
        }
    )
    must(answer.decision == "DEFER", f"three answers passed for one: {answer.reason}")
    stage.screen.say("asked three times, the agent names three causes, and declares an uncertainty of 0.05")
    stage.screen.verdict("waits", answer.reason)


ACTS: tuple[Act, ...] = (
    Act("An incident: every cause is still possible", _open),
    Act("The on-call engineer sets a condition", _promise),
    Act("The agent probes", _first_probes),
    Act("The agent jumps to a conclusion", _jump),
    Act("The agent probes on", _other_probes),
    Act("The condition is met", _release),
    Act("The conclusion is accepted", _conclude),
    Act("The agent proposes what cannot be undone", _propose_remedy),
    Act("A person approves exactly that", _approve_remedy),
    Act("The agent asks for tools", _equip),
    Act("One tool it does not get", _overreach),
    Act("One tool it gets when a person says so", _ask),
    Act("The agent imagines, which counts for nothing", lanes_story.imagine),
    Act("What was imagined is put to the test", lanes_story.put_to_the_test),
    Act("What was tested may be believed", lanes_story.believe),
    Act("The on-call engineer closes the session", _end),
    Act("The ledger is verified", _verify),
    Act("Why was it not the release?", _why),
    Act("What if one source had been silent?", _what_if),
    Act("How sure is the agent? That is measured", _measure),
)
