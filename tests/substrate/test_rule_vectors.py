"""The stories of rules and of policy keys, through library, HTTP and command line: all tell the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, Step, load_all, run
from beliefd.protocol.operations import BY_NAME
from tests.claims import test_tier_vectors as tiers
from tests.cli.runner import beliefd
from tests.conformance.surfaces import Http, Library, Server

STORIES = load_all("rules")


class CommandLine(tiers.CommandLine):
    def _said(self, step: Step) -> tuple[str, list[str], list[str]]:
        if step.op == "show_state":
            return "state show", [step.args["session_id"]], tiers._at(step.args)
        command, words, options = super()._said(step)
        if step.op == "propose":
            options = ["--source", step.args["provenance"]["source"]]
        return command, words, options


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    opened = Server(tmp_path / "a")
    yield opened
    opened.close()


@pytest.mark.parametrize("name", STORIES)
def test_the_library_tells_it(name: str) -> None:
    library = Library()
    try:
        run(STORIES[name], {"a": library})
    finally:
        library.close()


@pytest.mark.parametrize("name", STORIES)
def test_the_server_tells_it(name: str, server: Server) -> None:
    run(STORIES[name], {"a": Http(server)})


@pytest.mark.parametrize("name", STORIES)
def test_the_command_line_tells_it(name: str, server: Server, tmp_path: Path) -> None:
    run(STORIES[name], {"a": CommandLine(server, tmp_path)})


def test_state_show_prints_where_derived_facts_come_from(server: Server, tmp_path: Path) -> None:
    story = STORIES["derived"]
    run({**story, "steps": story["steps"][:3]}, {"a": CommandLine(server, tmp_path)})
    agent = ("--url", server.url, "--token", server.tokens["agent", "PRIVILEGE"])
    session = beliefd("session", "list", *agent, "--json")
    name = json.loads(session.stdout)["sessions"][0]["session_id"]
    shown = beliefd("state", "show", name, *agent).stdout
    assert "derived by rule.large from fact.order" in shown
    assert "policy.mode" in shown


def test_stories_say_what_they_are() -> None:
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        steps: list[dict[str, Any]] = story["steps"]
        assert all(step.keys() <= STEP_MEMBERS and step["op"] in BY_NAME for step in steps)
