"""Each client plays a script: its shell and a tool of an MCP server have their effect, a hook prevents it."""

from clients.harness.agents import CLAUDE, CODEX, GEMINI, Agent
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


def test_the_shell_and_tools_of_servers_have_their_effect(agent: Agent, model: Model, place: Place) -> None:
    """Servers of node and of Python, and a turn that depends on what the client sent."""
    path = place.work / "by_tool.txt"
    repository(place.work)

    def secret(request: Request) -> str:
        words = " ".join(told.text for told in request.told.values()).split()
        return "echo 1 > " + next(word for word in words if word.startswith("name-"))

    script = (
        Shell("echo 4711 > by_shell.txt; printf 'written name-%d' 4711"),
        Call("write_file", {"path": str(path), "content": "4712"}, "files"),
        Shell(secret),
        Call("git_log", {"repo_path": str(place.work)}, "git"),
        Call("get_current_time", {"timezone": "Europe/Berlin"}, "clock"),
        Say("all is done"),
    )
    servers = {"files": filesystem(place.work), "git": git(place.work), "clock": clock()}
    run = agent.run(model, place, "write both", script, Setup(servers=servers))
    assert (place.work / "by_shell.txt").read_text() == "4711\n", run.story
    assert path.read_text() == "4712", run.story
    assert (place.work / "name-4711").exists(), run.story
    for turn, words in ((0, "written"), (1, "Successfully wrote"), (3, "the first commit"), (4, "Berlin")):
        assert words in run.told(turn).text
    assert run.ended.exit == 0, run.story
    assert run.answer == "all is done"
    assert run.session


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
    assert FIELDS[agent] | {"hook_event_name", "tool_name", "tool_input"} <= before.keys()


SEEN = (Moment.PROMPT, Moment.BEFORE_TOOL, Moment.AFTER_TOOL)
FIELDS = {
    CLAUDE: {"session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "tool_use_id"},
    CODEX: {"session_id", "transcript_path", "cwd", "permission_mode", "tool_use_id", "turn_id", "model"},
    GEMINI: {"session_id", "transcript_path", "cwd"},
}
"""What hooks read of an event before a tool."""
