"""A call runs once at most: under its key, when a request comes again, when it hangs, when a server dies."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beliefd.client.operations import Operations
from beliefd.embedded import send
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.substrate.commands import RecordOutcome, StartCall
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, CallStopped, OutcomeRecorded
from beliefd.steward.effects.tools import EXECUTOR
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.call_facts import presented
from beliefd.steward.write.queued import Outcome
from beliefd.stores.base import StorageUnavailable
from beliefd.testing.world import AGENT, refused
from beliefd.tools import slots
from tests.substrate.conftest import Build
from tests.substrate.support import (
    ALLOW_ALL,
    ToolWorld,
    call_candidate,
    codes,
    one,
    proposal,
    rules,
    tool_call,
)


def asked(house: ToolWorld, tool: str, key: str | None = None, **args: Any) -> tuple[str, Any]:
    session = house.session()
    token = house.token(session)
    return session, one(house.agent.propose(session, [tool_call(tool, token, key, **args)]))


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


@pytest.fixture
def stuck() -> Any:
    """A tool that hangs until the test is over."""
    over = threading.Event()
    yield over
    over.set()


def test_a_function_that_hangs_past_its_time_is_unknown_and_its_late_answer_is_not_taken(
    house: ToolWorld, stuck: threading.Event
) -> None:
    house.toolbox.add("hangs", lambda: stuck.wait(60) and "too late", timeout_ms=50)
    session, answer = asked(house, "hangs")
    assert (answer.status, answer.result) == ("unknown", None)
    assert "50 ms" in answer.error
    events = len(house.ledger(session))
    stuck.set()
    time.sleep(0.05)
    assert len(house.ledger(session)) == events
    assert house.toolbox.count == 1
    house.check(session)


def test_a_coroutine_that_will_not_be_cancelled_holds_up_nobody(
    house: ToolWorld, stuck: threading.Event
) -> None:
    async def deaf() -> None:
        while not stuck.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    house.toolbox.registry.tool("deaf", timeout_ms=30)(deaf)
    assert asked(house, "deaf")[1].status == "unknown"
    assert asked(house, "note.read")[1].status == "ok"


def test_functions_that_hang_do_not_use_up_what_others_need(
    house: ToolWorld, stuck: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "slots", slots.Slots(3))
    house.toolbox.add("hangs", lambda: stuck.wait(60), timeout_ms=20)
    session = house.session()
    token = house.token(session)
    for _ in range(2):
        assert one(house.agent.propose(session, [tool_call("hangs", token)])).status == "unknown"
    answer = one(house.agent.propose(session, [tool_call("hangs", token)]))
    assert (answer.status, answer.error.partition(":")[0]) == ("error", "Busy")
    house.check(session)
    stuck.set()


def test_a_repeated_key_gives_the_first_outcome_and_runs_nothing(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    numbers = iter(range(100))
    house.toolbox.add("count", lambda **_: next(numbers), mutates=True)
    session = house.session()
    token = house.token(session, budgets={"calls": 1})
    first = one(house.agent.propose(session, [tool_call("count", token, "k", a=1)]))
    again = one(house.agent.propose(session, [tool_call("count", token, "k", a=1)]))
    assert (first.reason_code, first.result) == ("ALLOWED", 0)
    assert (again.verdict, again.reason_code, again.result) == ("allow", "REPEATED", 0)
    assert (again.status, again.call_id) == ("ok", first.call_id)
    assert house.toolbox.count == 1
    house.check(session)


def test_a_key_used_twice_in_one_proposal_runs_once(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("email.send", token, "k", to="ana")] * 3)
    assert [result.reason_code for result in answer.results] == ["ALLOWED", "REPEATED", "REPEATED"]
    assert [result.result for result in answer.results] == ["sent"] * 3
    assert house.toolbox.count == 1
    house.check(session)


def test_a_repeated_key_with_another_payload_agent_or_token_is_refused(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    token, other = house.token(session), house.token(session)
    bearer = house.root.issue_capability(session, agent_id="*", scope={"tools": ["*"]}).token
    assert one(house.agent.propose(session, [tool_call("email.send", token, "k", to="ana")])).status == "ok"
    assert one(house.agent.propose(session, [tool_call("email.send", bearer, "k2", to="ana")])).status == "ok"
    for person, asks in (
        (house.agent, tool_call("email.send", token, "k", to="bob")),
        (house.agent, tool_call("email.send", other, "k", to="ana")),
        (house.helper, tool_call("email.send", bearer, "k2", to="ana")),
    ):
        answer = one(person.propose(session, [asks]))
        assert (answer.verdict, codes(answer)) == ("deny", ["REPEATED_KEY"])
    fs = one(house.agent.propose(session, [tool_call("calc.add", token, "k", a=1, b=1)]))
    assert fs.reason_code == "ALLOWED", "another tool has keys of its own"
    assert house.toolbox.count == 3
    house.check(session)


def test_a_failed_call_is_not_tried_again_under_its_key(house: ToolWorld) -> None:
    def fail() -> None:
        raise ValueError("no")

    house.toolbox.add("fails", fail, mutates=True)
    session = house.session()
    token = house.token(session)
    for _ in range(2):
        answer = one(house.agent.propose(session, [tool_call("fails", token, "k")]))
        assert (answer.status, answer.error) == ("error", "ValueError: no")
    assert house.toolbox.count == 1


def test_a_request_sent_again_while_its_call_is_running_does_not_run_it_again(
    house: ToolWorld, stuck: threading.Event
) -> None:
    """The same Idempotency-Key twice: the second hears that the call is under way, or how it ended."""
    house.toolbox.add("slow", lambda: stuck.wait(60) and "done", timeout_ms=60_000)
    session = house.session()
    candidate = tool_call("slow", house.token(session))
    answers: list[Any] = []
    first = threading.Thread(
        target=lambda: answers.append(house.agent.propose(session, [candidate], idempotency_key="key-1"))
    )
    first.start()
    wait_until(lambda: house.toolbox.count == 1)
    second = one(house.agent.propose(session, [candidate], idempotency_key="key-1"))
    assert (second.verdict, second.status, second.result) == ("allow", "scheduled", None)
    stuck.set()
    first.join()
    third = one(house.agent.propose(session, [candidate], idempotency_key="key-1"))
    assert one(answers[0]).result == "done"
    assert (third.status, third.result, third.call_id) == ("ok", "done", second.call_id)
    assert house.toolbox.count == 1
    house.check(session)


def test_who_goes_away_does_not_take_the_outcome_along(house: ToolWorld, stuck: threading.Event) -> None:
    house.toolbox.add("slow", lambda: stuck.wait(60) and "done", timeout_ms=60_000)
    session = house.session()
    candidate = tool_call("slow", house.token(session))

    async def impatient() -> None:
        request = Operations.propose(session, [candidate])
        task = asyncio.ensure_future(send(house.runtime, house.agent.principal, request))
        await asyncio.to_thread(wait_until, lambda: house.toolbox.count == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        stuck.set()

    house.run(impatient)
    house.close()
    assert house.toolbox.count == 1


def test_closing_waits_for_calls_under_way(tmp_path: Path, stuck: threading.Event) -> None:
    house = ToolWorld(tmp_path / "b.db", rules(all=ALLOW_ALL))
    house.toolbox.add("slow", lambda: stuck.wait(0.2) or "done")
    session = house.session()
    candidate = tool_call("slow", house.token(session))
    asking = threading.Thread(target=lambda: house.agent.propose(session, [candidate]), daemon=True)
    asking.start()
    wait_until(lambda: house.toolbox.count == 1)
    house = house.restarted()
    (call,) = (house.state(session).substrate.calls[name] for name in house.state(session).substrate.calls)
    assert call.status == "ok"
    house.check(session)
    house.close()


def begin(house: ToolWorld, session: str, call_id: str) -> Outcome:
    """What a server leaves behind that dies while a call runs."""
    outcome: Outcome = house.submit(session, StartCall(call_id=call_id), EXECUTOR)
    return outcome


def decided_but_not_run(house: ToolWorld, session: str, key: str | None = None, **scope: Any) -> str:
    """What a server leaves behind that dies between the decision and the run: the decision."""
    capability_id, _, proof = presented(house.token(session, **scope), None)
    tool = "note.read" if key is None else "email.send"
    args = {} if key is None else {"to": "ana"}
    candidate = call_candidate(tool, args=args, capability_id=capability_id, idempotency_key=key)
    outcome: Outcome = house.submit(
        session, proposal(candidate), AGENT, attachments=Attachments(proofs=(proof,)), key="req-1"
    )
    assert isinstance(outcome.event, Arbitrated)
    call = outcome.event.results[0].call
    assert call is not None
    return call.call_id


def test_a_call_whose_server_died_is_unknown_at_its_deadline_and_never_run(tmp_path: Path) -> None:
    house = ToolWorld(tmp_path / "b.db", rules(all=ALLOW_ALL))
    session = house.session()
    call_id = decided_but_not_run(house, session)
    house = house.restarted()
    assert house.expire() == 0, "its deadline has not come"
    assert house.state(session).substrate.calls[call_id].status == "scheduled"
    begin(house, session, call_id)
    house = house.restarted()
    assert house.expire() == 0, "it has begun, and its deadline has not come"
    house.clock.advance(36)
    assert house.expire() == 1
    call = house.state(session).substrate.calls[call_id]
    assert (call.status, call.result_hash) == ("unknown", None)
    assert house.expire() == 0
    house = house.restarted()
    house.clock.advance(1_000)
    assert house.expire() == 0
    assert house.toolbox.count == 0
    house.check(session)
    house.close()


def test_a_call_that_never_began_is_stopped_at_its_deadline_and_its_key_is_free(tmp_path: Path) -> None:
    house = ToolWorld(tmp_path / "b.db", rules(all=ALLOW_ALL))
    session = house.session()
    call_id = decided_but_not_run(house, session, "k", budgets={"calls": 1})
    capability_id = house.state(session).substrate.calls[call_id].capability_id or ""
    assert house.state(session).substrate.capabilities[capability_id].used.calls == 1
    house = house.restarted()
    house.clock.advance(36)
    assert house.expire() == 1
    held = house.state(session).substrate
    assert held.calls[call_id].status == "stopped"
    assert held.capabilities[capability_id].used.calls == 0, "it is known not to have run"
    assert isinstance(stopped := house.deltas(session)[-1], CallStopped)
    assert stopped.result.reason_code == "OVERDUE"
    again = begin(house, session, call_id)
    assert isinstance(again.event, Refused)
    assert not held.call_keys
    assert house.toolbox.count == 0
    house.check(session)
    house.close()


def test_asking_again_after_a_crash_does_not_run_it_either(tmp_path: Path) -> None:
    """Neither under the request's key nor under the call's: nobody knows whether it ran."""
    house = ToolWorld(tmp_path / "b.db", rules(all=ALLOW_ALL))
    session = house.session()
    call_id = decided_but_not_run(house, session, "k")
    begin(house, session, call_id)
    house = house.restarted()
    first = house.state(session).substrate.calls[call_id]
    token = f"{first.capability_id}.{'x' * 43}"
    assert codes(one(house.agent.propose(session, [tool_call("email.send", token, "k", to="ana")]))) == [
        "BAD_CAPABILITY"
    ]
    candidate = call_candidate(
        "email.send", args={"to": "ana"}, capability_id=first.capability_id, idempotency_key="k"
    )
    again = house.submit(session, proposal(candidate), AGENT, key="req-1")
    assert again.repeated
    house.clock.advance(100)
    house.expire()
    assert house.state(session).substrate.calls[call_id].status == "unknown"
    assert house.toolbox.count == 0
    house.check(session)
    house.close()


def test_an_outcome_is_told_once_and_only_of_a_call_that_was_let_through(house: ToolWorld) -> None:
    session, answer = asked(house, "note.read")
    before = house.hash(session)
    for call_id, code in ((answer.call_id, Code.CONFLICT), ("call-nobody-0", Code.NOT_FOUND)):
        outcome = house.submit(
            session, RecordOutcome(call_id=call_id, status="ok", result="forged"), EXECUTOR
        )
        assert outcome.event.code is code  # type: ignore[union-attr]
    assert house.hash(session) == before
    house.check(session)


def test_an_unknown_outcome_can_be_settled_by_who_finds_out(house: ToolWorld) -> None:
    session = house.session()
    call_id = decided_but_not_run(house, session)
    told = RecordOutcome(call_id=call_id, status="ok", result=5)
    assert isinstance(house.submit(session, told, EXECUTOR).event, Refused), "it has not begun"
    begin(house, session, call_id)
    house.clock.advance(100)
    house.expire()
    settled = house.submit(session, RecordOutcome(call_id=call_id, status="ok", result=5), EXECUTOR)
    assert isinstance(settled.event, OutcomeRecorded)
    assert house.state(session).substrate.calls[call_id].status == "ok"
    house.check(session)


def test_a_session_does_not_end_while_a_call_is_under_way(build: Build) -> None:
    """A closed ledger takes no outcome: it would never be known how the call ended."""
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    call_id = decided_but_not_run(house, session)
    answer = house.root.request_termination(session, context={"force": True})
    assert not answer.approved
    assert call_id in answer.reason
    house.clock.advance(1_000)
    assert house.expire() == 1
    assert house.root.request_termination(session, context={"force": True}).approved
    assert house.expire() == 0
    house.check(session)


def test_calls_wait_for_the_ones_before_them_without_running_out_of_time(house: ToolWorld) -> None:
    house.toolbox.add("slow", lambda: house.clock.advance(60), timeout_ms=60_000)
    session = house.session()
    token = house.token(session)
    answer = house.agent.propose(session, [tool_call("slow", token)] * 3)
    assert [result.status for result in answer.results] == ["ok"] * 3
    decided = next(event for event in house.deltas(session) if isinstance(event, Arbitrated))
    waiting = [result.call.deadline for result in decided.results if result.call is not None]
    assert [text[14:19] for text in waiting] == ["01:05", "02:05", "03:05"]
    began = [event.call.deadline for event in house.deltas(session) if isinstance(event, CallStarted)]
    assert [text[14:19] for text in began] == ["01:05", "02:05", "03:05"], "from when it began"


def test_a_running_call_is_no_approval(house: ToolWorld) -> None:
    _, answer = asked(house, "note.read")
    assert answer.call_id is not None
    refused(Code.APPROVAL_NOT_FOUND, lambda: house.ann.show_approval(answer.call_id))
    refused(
        Code.APPROVAL_NOT_FOUND,
        lambda: house.ann.decide_approval(answer.call_id, "APPROVED", content_hash="x"),
    )
    for status in ("pending", "approved", "rejected", "information"):
        assert house.ann.list_approvals(status=status).approvals == []


def test_the_store_failing_before_the_outcome_leaves_a_call_that_becomes_unknown(
    house: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = house.store.append

    async def failing(batch: Any) -> None:
        if b"RECORD_OUTCOME" in batch.entries[0].record:
            raise StorageUnavailable("the disk is full")
        await append(batch)

    monkeypatch.setattr(house.store, "append", failing)
    session = house.session()
    candidate = tool_call("note.read", house.token(session))
    with pytest.raises(BeliefdError) as caught:
        house.agent.propose(session, [candidate])
    assert caught.value.code is Code.STORAGE_UNAVAILABLE
    monkeypatch.undo()
    house.clock.advance(100)
    assert house.expire() == 1
    (call,) = (house.state(session).substrate.calls[name] for name in house.state(session).substrate.calls)
    assert call.status == "unknown"
    assert house.toolbox.count == 1
    house.check(session)
