"""The stories of erasure, through library, HTTP and command line: all three tell the same."""

from pathlib import Path
from typing import Any

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, load_all, run, servers_of
from beliefd.protocol.operations import BY_NAME
from tests.conformance.surfaces import Http, Library, Server
from tests.substrate.test_stories import CommandLine as Typed

STORIES = load_all("erasures")


class CommandLine(Typed):
    """What it knows of policies and sessions, and what is about erasing."""

    def _said(self, op: str, args: dict[str, Any]) -> tuple[str, list[str], list[str]]:
        if op == "erase":
            return "audit erase", [args["session_id"], *args["digests"]], ["--reason", args["reason"]]
        if op == "list_parts":
            return "audit parts", [args["session_id"]], []
        if op == "import_ledger":
            self._file.write_text(args["ledger"])
            return "audit import", [str(self._file)], []
        return super()._said(op, args)


@pytest.mark.parametrize("name", STORIES)
def test_the_library_conforms(name: str) -> None:
    libraries = {place: Library() for place in servers_of(STORIES[name])}
    try:
        run(STORIES[name], dict(libraries))
    finally:
        for library in libraries.values():
            library.close()


@pytest.mark.parametrize("speaks", ["http", "command line"])
@pytest.mark.parametrize("name", STORIES)
def test_the_server_and_the_command_line_conform(name: str, speaks: str, tmp_path: Path) -> None:
    servers = {place: Server(tmp_path / place) for place in servers_of(STORIES[name])}
    try:
        run(
            STORIES[name],
            {
                place: Http(server) if speaks == "http" else CommandLine(server, tmp_path)
                for place, server in servers.items()
            },
        )
    finally:
        for server in servers.values():
            server.close()


def test_stories_say_what_they_are() -> None:
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in story["steps"]:
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME
