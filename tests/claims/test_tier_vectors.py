"""The stories of tiers and of who speaks, through library, HTTP and command line: all three tell the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, Step, answered, load_all, run
from beliefd.protocol.operations import BY_NAME
from tests.cli.runner import beliefd
from tests.conformance.command_line import COMMANDS, SAYINGS
from tests.conformance.surfaces import Http, Library, Server

STORIES = load_all("tiers")
AFTERWARDS = {
    name: story for name, story in load_all("claims").items() if name in ("retracted", "corrected", "told")
}


class CommandLine:
    """Each step as a person would type it; policies, bundles and proposals are files."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._server = server
        self._file = directory / "given.json"

    def call(self, step: Step) -> tuple[int | None, Any]:
        command, words, options = self._said(step)
        options += ["--json", "--url", self._server.url, "--token", self._server.token(step)]
        result = beliefd(*command.split(), *options, "--", *words)
        return None, answered(step.op, result.stdout_bytes)

    def _said(self, step: Step) -> tuple[str, list[str], list[str]]:  # noqa: PLR0911 - one way out per command
        args = dict(step.args)
        if step.op in COMMANDS:
            options, words = SAYINGS[step.op](args)
            return COMMANDS[step.op], words, options
        match step.op:
            case "adopt_policy":
                return "policy adopt", [self._written(args)], []
            case "submit_claims":
                return "claim submit", [args.pop("session_id"), self._written(args)], []
            case "show_claims" | "list_claims":
                names = [args[name] for name in ("session_id", "bundle_id") if name in args]
                return "claim show", names, _at(args)
            case "retract_claims":
                options = [word for name in args.get("claim_ids", ()) for word in ("--claim", name)]
                options += ["--reason", args["reason"]]
                return "claim retract", [args["session_id"], args["bundle_id"]], options
            case "propose":
                return "state propose", [args.pop("session_id"), self._written(args["candidates"])], []
            case "issue_capability":
                options = ["--agent", args["agent_id"]]
                options += [word for tool in args["scope"]["tools"] for word in ("--tool", tool)]
                return "capability issue", [args["session_id"]], options
            case "list_approvals":
                return "inbox list", [], ["--status", args.get("status", "pending")]
        if step.op == "show_approval":
            return "inbox show", [args["approval_id"]], _at(args)
        assert step.op == "decide_approval"
        options = ["--hash", args["content_hash"], "--reason", args["reason"]]
        verb = {"APPROVED": "approve", "REJECTED": "reject"}[args["decision"]]
        return f"inbox {verb}", [args["approval_id"]], options

    def _written(self, given: Any) -> str:
        self._file.write_text(json.dumps(given))
        return str(self._file)


def _at(args: dict[str, Any]) -> list[str]:
    return ["--at", str(args["at"])] if "at" in args else []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    opened = Server(tmp_path / "a")
    yield opened
    opened.close()


@pytest.mark.parametrize("name", STORIES)
def test_the_library_conforms(name: str) -> None:
    library = Library()
    try:
        run(STORIES[name], {"a": library})
    finally:
        library.close()


@pytest.mark.parametrize("name", STORIES)
def test_the_server_conforms(name: str, server: Server) -> None:
    run(STORIES[name], {"a": Http(server)})


@pytest.mark.parametrize("name", STORIES)
def test_the_command_line_conforms(name: str, server: Server, tmp_path: Path) -> None:
    run(STORIES[name], {"a": CommandLine(server, tmp_path)})


@pytest.mark.parametrize("name", AFTERWARDS)
def test_the_command_line_tells_the_stories_of_what_comes_after(
    name: str, server: Server, tmp_path: Path
) -> None:
    run(AFTERWARDS[name], {"a": CommandLine(server, tmp_path)})


def test_stories_say_what_they_are() -> None:
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in story["steps"]:
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME
