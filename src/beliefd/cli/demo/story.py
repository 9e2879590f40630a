"""The story that `beliefd demo` plays through the public API. A new capability adds its act to ACTS.

Every act checks what it shows: if the server ruled otherwise than the story says, the demo fails.
"""

from collections.abc import Callable

from msgspec import Struct

from beliefd.cli.demo import hand_over, idea_to_belief
from beliefd.cli.demo.run import DemoRun, must

FIRST_PROBES = 2
"""How many are made before the agent concludes too early."""


class Act(Struct, frozen=True):
    title: str
    play: Callable[[DemoRun], None]


def play(demo: DemoRun) -> None:
    for act in ACTS:
        demo.screen.act(act.title)
        act.play(demo)


def _open(demo: DemoRun) -> None:
    kit = demo.kit
    demo.screen.say(kit.story)
    answer = demo.agent.declare_session(kit.hypotheses, kit.ontology, metadata={"title": kit.title})
    demo.session_id = answer.session_id
    demo.draw(answer.snapshot)


def _promise(demo: DemoRun) -> None:
    obligation = demo.kit.obligation
    demo.approver.enter_obligation(demo.session_id, obligation.id, obligation.min_total_eliminations)
    demo.screen.mark("allowed", f"obligation {obligation.id}: {obligation.why}")


def _first_probes(demo: DemoRun) -> None:
    for probe in demo.kit.probes[:FIRST_PROBES]:
        demo.probe(probe)


def _jump(demo: DemoRun) -> None:
    hasty = demo.kit.concluded(demo.kit.tempting)
    conclusion = demo.agent.declare_conclusion(demo.session_id, hasty)
    must(not conclusion.accepted, "the hasty conclusion was accepted")
    demo.screen.mark("refused", f"{hasty}: {conclusion.reason}")
    release = demo.agent.request_exit(demo.session_id, demo.kit.obligation.id)
    must(not release.approved, "the obligation was left before it was met")
    demo.screen.mark("refused", f"to leave {demo.kit.obligation.id}: {release.reason}")


def _other_probes(demo: DemoRun) -> None:
    for probe in demo.kit.probes[FIRST_PROBES:]:
        demo.probe(probe)
    left = demo.agent.query_belief(demo.session_id).survivors
    must(left == [demo.kit.truth], f"the probes left {left}")


def _release(demo: DemoRun) -> None:
    answer = demo.agent.request_exit(demo.session_id, demo.kit.obligation.id)
    must(answer.approved, answer.reason)
    demo.screen.mark("allowed", f"to leave {demo.kit.obligation.id}: {answer.reason}")


def _conclude(demo: DemoRun) -> None:
    found = demo.kit.concluded(demo.kit.truth)
    answer = demo.agent.declare_conclusion(demo.session_id, found)
    must(answer.accepted, answer.reason)
    demo.screen.mark("allowed", f"{found}: {answer.reason}")


