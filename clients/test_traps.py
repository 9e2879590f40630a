"""What was measured of each client and is leaned on: a new version that changes it is noticed here.

Some of these are holes. They are asserted because what stands in front of them was built for them.
"""

import json

import pytest

from clients.harness import claude
from clients.harness.agents import CLAUDE, CODEX, GEMINI, Agent, Run
from clients.harness.hooks import events, hook, says
from clients.harness.model import Model
from clients.harness.process import Place
from clients.harness.script import Call, Say, Script, Shell
from clients.harness.setup import Hook, Moment, Setup
from clients.harness.upstreams import filesystem, notebook, notes

TOUCHES = (Shell("echo 4711 > effect.txt"), Say("done"))
BLOCK = {"onFailure": "block"}
FAILURES = {
    "exits_with_1": "sys.exit(1)",
    "is_slow": "time.sleep(60)",
    "says_nonsense": "print('{nonsense}')",
}
FAILS = f"exec(next(body for name, body in {FAILURES!r}.items() if name in event['tool_input']['command']))"
"""A hook that fails in the way that the command names."""
TRIES_ALL: Script = (*(Shell(f"echo 4711 > {name}.txt") for name in FAILURES), Say("done"))
TRUNCATED = "print(json.dumps({'hookSpecificOutput': {'permissionDecision': 'deny'}})[:-3])"


def touched(place: Place) -> bool:
    return (place.work / "effect.txt").exists()


def with_hook(agent: Agent, model: Model, place: Place, hook: Hook) -> Run:
    run = agent.run(model, place, "touch", TOUCHES, Setup(hooks=(hook,)))
    assert run.ended.exit == 0, run.story
    return run


@pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)
def test_a_hook_that_fails_lets_the_tool_run(agent: Agent, model: Model, place: Place) -> None:
    run = agent.run(model, place, "touch", TRIES_ALL, Setup(hooks=(hook(place, FAILS, seconds=2),)))
    assert len(events(place)) == len(FAILURES)
    assert {path.stem for path in place.work.glob("*.txt")} == FAILURES.keys(), run.story


def test_gemini_runs_the_tool_when_a_hook_crashes(model: Model, place: Place) -> None:
    run = with_hook(GEMINI, model, place, hook(place, FAILURES["exits_with_1"]))
    assert len(events(place)) == 1
    assert touched(place), run.story


def test_claude_code_can_be_told_to_block_on_failure(model: Model, place: Place) -> None:
    setup = Setup(hooks=(hook(place, FAILS, seconds=2, fields=BLOCK),))
    run = CLAUDE.run(model, place, "touch", TRIES_ALL, setup)
    assert len(events(place)) == len(FAILURES)
    assert list(place.work.glob("*.txt")) == [], run.story
    for turn in range(len(FAILURES)):
        assert run.told(turn).error


def test_half_an_answer_is_taken_for_text_even_by_a_hook_that_blocks(model: Model, place: Place) -> None:
    """So a refusal is an exit code, and what is printed is only believed when it is whole."""
    run = with_hook(CLAUDE, model, place, hook(place, TRUNCATED, fields=BLOCK))
    assert touched(place), run.story


@pytest.mark.parametrize("fields", [{}, BLOCK], ids=["open", "block"])
def test_a_dead_http_hook_blocks_only_when_told_to(
    fields: dict[str, str], model: Model, place: Place
) -> None:
    dead = {"type": "http", "url": "http://127.0.0.1:9/", "timeout": 5, **fields}
    run = with_hook(CLAUDE, model, place, Hook((), fields=dead))
    assert touched(place) is (not fields), run.story


def test_claude_code_runs_no_hook_when_all_are_disabled(model: Model, place: Place) -> None:
    setup = Setup(hooks=(hook(place, "sys.exit(2)", fields=BLOCK),), settings={"disableAllHooks": True})
    run = CLAUDE.run(model, place, "touch", TOUCHES, setup)
    assert events(place) == []
    assert touched(place), run.story


def test_allow_overrides_the_permission_that_claude_code_would_ask_for(model: Model, place: Place) -> None:
    run = CLAUDE.run(model, place, "touch", TOUCHES, Setup(allowed=False))
    assert not touched(place), run.story
    run = CLAUDE.run(
        model, place, "touch", TOUCHES, Setup(hooks=(hook(place, says("allow")),), allowed=False)
    )
    assert touched(place), run.story


def test_silence_leaves_the_permission_to_claude_code(model: Model, place: Place) -> None:
    run = CLAUDE.run(model, place, "touch", TOUCHES, Setup(hooks=(hook(place),), allowed=False))
    assert len(events(place)) == 1
    assert not touched(place), run.story


def test_ask_is_denied_by_claude_code_without_a_person(model: Model, place: Place) -> None:
    run = with_hook(CLAUDE, model, place, hook(place, says("ask")))
    assert not touched(place), run.story
    assert run.told().error


def test_codex_runs_the_tool_on_ask(model: Model, place: Place) -> None:
    run = with_hook(CODEX, model, place, hook(place, says("ask")))
    assert len(events(place)) == 1
    assert touched(place), run.story


