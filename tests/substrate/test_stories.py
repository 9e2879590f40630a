"""The stories of arbitration, through library, HTTP and command line: all three tell the same."""

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

STORIES = load_all("arbitration")
TOLD_BY = {
    "show_policy": "policy show",
    "show_state": "state show",
    "show_call": "call show",
    "begin_call": "call begin",
    "list_capabilities": "capability list",
    "revoke_capability": "capability revoke",
    "list_memory": "memory list",
}
"""Commands that take ids as words, in the order in which a step has them."""
OPTIONS = {"at": "--at", "show": "--show"}


class CommandLine:
    """Each step as a person would type it; policies, proposals, entries and content are files."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._server = server
        self._file = directory / "given.json"

    def call(self, step: Step) -> tuple[int | None, Any]:
        command, words, options = self._said(step.op, dict(step.args))
        options += ["--json", "--url", self._server.url, "--token", self._server.token(step)]
        result = beliefd(*command.split(), *options, "--", *words)
        return None, answered(step.op, result.stdout_bytes)

    def _said(self, op: str, args: dict[str, Any]) -> tuple[str, list[str], list[str]]:
        if op in COMMANDS:
            options, words = SAYINGS[op](args)
            return COMMANDS[op], words, options
        match op:
            case "adopt_policy":
                return "policy adopt", [self._written(args)], []
            case "store_content":
                self._file.write_text(args["content"])
                return "content put", [str(self._file)], []
            case "remember":
                return "memory add", [args.pop("session_id"), self._written(args)], []
            case "propose":
                words = [args["session_id"], self._written(args["candidates"])]
                return "state propose", words, _proposing(args)
            case "issue_capability":
                return "capability issue", [args["session_id"]], _issuing(args)
            case "report_outcome":
                words = [args["session_id"], args["call_id"], args["status"]]
                return "call report", words, ["--result", args["result"]]
            case "decide_approval":
                options = ["--hash", args["content_hash"], "--reason", args["reason"]]
                return "inbox approve", [args["approval_id"]], options
        options = [word for name, flag in OPTIONS.items() if name in args for word in (flag, args.pop(name))]
        return TOLD_BY[op], list(args.values()), options

    def _written(self, given: Any) -> str:
        self._file.write_text(json.dumps(given))
        return str(self._file)


def _proposing(args: dict[str, Any]) -> list[str]:
    told = args["provenance"]
    given = [("--source", told["source"])]
    given += [("--input", name) for name in told.get("inputs", ())]
    given += [("--permission", name) for name in told.get("permissions", ())]
    if "state_snapshot_id" in args:
        given.append(("--snapshot", args["state_snapshot_id"]))
    if "execute" in args:
        given.append(("--execute", args["execute"]))
    return [word for pair in given for word in pair]


def _issuing(args: dict[str, Any]) -> list[str]:
    scope = args["scope"]
    given = [("--agent", args["agent_id"]), *(("--tool", tool) for tool in scope["tools"])]
    given += [(f"--{name}", str(limit)) for name, limit in scope.get("budgets", {}).items()]
    if "parent_token" in args:
        given.append(("--parent", args["parent_token"]))
    return [word for pair in given for word in pair]


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


def test_stories_say_what_they_are() -> None:
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in story["steps"]:
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME
