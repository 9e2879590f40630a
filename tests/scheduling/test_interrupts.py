"""Interrupts: what waits never begins, what runs is drained or cancelled, and nothing is let through."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.decide import decide
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.events import Interrupted, SignalNoted
from beliefd.kernel.scheduling.state import Interruption, Kind, Scheduling
from beliefd.kernel.substrate.commands import StartCall
from beliefd.kernel.substrate.events import CallStopped, OutcomeRecorded
from beliefd.kernel.substrate.state import Basis, ToolCall
from beliefd.kernel.values import later
from beliefd.protocol.substrate import ProposalAnswer
from beliefd.testing.world import AGENT, OTHER_AGENT, policy, refused
from beliefd.tools import slots
from tests.substrate.conftest import Build
from tests.substrate.kernel import NOW, facts_of, session_with
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, deny, one, rules, tool_call

ANYTHING = rules(all=ALLOW_ALL)


def limited(**interrupts: Any) -> Policy:
    return policy(constraints={"constraint.all": ALLOW_ALL}, scheduling={"interrupts": interrupts})


def test_while_it_is_interrupted_everything_proposed_is_deferred_and_says_why(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    token = house.token(session)
    answer = house.ann.interrupt(session, "user_intent", "wait for the release")
    assert (answer.interrupted, answer.stopped, answer.cancelled) == (True, [], [])
    told = house.agent.propose(session, [tool_call("note.read", token), delta(goal__x=1)])
    for result in told.results:
        assert (result.verdict, result.on_fail, codes(result)) == ("defer", "defer", ["INTERRUPTED"])
        assert "wait for the release" in result.reasons[0].text
        assert result.reasons[0].remedy == "a person who resumes the session"
    assert house.toolbox.count == 0
    assert len(house.state(session).substrate.symbolic_state) == 0
    house.bob.resume(session, "it is out")
    again = house.agent.propose(session, [tool_call("note.read", token), delta(goal__x=1)])
    assert [result.verdict for result in again.results] == ["allow", "allow"]
    house.check(session)


def test_it_stays_interrupted_in_a_process_that_remembers_nothing(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    token = house.token(session)
    house.ann.interrupt(session, "user_intent", "stop")
    house.forget()
    house.clock.advance(1_000_000)
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).reason_code == "INTERRUPTED"
    house.check(session)


@pytest.mark.parametrize(
    ("kind", "by", "resumes"),
    [
        ("surprisal", "agent", True),
        ("goal_conflict", "agent", True),
        ("user_intent", "agent", False),
        ("policy_deadline", "agent", False),
        ("surprisal", "ann", False),
        ("goal_conflict", "ann", False),
        ("user_intent", "ann", False),
    ],
)
def test_a_program_resumes_only_what_programs_interrupted(
    build: Build, kind: Kind, by: str, resumes: bool
) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    getattr(house, by).interrupt(session, kind, "look at this")
    shown = house.agent.show_schedule(session).interruption
    assert shown is not None
    assert shown.only_people is not resumes
    if resumes:
        house.agent.resume(session, "looked at")
    else:
        refused(Code.FORBIDDEN, lambda: house.agent.resume(session, "looked at"))
        house.ann.resume(session, "looked at")
    assert house.agent.show_schedule(session).interruption is None
    refused(Code.CONFLICT, lambda: house.ann.resume(session, "again"))
    house.check(session)


def test_a_person_takes_over_what_a_program_interrupted(build: Build) -> None:
    house = build(policy=limited(cooldown_seconds=3600, wakes=1))
    session = house.session()
    house.agent.interrupt(session, "surprisal", "odd")
    assert house.ann.interrupt(session, "user_intent", "I will look").interrupted
    assert not house.agent.interrupt(session, "goal_conflict", "odd").interrupted
    refused(Code.FORBIDDEN, lambda: house.agent.resume(session, "looked at"))
    house.check(session)


# -- how often ---------------------------------------------------------------------------------


def noted(house: ToolWorld, session: str) -> str:
    last = house.deltas(session)[-1]
    assert isinstance(last, SignalNoted | Interrupted)
    return last.why if isinstance(last, SignalNoted) else "interrupted!"


def signal(house: ToolWorld, session: str, kind: Kind = "goal_conflict", **more: Any) -> str:
    """What is recorded of a signal; an interruption is resumed at once."""
    answer = house.agent.interrupt(session, kind, "look", **more)
    told = noted(house, session)
    assert answer.interrupted == (told == "interrupted!")
    assert bool(answer.why) != answer.interrupted
    if answer.interrupted:
        house.ann.resume(session, "looked")
    return told


def test_between_two_interrupts_of_programs_lies_the_cooldown(build: Build) -> None:
    house = build(policy=limited(cooldown_seconds=60))
    session = house.session()
    seen = []
    for wait in (0, 59, 1, 59, 1):
        house.clock.advance(wait)
        seen.append(signal(house, session))
    assert seen == ["interrupted!", "cooldown", "interrupted!", "cooldown", "interrupted!"]
    assert house.ann.interrupt(session, "user_intent", "now").interrupted, "people always may"
    house.check(session)


def test_there_are_only_so_many_interrupts_in_a_window(build: Build) -> None:
    house = build(policy=limited(wakes=2, window_seconds=100))
    session = house.session()
    seen = []
    for wait in (0, 10, 10, 79, 1, 1, 9):
        house.clock.advance(wait)
        seen.append(signal(house, session))
    full = "interrupted!"
    assert seen == [full, full, "window", "window", full, "window", full]
    assert len(house.state(session).scheduling.wakes) <= 3
    house.check(session)


def test_a_surprisal_interrupts_when_it_rises_and_not_again_before_it_has_fallen(build: Build) -> None:
    house = build(policy=limited(rising=0.8, falling=0.3))
    session = house.session()
    levels = (0.79, 0.8, 0.9, 0.5, 0.9, 0.3, 0.5, 0.95, None)
    seen = [signal(house, session, "surprisal", level=level) for level in levels]
    full = "interrupted!"
    assert seen == ["below", full, "not_calmed", "below", "not_calmed", "below", "below", full, "not_calmed"]
    assert signal(house, session, "goal_conflict") == full, "another kind is not about surprise"
    house.check(session)


def test_thresholds_the_wrong_way_round_are_no_policy() -> None:
    with pytest.raises(ValueError, match="`falling` is larger than `rising`"):
        limited(rising=0.2, falling=0.3)


# -- what waits, and what runs -------------------------------------------------------------------


class Blocked:
    """Tools that run until they are let go, and say in which order they began."""

    def __init__(self, house: ToolWorld) -> None:
        self.go, self.began = threading.Event(), threading.Semaphore(0)
        self.order: list[str] = []
        house.toolbox.registry.tool("function")(self.function)
        house.toolbox.registry.tool("coroutine")(self.coroutine)

    def function(self, name: str = "") -> str:
        self.order.append(name)
        self.began.release()
        self.go.wait(60)
        return "ran"

    async def coroutine(self) -> str:
        self.began.release()
        await asyncio.to_thread(self.go.wait, 60)
        return "ran"


def proposing(
    callers: ThreadPoolExecutor, house: ToolWorld, session: str, token: str, *tools: str
) -> "Future[ProposalAnswer]":
    return callers.submit(house.agent.propose, session, [tool_call(tool, token) for tool in tools])


def test_what_waits_for_its_turn_never_begins_and_what_runs_is_drained(house: ToolWorld) -> None:
    blocked = Blocked(house)
    session = house.session()
    token = house.token(session, budgets={"calls": 5})
    with ThreadPoolExecutor(1) as callers:
        asked = proposing(callers, house, session, token, "function", "note.read", "note.read")
        blocked.began.acquire()
        answer = house.ann.interrupt(session, "user_intent", "stop")
        assert len(answer.stopped) == 2
        assert answer.cancelled == []
        blocked.go.set()
        first, *rest = asked.result().results
    assert (first.status, first.result) == ("ok", "ran")
    assert [(one.status, one.reason_code) for one in rest] == [("stopped", "INTERRUPTED")] * 2
    assert house.toolbox.count == 0
    (capability,) = house.root.list_capabilities(session).capabilities
    assert capability.used.calls == 1, "what never ran is not used"
    assert [row.status for row in house.rows()] == ["done"] * 3
    house.check(session)


@pytest.mark.parametrize("tool", ["function", "coroutine"])
def test_what_runs_here_is_cancelled_and_nobody_knows_how_far_it_came(house: ToolWorld, tool: str) -> None:
    blocked = Blocked(house)
    session = house.session()
    token = house.token(session)
    with ThreadPoolExecutor(1) as callers:
        asked = proposing(callers, house, session, token, tool, "note.read")
        blocked.began.acquire()
        answer = house.ann.interrupt(session, "user_intent", "stop", running="cancel")
        first, second = asked.result().results  # it is answered though the tool still runs
        assert (answer.cancelled, answer.stopped) == ([first.call_id], [second.call_id])
        blocked.go.set()
    assert (first.status, second.status) == ("unknown", "stopped")
    assert "interrupt cancelled it" in first.error
    house.check(session)


def test_what_waits_for_a_place_hears_of_it_at_once(
    house: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its turn does not come, and it is answered without one."""
    monkeypatch.setattr(slots, "slots", slots.Slots(2))
    blocked = Blocked(house)
    other, session = house.session(), house.session()
    with ThreadPoolExecutor(2) as callers:
        runs = proposing(callers, house, other, house.token(other), "function")
        blocked.began.acquire()
        waits = proposing(callers, house, session, house.token(session), "note.read")
        while not house.state(session).substrate.calls:
            pass
        house.ann.interrupt(session, "user_intent", "stop")
        assert one(waits.result()).status == "stopped"
        blocked.go.set()
        assert one(runs.result()).status == "ok", "another session is not interrupted"
    house.check(session)


CALLER_RUNS = policy(
    constraints={"constraint.all": ALLOW_ALL, "constraint.mail": deny("mail", on_fail="ask")},
    tools={"mail": {"executor": "caller"}, "look": {"executor": "caller"}},
)


def approved(house: ToolWorld, session: str, token: str) -> str:
    asked = one(house.agent.propose(session, [tool_call("mail", token)], execute="caller"))
    house.ann.approve(house.ann.show_approval(asked.approval_id or ""))
    (name,) = house.state(session).substrate.calls
    return name


def test_what_callers_run_is_named_and_cannot_be_cancelled(build: Build) -> None:
    house = build(policy=CALLER_RUNS)
    session = house.session()
    token = house.token(session)
    begun = one(house.agent.propose(session, [tool_call("look", token)], execute="caller"))
    assert begun.permit is not None
    answer = house.ann.interrupt(session, "user_intent", "stop", running="cancel")
    assert (answer.elsewhere, answer.cancelled, answer.stopped) == ([begun.call_id], [], [])
    assert house.agent.report_outcome(session, begun.call_id or "", "ok", result="seen").status == "ok"
    house.check(session)


def test_an_approved_call_that_has_not_begun_waits_on_unless_all_is_cancelled(build: Build) -> None:
    house = build(policy=CALLER_RUNS)
    session = house.session()
    token = house.token(session)
    call_id = approved(house, session, token)
    assert house.ann.interrupt(session, "user_intent", "wait").stopped == []
    refused(Code.CONFLICT, lambda: house.agent.begin_call(session, call_id))
    house.ann.resume(session, "go on")
    assert house.agent.begin_call(session, call_id).permit is not None
    house.agent.report_outcome(session, call_id, "ok")
    house.check(session)