def test_codex_runs_nothing_on_deny_and_says_why(model: Model, place: Place) -> None:
    run = with_hook(CODEX, model, place, hook(place, says("deny", "approval 4711 waits")))
    assert not touched(place), run.story
    assert "approval 4711 waits" in run.told().text


def test_codex_skips_hooks_that_nobody_trusted(model: Model, place: Place) -> None:
    setup = Setup(hooks=(hook(place, "sys.exit(2)"),), trusted=False)
    run = CODEX.run(model, place, "touch", TOUCHES, setup)
    assert events(place) == []
    assert touched(place), run.story


def test_gemini_runs_nothing_on_deny_and_says_why(model: Model, place: Place) -> None:
    """`ask` is not tried: without a person, the client waits for one for ever."""
    denies = hook(place, "print(json.dumps({'decision': 'deny', 'reason': 'approval 4711 waits'}))")
    run = with_hook(GEMINI, model, place, denies)
    assert not touched(place), run.story
    assert "approval 4711 waits" in run.told().text


def test_a_deferred_call_stops_claude_code_and_the_hook_is_asked_again_on_resume(
    model: Model, place: Place
) -> None:
    waits = Setup(hooks=(hook(place, says("defer")),))
    stopped = CLAUDE.run(model, place, "touch", TOUCHES, waits)
    assert claude.document(stopped.ended)["stop_reason"] == "tool_deferred", stopped.story
    again = CLAUDE.run(model, place, None, TOUCHES, waits, stopped)
    assert claude.document(again.ended)["stop_reason"] == "tool_deferred", again.story
    assert not touched(place)
    goes_on = Setup(hooks=(hook(place),))
    run = CLAUDE.run(model, place, None, TOUCHES, goes_on, again)
    assert touched(place), run.story
    assert run.session == stopped.session
    seen = events(place)
    assert len(seen) == 3
    assert len({event["tool_use_id"] for event in seen}) == 1
    assert all(event["tool_input"] == seen[0]["tool_input"] for event in seen)
    assert run.answer == "done"


@pytest.mark.parametrize(
    ("agent", "key"),
    [(CLAUDE, "claudecode/toolUseId"), (CODEX, "callId")],
    ids=["claude-code", "codex"],
)
def test_the_hook_and_the_server_are_given_one_join_key(
    agent: Agent, key: str, model: Model, place: Place
) -> None:
    setup = Setup(hooks=(hook(place),), servers={"book": notebook(place)})
    run = agent.run(model, place, "note it", (Call("note", {"text": "4711"}, "book"), Say("done")), setup)
    (event,), (note,) = events(place), notes(place)
    assert event["tool_use_id"] == note["meta"][key], run.story
    assert event["tool_input"] == note["arguments"] == {"text": "4711"}


def test_a_hook_of_claude_code_can_answer_for_the_person(model: Model, place: Place) -> None:
    told = {"hookEventName": "Elicitation", "action": "accept", "content": {"approve": True}}
    answers = hook(place, f"print(json.dumps({ {'hookSpecificOutput': told} }))", Moment.ELICITATION)
    setup = Setup(hooks=(answers,), servers={"book": notebook(place)})
    run = CLAUDE.run(model, place, "ask", (Call("ask", {"text": "4711"}, "book"), Say("done")), setup)
    (note,) = notes(place)
    assert note["answer"]["action"] == "accept", run.story
    assert len(events(place, Moment.ELICITATION)) == 1


def test_the_roots_of_claude_code_replace_the_folder_of_a_server(model: Model, place: Place) -> None:
    configured = place.root / "configured"
    configured.mkdir()
    path = place.work / "effect.txt"
    script = (Call("write_file", {"path": str(path), "content": "4711"}, "files"), Say("done"))
    run = CLAUDE.run(model, place, "write", script, Setup(servers={"files": filesystem(configured)}))
    assert touched(place), run.story


def test_failed_tools_have_an_event_of_their_own_in_claude_code(model: Model, place: Place) -> None:
    failed = hook(place, moment=Moment.TOOL_FAILED)
    setup = Setup(hooks=(hook(place, moment=Moment.AFTER_TOOL), failed), servers={"book": notebook(place)})
    run = CLAUDE.run(model, place, "fail", (Call("fail", {"text": "4711"}, "book"), Say("done")), setup)
    assert events(place, Moment.AFTER_TOOL) == [], run.story
    (event,) = events(place, Moment.TOOL_FAILED)
    assert "noted" in json.dumps(event)


def test_codex_tells_no_hook_of_a_failed_tool_of_a_server(model: Model, place: Place) -> None:
    setup = Setup(hooks=(hook(place, moment=Moment.AFTER_TOOL),), servers={"book": notebook(place)})
    script = (Call("fail", {"text": "4711"}, "book"), Call("note", {"text": "4712"}, "book"), Say("done"))
    run = CODEX.run(model, place, "fail", script, setup)
    assert [event["tool_input"]["text"] for event in events(place, Moment.AFTER_TOOL)] == ["4712"], run.story
