"""Each client plays a script: its shell and a tool of an MCP server have their effect, a hook prevents it."""

from clients.harness.agents import Agent
from clients.harness.hooks import events, hook
from clients.harness.model import Model
from clients.harness.process import Place
from clients.harness.repository import repository
from clients.harness.script import Call, Request, Say, Shell
from clients.harness.setup import Moment, Setup
from clients.harness.upstreams import clock, filesystem, git

DENIES = """
    sys.stderr.write("refused by the hook")
    sys.exit(2)
"""


def test_the_shell_and_a_tool_of_a_server_have_their_effect(agent: Agent, model: Model, place: Place) -> None:
    path = place.work / "by_tool.txt"
    script = (
        Shell("echo 4711 > by_shell.txt; echo written"),
        Call("write_file", {"path": str(path), "content": "4712"}, "files"),
        Say("both are written"),
    )
    run = agent.run(model, place, "write both", script, Setup(servers={"files": filesystem(place.work)}))
    assert (place.work / "by_shell.txt").read_text() == "4711\n", run.story
    assert path.read_text() == "4712", run.story
    assert "written" in run.told(0).text
    assert "Successfully wrote" in run.told(1).text
    assert run.ended.exit == 0, run.story
    assert run.answer == "both are written"
    assert run.session


def test_a_turn_can_depend_on_what_the_client_sent(agent: Agent, model: Model, place: Place) -> None:
    def secret(request: Request) -> str:
        (told,) = request.told.values()
        return "echo 1 > " + next(word for word in told.text.split() if word.startswith("name-"))

    run = agent.run(model, place, "go", (Shell("printf name-%d 4711"), Shell(secret), Say("done")))
    assert (place.work / "name-4711").exists(), run.story


def test_servers_of_python_start_in_each_client(agent: Agent, model: Model, place: Place) -> None:
    repository(place.work)
    script = (
        Call("git_log", {"repo_path": str(place.work)}, "git"),
        Call("get_current_time", {"timezone": "Europe/Berlin"}, "clock"),
        Say("done"),
    )
    servers = {"git": git(place.work), "clock": clock()}
    run = agent.run(model, place, "what happened, and when?", script, Setup(servers=servers))
    assert "the first commit" in run.told(0).text
    assert "Europe/Berlin" in run.told(1).text


def test_a_hook_that_denies_prevents_the_effect_and_the_model_is_told(
    agent: Agent, model: Model, place: Place
) -> None:
    path = place.work / "by_tool.txt"
    script = (
        Shell("echo 4711 > by_shell.txt"),
        Call("write_file", {"path": str(path), "content": "4712"}, "files"),
        Say("neither is written"),
    )
    setup = Setup(hooks=(hook(place, DENIES),), servers={"files": filesystem(place.work)})
    run = agent.run(model, place, "write both", script, setup)
    assert list(place.work.glob("by_*")) == [], run.story
    for turn in (0, 1):
        assert "refused by the hook" in run.told(turn).text
    assert [event["tool_name"] for event in events(place)] == [agent.shell, agent.tool("files", "write_file")]


def test_hooks_are_told_prompt_call_and_result(agent: Agent, model: Model, place: Place) -> None:
    setup = Setup(hooks=tuple(hook(place, moment=moment) for moment in SEEN))
    run = agent.run(model, place, "a word of the user", (Shell("echo 4711"), Say("done")), setup)
    (prompt,), (before,), (after,) = (events(place, moment) for moment in SEEN)
    assert prompt["prompt"] == "a word of the user", run.story
    assert before["tool_input"]["command"] == "echo 4711"
    assert "4711" in str(after["tool_response"])
    # The ledger's session is found by this name, so it is the same in all three.
    assert {event["session_id"] for event in (prompt, before, after)} == {run.session}
    assert before["cwd"] == str(place.work)


SEEN = (Moment.PROMPT, Moment.BEFORE_TOOL, Moment.AFTER_TOOL)
