"""The stories of modes, interrupts, episodes and classes, through library, HTTP and command line."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, Step, all_steps, answered, load_all, run
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.scheduling import SchedulingRows
from tests.cli.runner import beliefd, finished
from tests.conformance.command_line import COMMANDS, SAYINGS
from tests.conformance.surfaces import Http, Library, Server

STORIES = load_all("scheduling")
WORDS = {
    "show_schedule": ("schedule show", ()),
    "set_mode": ("schedule mode", ("mode", "reason")),
    "interrupt": ("schedule interrupt", ("reason",)),
    "resume": ("schedule resume", ("reason",)),
}
READ_BY_THE_SHELL = {"set_mode": "turbo", "propose": "urgent"}
"""Words that the command line itself refuses, before anything is sent."""


class CommandLine:
    """Each step as a person would type it; policies and proposals are files.

    Steps that are carried out beside others are processes of their own.
    """

    def __init__(self, server: Server, directory: Path, *, beside: bool) -> None:
        self._server = server
        self._directory = directory
        self._beside = beside

    def call(self, step: Step) -> tuple[int | None, Any]:
        command, words, options = self._said(step)
        options += ["--json", "--url", self._server.url, "--token", self._server.token(step)]
        said = [*command.split(), *options, "--", *words]
        if self._beside:
            return None, answered(step.op, finished(*said).stdout.encode())
        result = beliefd(*said)
        if READ_BY_THE_SHELL.get(step.op) in step.args.values():
            assert result.exit_code == 2
            return None, {"error": {"code": "INVALID_REQUEST"}}
        return None, answered(step.op, result.stdout_bytes)

    def _said(self, step: Step) -> tuple[str, list[str], list[str]]:
        args = dict(step.args)
        if step.op in COMMANDS:
            options, words = SAYINGS[step.op](args)
            return COMMANDS[step.op], words, options
        if step.op == "adopt_policy":
            return "policy adopt", [self._written(args)], []
        if step.op == "show_approval":
            return "inbox show", [args["approval_id"]], []
        if step.op == "decide_approval":
            return "inbox approve", [args["approval_id"]], ["--hash", args["content_hash"]]
        if step.op == "show_call":
            return "call show", [args["session_id"], args["call_id"]], []
        session_id = args.pop("session_id")
        if step.op == "propose":
            told = [(f"--{name}", args[name]) for name in ("qos", "execute") if name in args]
            options = [word for pair in told for word in pair]
            return "state propose", [session_id, self._written(args["candidates"])], options
        command, names = WORDS[step.op]
        words = [args.pop(name) for name in names]
        options = [word for name, value in args.items() for word in (f"--{name}", str(value))]
        return command, [session_id, *words], options

    def _written(self, value: Any) -> str:
        file = self._directory / f"{uuid.uuid4()}.json"
        file.write_text(json.dumps(value))
        return str(file)


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
    beside = any("meanwhile" in step for step in STORIES[name]["steps"])
    run(STORIES[name], {"a": CommandLine(server, tmp_path, beside=beside)})


def test_stories_say_what_they_are_and_cover_every_operation_of_scheduling() -> None:
    told = set()
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in all_steps(story["steps"]):
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME
            told.add(step["op"])
    assert {operation.name for operation in SchedulingRows.rows()} <= told
