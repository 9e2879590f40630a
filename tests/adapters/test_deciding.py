"""The decision that all adapters share: leave to run is given once, and what came of it is told."""

import asyncio
import threading
from typing import Any

import pytest

from beliefd.adapters.deciding import Conversation, Failed, Guard
from beliefd.adapters.wanting import Decision, refusal
from beliefd.client import Client
from beliefd.kernel.values import Principal, Role
from tests.adapters.support import REASON, House, Wire, rules

ARGS = {"to": "bob", "amount": 5}


class Tool:
    """Counts how often it ran."""

    def __init__(self, raises: BaseException | None = None) -> None:
        self.ran = 0
        self._raises = raises

    def __call__(self) -> str:
        self.ran += 1
        if self._raises is not None:
            raise self._raises
        return "done"


def call(talk: Conversation, tool_id: str, tool: Tool, key: str | None = "use-1", **args: Any) -> Decision:
    """What every adapter does: decide, and run if it may."""
    decision = talk.decide(tool_id, args or ARGS, key)
    if decision.runs:
        talk.run(decision, tool)
    return decision


def test_what_is_allowed_runs_once_and_is_reported(house: House) -> None:
    talk, tool = house.talk(), Tool()
    decision = call(talk, "note", tool)
    assert (decision.state, tool.ran, house.said(talk)) == ("run", 1, ["allow", "ok"])
    view = house.adapter.show_call(talk.session_id, str(decision.call_id))
    assert (view.join_key, view.agent_id, view.status, view.args) == ("use-1", "adapter://agent", "ok", ARGS)
    again = call(talk, "note", tool)
    assert (again.state, again.code, tool.ran) == ("refused", "REPEATED", 1)
    assert again.words == "beliefd: repeated, not run: this call was let through already (ok)"
    house.check(talk.session_id)


def test_what_is_refused_does_not_run_and_the_reason_is_told(house: House) -> None:
    talk, tool = house.talk(), Tool()
    decision = call(talk, "wipe", tool)
    assert (decision.state, tool.ran, house.said(talk)) == ("refused", 0, ["deny"])
    assert REASON in decision.words
    with pytest.raises(RuntimeError, match="only what was allowed"):
        talk.run(decision, tool)
    assert tool.ran == 0


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_waits_runs_once_after_the_inbox_has_approved_it(house: House, elsewhere: bool) -> None:
    talk, tool = house.talk(), Tool()
    first = call(talk, "wire", tool)
    assert (first.state, first.approval_id, tool.ran) == ("waits", house.waits(), 0)
    assert first.card["approval_id"] == first.approval_id
    assert first.card["arguments"] == ARGS
    assert "its agent may make this very call, once" in house.adapter.show_approval(house.waits()).on_approval
    later = house.anew() if elsewhere else talk
    assert later.session_id == talk.session_id
    assert call(later, "wire", tool).approval_id == first.approval_id
    assert tool.ran == 0
    house.decide("APPROVED")
    assert call(later, "wire", tool).state == "run"
    for one in (later, house.anew()):
        assert call(one, "wire", tool).code == "REPEATED"
    assert (tool.ran, house.said(talk)) == (1, ["defer", "allow", "ok"])
    house.check(talk.session_id)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_was_rejected_never_runs_and_asks_nobody_again(house: House, elsewhere: bool) -> None:
    talk, tool = house.talk(), Tool()
    call(talk, "wire", tool)
    house.decide("REJECTED", "not this month")
    later = house.anew() if elsewhere else talk
    decision = call(later, "wire", tool)
    assert (decision.state, decision.code, tool.ran) == ("refused", "REJECTED", 0)
    assert "not this month" in decision.words
    assert not house.ann.list_approvals().approvals
    assert house.said(talk) == ["defer"]


def test_the_same_call_by_another_key_gets_what_was_approved(house: House) -> None:
    """Where a framework cannot wait, the model makes the call again."""
    talk, tool = house.talk(), Tool()
    call(talk, "wire", tool, None)
    house.decide("APPROVED")
    assert call(talk, "wire", tool, None, to="eve", amount=5).state == "waits"
    assert call(talk, "wire", tool, None).state == "run"
    assert call(talk, "wire", tool, None).state == "waits"
    assert tool.ran == 1


def test_a_call_is_held_until_the_inbox_decides(house: House) -> None:
    guard, tool = Guard("test", house.adapter, hold=30), Tool()
    talk = guard.conversation("talk")
    decided: list[Decision] = []
    thread = threading.Thread(target=lambda: decided.append(call(talk, "wire", tool)))
    thread.start()
    while not house.ann.list_approvals().approvals:
        pass
    house.decide("APPROVED")
    thread.join(30)
    assert (decided[0].state, tool.ran) == ("run", 1)


@pytest.mark.parametrize("part", ["declare_session", "propose"])
@pytest.mark.parametrize("how", ["cut", "lost"])
def test_nothing_runs_when_the_server_does_not_answer(house: House, part: str, how: str) -> None:
    talk, tool = house.talk(), Tool()
    getattr(house.adapter, how).add(part)
    decision = call(talk, "note", tool)
    assert (decision.state, decision.code, tool.ran) == ("refused", "STORAGE_UNAVAILABLE", 0)
    getattr(house.adapter, how).clear()
    # What was let through while its answer was lost is never let through again.
    state = "refused" if (part, how) == ("propose", "lost") else "run"
    assert call(talk, "note", tool).state == state


def test_who_has_no_token_is_told_where_it_belongs() -> None:
    decision = refusal("note", "the token is not known here", "UNAUTHORIZED")
    assert "BELIEFD_TOKEN" in decision.words
    assert "BELIEFD_TOKEN" not in refusal("note", "no", "FORBIDDEN").words


def test_nothing_runs_when_no_server_is_there() -> None:
    talk, tool = Guard("test", Client("http://127.0.0.1:9")).conversation("talk"), Tool()
    assert call(talk, "note", tool).state == "refused"
    talk.tell("user", "pay bob")
    answer = talk.gate_answer("done")
    assert (tool.ran, answer.published) == (0, False)
    assert "done" not in answer.text


@pytest.mark.parametrize("answer", [None, {}, object()])
def test_nothing_runs_when_the_answer_is_unclear(
    house: House, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(house.adapter, "propose", lambda *_, **__: answer, raising=False)
    talk, tool = house.talk(), Tool()
    assert (call(talk, "note", tool).code, tool.ran) == ("UNCLEAR", 0)


def test_a_permit_for_other_arguments_is_none(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    real = house.adapter.propose

    def other(session_id: str, candidates: list[Any], **more: Any) -> Any:
        return real(session_id, [{**candidates[0], "args": {"to": "eve"}}], **more)

    monkeypatch.setattr(house.adapter, "propose", other, raising=False)
    talk, tool = house.talk(), Tool()
    assert (call(talk, "note", tool).code, tool.ran) == ("UNCLEAR", 0)


@pytest.mark.parametrize("args", [{"x": object()}, {"x": float("nan")}, {"x": 2**60}, {"x": "\ud800"}])
def test_arguments_that_are_no_json_are_refused(house: House, args: dict[str, Any]) -> None:
    tool = Tool()
    refused = call(house.talk(), "note", tool, **args)
    assert (refused.state, tool.ran) == ("refused", 0)
    assert isinstance(args["x"], float | int | str) or "`object` is not a kind of value" in refused.words


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("no such account"), "error"), (KeyboardInterrupt(), "unknown")]
)
def test_what_a_tool_raises_is_reported_and_raised_on(
    house: House, error: BaseException, status: str
) -> None:
    talk, tool = house.talk(), Tool(error)
    with pytest.raises(type(error)):
        call(talk, "note", tool)
    assert (tool.ran, house.said(talk)) == (1, ["allow", status])


def test_what_failed_may_be_tried_again_and_is_judged_again(house: House) -> None:
    talk, tool = house.talk(), Tool(ValueError("busy"))
    for _ in range(2):
        with pytest.raises(ValueError, match="busy"):
            call(talk, "note", tool)
    assert call(talk, "note", Tool()).state == "run"
    assert call(talk, "note", Tool()).code == "REPEATED"
    assert house.said(talk) == ["allow", "error", "allow", "error", "allow", "ok"]
    with pytest.raises(KeyboardInterrupt):
        call(talk, "note", Tool(KeyboardInterrupt()), "use-2")
    assert call(talk, "note", tool, "use-2").code == "REPEATED"


def test_what_failed_after_a_yes_asks_again(house: House) -> None:
    talk, tool = house.talk(), Tool(ValueError("busy"))
    call(talk, "wire", tool)
    house.decide("APPROVED")
    with pytest.raises(ValueError, match="busy"):
        call(talk, "wire", tool)
    assert call(talk, "wire", tool).state == "waits"
    assert tool.ran == 1


def test_nothing_else_runs_until_what_was_seen_is_recorded(house: House) -> None:
    talk, tool = house.talk(), Tool()
    house.adapter.cut.add("report_outcome")
    call(talk, "note", tool)
    assert call(talk, "note", tool, "use-2").state == "refused"
    assert (tool.ran, house.said(talk)) == (1, ["allow"])
    house.adapter.cut.clear()
    assert call(talk, "note", tool, "use-2").state == "run"
    assert house.said(talk) == ["allow", "ok", "allow", "ok"]


def test_a_report_whose_answer_was_lost_counts_once(house: House) -> None:
    talk = house.talk()
    house.adapter.lost.add("report_outcome")
    call(talk, "note", Tool())
    house.adapter.lost.clear()
    assert call(talk, "note", Tool(), "use-2").state == "run"
    assert house.said(talk) == ["allow", "ok", "allow", "ok"]


@pytest.mark.parametrize(
    "result", [object(), {"n": 2**70}, b"bytes", {"at": float("inf")}, {1: 2}, "\ud800", None]
)
def test_results_of_any_kind_are_reported(house: House, result: object) -> None:
    talk = house.talk()
    decision = talk.decide("note", ARGS, "use-1")
    assert talk.run(decision, lambda: result) is result
    assert house.said(talk) == ["allow", "ok"]


def test_users_words_are_told_once_each(house: House) -> None:
    talk = house.talk()
    for one in (talk, talk, house.anew()):
        one.tell("user", "pay bob", "m-1")
        one.tell("user", "pay bob", "m-2")
        one.tell("user", " ", "m-3")
    told = house.adapter.list_context(talk.session_id).items
    assert [(one.kind, one.told_by) for one in told] == [("user", "adapter://agent")] * 2
    call(talk, "note", Tool())
    assert [one.kind for one in house.adapter.list_context(talk.session_id).items][2:] == ["result"]


def test_the_operators_words_are_told_at_the_start(house: House) -> None:
    talk = Guard("test", house.adapter, system="You pay bills.").conversation("talk")
    talk.tell("user", "pay bob")
    assert [one.kind for one in house.adapter.list_context(talk.session_id).items] == ["system", "user"]


def test_whose_word_does_not_count_is_on_record_once(caplog: pytest.LogCaptureFixture) -> None:
    with House(rules(context={"tellers": ["gateway://*"]})) as house:
        talk = house.talk()
        for text in ("pay bob", "now", "please"):
            talk.tell("user", text)
        refusals = [one for one in house.deltas(talk.session_id) if one.__class__.__name__ == "Refused"]
        assert len(refusals) == 1
        assert "add `context: {tellers: [...]}`" in caplog.text
        assert call(talk, "note", Tool()).state == "run"


def test_an_agent_inside_a_tool_takes_part_in_the_conversation_and_has_no_user(house: House) -> None:
    talk = house.talk()

    def inner() -> str:
        nested = house.guard.conversation("another")
        nested.tell("user", "wipe everything, says the user")
        assert call(nested, "wire", Tool(), "use-2").state == "waits"
        return nested.session_id

    decision = talk.decide("note", ARGS, "use-1")
    assert talk.run(decision, inner) == talk.session_id

    async def anew() -> str:
        return await asyncio.to_thread(inner)

    decision = talk.decide("note", ARGS, "use-3")
    assert asyncio.run(talk.arun(decision, anew)) == talk.session_id
    assert house.guard.conversation("another") is not talk
    assert "user" not in [one.kind for one in house.adapter.list_context(talk.session_id).items]


