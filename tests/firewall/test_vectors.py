"""The stories of the two lanes, through library, HTTP and command line: all three tell the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.conformance.stories import STEP_MEMBERS, Step, answered, load_all, run
from beliefd.protocol.experiments import ExperimentRows
from beliefd.protocol.intents import IntentRows
from beliefd.protocol.observations import ObservationRows
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.speculation import SpeculationRows
from tests.cli.runner import beliefd
from tests.conformance.command_line import COMMANDS, SAYINGS
from tests.conformance.surfaces import Http, Library, Server

STORIES = load_all("firewall")
DECISIONS = {"APPROVED": "approve", "REJECTED": "reject", "DEFERRED": "defer"}
BY_FILE = {"design_experiment": "experiment design", "stage_intent": "intent stage"}
BY_WORDS = {
    "show_observation": ("observation show", "observation_id"),
    "list_observations": ("observation list",),
    "run_experiment": ("experiment run", "experiment_id"),
    "show_experiment": ("experiment show", "experiment_id"),
    "cancel_experiment": ("experiment cancel", "experiment_id"),
    "reproduce_experiment": ("experiment reproduce", "experiment_id"),
    "list_experiments": ("experiment list",),
    "link_evidence": ("evidence link", "claim_id", "run_id", "role"),
    "list_evidence": ("evidence list",),
    "list_discoveries": ("evidence discoveries",),
    "list_hypotheses": ("hypothesis list",),
    "list_intents": ("intent list",),
    "show_intent": ("intent show", "intent_id"),
}

BEYOND_WORDS = {"guards": "it builds the body itself", "hints": "it has no words for members out of place"}
"""Stories that the command line has no words for, and why."""


class CommandLine:
    """Each step as a person would type it; plans and intents are files."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._server = server
        self._file = directory / "given.json"

    def call(self, step: Step) -> tuple[int | None, Any]:
        command, words, options = self._said(step)
        if step.key is not None:
            options += ["--key", step.key]
        options += ["--json", "--url", self._server.url, "--token", self._server.token(step)]
        result = beliefd(*command.split(), *options, "--", *words)
        return None, answered(step.op, result.stdout_bytes)

    def _said(self, step: Step) -> tuple[str, list[str], list[str]]:
        args = dict(step.args)
        if step.op == "decide_approval":
            options = ["--hash", args["content_hash"], "--reason", args["reason"]]
            return f"inbox {DECISIONS[args['decision']]}", [args["approval_id"]], options
        if step.op in COMMANDS:
            options, words = SAYINGS[step.op](args)
            return COMMANDS[step.op], words, options
        session_id = args.pop("session_id")
        if step.op == "speculate":
            (idea,) = args["hypotheses"]
            return "hypothesis note", [session_id, args["claim_id"], idea["statement"]], []
        if step.op == "observe":
            given = [("--value", str(value)) for value in args.pop("values", ())]
            given += [
                (f"--{name.removesuffix('_id')}", value) for name, value in args.items() if name != "quantity"
            ]
            return (
                "observation take",
                [session_id, args["quantity"]],
                [word for pair in given for word in pair],
            )
        if step.op in BY_FILE:
            self._file.write_text(json.dumps(args))
            return BY_FILE[step.op], [session_id, str(self._file)], []
        command, *names = BY_WORDS[step.op]
        claim = ["--claim", args["claim_id"]] if "claim_id" in args and "claim_id" not in names else []
        return command, [session_id, *(args[name] for name in names)], claim


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


@pytest.mark.parametrize("name", sorted(STORIES.keys() - BEYOND_WORDS.keys()))
def test_the_command_line_conforms(name: str, server: Server, tmp_path: Path) -> None:
    run(STORIES[name], {"a": CommandLine(server, tmp_path)})


def test_stories_say_what_they_are_and_cover_every_operation_of_the_lanes() -> None:
    told = set()
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in story["steps"]:
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME
            told.add(step["op"])
    lanes = (SpeculationRows, ObservationRows, ExperimentRows, IntentRows)
    assert {operation.name for vocabulary in lanes for operation in vocabulary.rows()} <= told