def test_cancelling_ends_approved_calls_that_have_not_begun(build: Build) -> None:
    house = build(policy=CALLER_RUNS)
    session = house.session()
    token = house.token(session)
    call_id = approved(house, session, token)
    assert house.ann.interrupt(session, "user_intent", "no", running="cancel").stopped == [call_id]
    house.ann.resume(session, "go on")
    refused(Code.CONFLICT, lambda: house.agent.begin_call(session, call_id))
    assert house.agent.show_call(session, call_id).status == "stopped"
    house.check(session)


def test_no_call_begins_in_an_interrupted_session_however_it_came_to_wait_there() -> None:
    """An interrupt stops all that waits. Whatever waits all the same does not begin either."""
    waits = ToolCall(
        call_id="c",
        tool_id="note.read",
        args={},
        args_hash="",
        definition_hash="",
        agent_id=AGENT.id,
        state_snapshot_id="genesis",
        policy_hash="",
        scheduled_at=NOW,
        deadline=later(NOW, 60),
        basis=Basis(proposer=AGENT),
    )
    stop = Interruption(kind="user_intent", reason="stop", by="human://ann", by_person=True, at=NOW)
    session = replace(session_with(calls={"c": waits}), scheduling=Scheduling(interruption=stop))
    event = decide(session, StartCall(call_id="c"), facts_of(ANYTHING))
    assert isinstance(event, CallStopped)
    assert event.result.reason_code == "INTERRUPTED"


def test_a_yes_while_it_is_interrupted_stays_unspent(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, asks=deny("note.read", on_fail="ask")))
    session = house.session()
    token = house.token(session)
    waits = one(house.agent.propose(session, [tool_call("note.read", token)])).approval_id or ""
    house.ann.interrupt(session, "user_intent", "stop")
    card = house.ann.show_approval(waits)
    refused(Code.CONFLICT, lambda: house.ann.approve(card))
    house.ann.resume(session, "go on")
    house.ann.approve(house.ann.show_approval(waits))
    assert house.toolbox.count == 1
    house.check(session)


def test_an_interrupt_under_the_same_key_happens_once(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    first = house.ann.interrupt(session, "user_intent", "stop", idempotency_key="k")
    house.ann.resume(session, "go on")
    again = house.ann.interrupt(session, "user_intent", "stop", idempotency_key="k")
    assert again.audit_event_id == first.audit_event_id
    assert house.agent.show_schedule(session).interruption is None
    house.check(session)


def test_outcomes_and_beliefs_go_on_while_it_is_interrupted(build: Build) -> None:
    """An interrupt stops acting. What was seen can still be said."""
    house = build(policy=ANYTHING)
    session = house.session()
    house.ann.interrupt(session, "user_intent", "stop")
    house.agent.eliminate(session, eliminated=["h1"], source_id="oracle://x", observation_id="o")
    assert house.agent.query_belief(session).n_survivors == 1
    house.check(session)


def test_another_agent_can_interrupt_and_the_ledger_names_it(build: Build) -> None:
    house = build(policy=ANYTHING)
    session = house.session()
    house.person(OTHER_AGENT).interrupt(session, "goal_conflict", "we undo each other's work")
    shown = house.agent.show_schedule(session).interruption
    assert shown is not None
    assert (shown.by, shown.kind) == (OTHER_AGENT.id, "goal_conflict")
    assert not any(isinstance(event, OutcomeRecorded) for event in house.deltas(session))
    house.check(session)