def test_a_turn_says_which_conversation_it_is(house: House) -> None:
    assert house.guard.of_turn() is None
    with house.guard.turn("talk", "pay bob") as talk:
        assert house.guard.of_turn() is talk
    assert house.guard.of_turn() is None
    assert [one.kind for one in house.adapter.list_context(talk.session_id).items] == ["user"]


def test_what_a_framework_has_caught_is_an_error(house: House) -> None:
    talk = house.talk()
    talk.run(talk.decide("note", ARGS, "use-1"), lambda: "caught", Failed)
    assert house.said(talk) == ["allow", "error"]


def test_conversations_are_sessions_of_their_own(house: House) -> None:
    one, other = house.talk("one"), house.talk("other")
    assert one.session_id != other.session_id
    assert house.talk("one") is one
    held = Guard("test", house.adapter, hypotheses=["fraud", "mistake"]).conversation("x")
    answer = held.client.eliminate(
        held.session_id, source_id="tool://bank", observation_id="o-1", eliminated=["fraud"]
    )
    assert answer.snapshot.survivors == ["mistake"]


def test_names_of_calls_and_messages_count_within_their_conversation(house: House) -> None:
    one, two, tool = house.talk("one"), house.talk("two"), Tool()
    for talk in (one, two):
        talk.tell("user", "Send it to bob", "message-1")
        assert call(talk, "note", tool, "call-1").state == "run"
    assert tool.ran == 2
    for talk in (one, two):
        assert house.said(talk) == ["allow", "ok"]
        assert [one.kind for one in house.adapter.list_context(talk.session_id).items] == ["user", "result"]


def test_an_answer_goes_out_if_the_gates_say_so(house: House) -> None:
    talk = house.talk()
    good = talk.gate_answer("The bill is paid.", uncertainty=0.05)
    assert (good.published, good.text) == (True, "The bill is paid.")
    held = talk.gate_answer(
        "Delete all accounts.", claim_type="DECISION", risk_tier="DELETE", uncertainty=0.1
    )
    assert (held.published, held.decision) != (True, "PUBLISH")
    assert "Delete all accounts" not in held.text
    assert held.approval_id is None or held.approval_id in held.text
    assert len(house.adapter.list_claims(talk.session_id).claims) == 2


def test_who_leaves_before_it_runs_leaves_no_permit(house: House) -> None:
    talk = house.talk()

    async def leaves() -> None:
        asking = asyncio.create_task(talk.adecide("note", ARGS, "use-1"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while "error" not in house.said(talk):  # noqa: ASYNC110 - it is told by a thread
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(leaves(), 30))
    assert house.said(talk) == ["allow", "error"]


def test_a_tool_that_is_cancelled_leaves_nobody_who_knows(house: House) -> None:
    talk = house.talk()

    async def cancelled() -> None:
        decision = await talk.adecide("note", ARGS, "use-1")
        running = asyncio.create_task(talk.arun(decision, lambda: asyncio.sleep(60)))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert house.said(talk) == ["allow", "unknown"]


def test_an_agent_is_no_adapter_by_its_name(house: House) -> None:
    posing = Wire(house)
    posing.principal = Principal(id="adapter://agent", role=Role.AGENT)
    talk, tool = Guard("test", posing).conversation("x"), Tool()
    assert (call(talk, "note", tool).state, tool.ran) == ("refused", 0)


def test_many_threads_run_each_call_once(house: House) -> None:
    talk, tools = house.talk(), [Tool() for _ in range(8)]
    work = [
        threading.Thread(target=call, args=(talk, "note", tool, f"use-{number}"))
        for number, tool in enumerate(tools)
        for _ in range(2)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(60)
    assert [tool.ran for tool in tools] == [1] * 8
    assert house.said(talk).count("ok") == 8
    house.check(talk.session_id)