def _propose_remedy(demo: DemoRun) -> None:
    """A fact with evidence that can be hashed again, and an act that cannot be undone."""
    remedy = demo.kit.remedy
    if remedy is None:
        return
    evidence = demo.agent.store_content(f"{demo.kit.truth}: {remedy.finding}\n".encode())
    pointer = {
        "source": f"content://{evidence.sha256}",
        "source_confidence": 0.95,
        "evidence_hash": evidence.sha256,
        "retrieved_at": demo.agent.audit_trace(demo.session_id).events[-1]["ts"],
    }
    sure = {"method": "confidence_score", "value": 0.1}
    answer = demo.agent.submit_claims(
        demo.session_id,
        {
            "id": "remedy",
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
    demo.screen.say(remedy.action)
    demo.screen.mark("waits", f"{answer.reason}; gates passed: {', '.join(answer.audit_trail.gates_passed)}")


def _approve_remedy(demo: DemoRun) -> None:
    if demo.kit.remedy is None:
        return
    waiting = demo.approver.list_approvals().approvals
    approval_id = next(item.approval_id for item in waiting if item.session_id == demo.session_id)
    card, answer = demo.approve(approval_id, "customers were told")
    demo.screen.say(f"the inbox shows {card.tier}, if wrong: {card.claims[-1].if_wrong_cost}")
    must(answer.outcome == "PUBLISH", f"the approved remedy did not get out: {answer.outcome}")
    demo.screen.mark("allowed", f"approved as shown, content {card.content_hash[:16]}, and published")


def _equip(demo: DemoRun) -> None:
    issued = demo.admin.issue_capability(
        demo.session_id,
        agent_id="agent://demo-agent",
        scope={"tools": ["*"], "budgets": {"calls": 5}},
        expires_in_seconds=600,
    )
    demo.capability = issued.token
    demo.screen.mark("allowed", "the agent may make five calls within ten minutes")
    goal = {"v": 1, "kind": "remedy", "target": demo.kit.truth}
    answer = demo.agent.propose(
        demo.session_id, [{"kind": "delta", "patch": {"set": {"goal.next_action": goal}}}]
    )
    must(answer.results[0].verdict == "allow", "the agent could not set its goal")
    looked = demo.call("pool.idle_sessions", {})
    must(looked.status == "ok", f"looking was not allowed: {looked.reason_code}")
    demo.screen.mark("allowed", f"pool.idle_sessions: {looked.result}")


def _overreach(demo: DemoRun) -> None:
    answer = demo.call("pool.drop_table", {"table": "orders"}, "drop-1")
    must(answer.verdict == "deny", "a table was dropped")
    reason = answer.reasons[0]
    demo.screen.mark("refused", f"pool.drop_table: {reason.text} ({reason.constraint})")


def _ask(demo: DemoRun) -> None:
    asked = demo.call("pool.end_idle_sessions", {}, "end-1")
    must(asked.on_fail == "ask" and asked.approval_id is not None, "nobody was asked")
    demo.screen.mark("waits", f"pool.end_idle_sessions: {asked.reasons[0].text}")
    _, answer = demo.approve(asked.approval_id or "", "told at 14:31")
    must(answer.call is not None and answer.call.status == "ok", "the confirmed call did not run")
    assert answer.call is not None  # noqa: S101 - checked above
    demo.screen.mark("allowed", f"confirmed, arbitrated again and run once: {answer.call.result}")
    again = demo.call("pool.end_idle_sessions", {}, "end-1")
    must(again.reason_code == "REPEATED", "it ran twice")
    demo.screen.say("asked for again under the same key, it is answered from the ledger and not run again")


def _end(demo: DemoRun) -> None:
    answer = demo.approver.request_termination(demo.session_id)
    must(answer.approved, answer.reason)
    demo.screen.mark("allowed", f"to close the session: {answer.reason}")
    demo.draw(answer.snapshot)


def _verify(demo: DemoRun) -> None:
    answer = demo.agent.verify(demo.session_id)
    must(answer.ok, f"the ledger is broken: {answer.first_bad}")
    demo.screen.mark("verified", f"{answer.checked} events: every hash, link and decision recomputed")


def _why(demo: DemoRun) -> None:
    answer = demo.agent.why(demo.session_id, demo.kit.tempting)
    must(not answer.survives and bool(answer.events), f"nobody spoke against {demo.kit.tempting}")
    for item in answer.events:
        said = item.justification["because"]
        demo.screen.say(f"{demo.kit.tempting} fell at event {item.seq} to {item.source_id}: {said}")


def _what_if(demo: DemoRun) -> None:
    silent = demo.kit.probes[-1].source
    answer = demo.agent.counterfactual(demo.session_id, without_source_ids=[silent])
    must(bool(answer.restored), f"nothing rests on {silent}")
    demo.screen.say(f"had {silent} never spoken, {', '.join(answer.restored)} would still stand")
    for item in answer.conclusions:
        rests = "rests" if item.rests_on_removed else "does not rest"
        demo.screen.say(f"so {item.conclusion_id} {rests} on its word")


def _measure(demo: DemoRun) -> None:
    """The same question three times: what the answers say counts, not how sure the agent says it is."""
    answers = [f"It was {name}." for name in list(demo.kit.hypotheses)[:3]]
    answer = demo.agent.check_claims(
        {
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
    demo.screen.say("asked three times, the agent names three causes, and declares an uncertainty of 0.05")
    demo.screen.mark("waits", answer.reason)


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
    Act("The agent imagines, which counts for nothing", idea_to_belief.imagine),
    Act("What would be seen is said beforehand", idea_to_belief.predict),
    Act("The agent types numbers, which are its word alone", idea_to_belief.take_its_word),
    Act("The server sees the numbers itself, and puts the claim to the test", idea_to_belief.put_to_the_test),
    Act("What was tested may be believed", idea_to_belief.believe),
    Act("The on-call engineer closes the session", _end),
    Act("The ledger is verified", _verify),
    Act("Why was it not the release?", _why),
    Act("What if one source had been silent?", _what_if),
    Act("How sure is the agent? That is measured", _measure),
    Act("The last word is yours", hand_over.ask_you),
)
