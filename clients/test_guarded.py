"""beliefd in front of real clients: side effect, what the model was told, and the ledger agree.

The shell through the hook and a tool of a server through the gateway, each x {allow, deny, wait, server
killed, slow, malformed answer}.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from clients.harness import claude
from clients.harness.agents import CLAUDE, CODEX, GEMINI, Agent
from clients.harness.guard import ALLOWED, ASKED, REASON, REFUSED, Guard, gated, install_hook, told
from clients.harness.hooks import hook
from clients.harness.model import Model
from clients.harness.process import Place
from clients.harness.relay import Relay
from clients.harness.script import Call, Request, Say, Shell
from clients.harness.setup import Moment, Setup
from clients.harness.upstreams import filesystem, notebook, notes

EVERYBODY = pytest.mark.parametrize("agent", [CLAUDE, CODEX, GEMINI], ids=lambda agent: agent.name)
THOSE_THAT_ASK = pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)
DOORS = pytest.mark.parametrize("door", ["shell through the hook", "tool through the gateway"], indirect=True)
BREAKS: dict[str, bytes | None] = {
    "never answers": None,
    "answers no JSON": b"<html>",
    "answers another object": b'{"verdict": "allow", "exit_code": 0}',
    "answers nothing": b"",
}


@dataclass(frozen=True)
class Door:
    """One of the two ways to a file that says what happened: the client's shell, or a tool of a server."""

    kind: str
    agent: Agent
    place: Place

    def writes(self, name: str, word: str, before: Callable[[], None] = lambda: None) -> Shell | Call:
        """A turn that writes the word into this file; `before` happens when the client asks for it."""
        path = self.place.work / name

        def arguments(_: Request) -> dict[str, str]:
            before()
            return {"path": str(path), "content": word}

        def command(_: Request) -> str:
            before()
            return f"echo {word} > {path}"

        if self.kind.startswith("shell"):
            return Shell(command)
        return Call("write_file", arguments, "files")

    def setup(self, guard: Guard, url: str | None = None) -> Setup:
        if self.kind.startswith("shell"):
            environment = told(url or guard.server.url, guard.hook)
            install_hook(self.agent.name, self.place, environment)
            return Setup(environment=environment)
        server = gated(url or guard.server.url, guard.gateway, filesystem(self.place.work))
        return Setup(servers={"files": server})

    @property
    def label(self) -> str:
        """What the gateway reports it has seen itself; a hook tells what its client says."""
        return "attested" if self.kind.startswith("shell") else "witnessed"

    def effects(self) -> list[str]:
        return sorted(path.name for path in self.place.work.iterdir() if path.suffix == ".txt")


@pytest.fixture
def door(request: pytest.FixtureRequest, agent: Agent, place: Place) -> Door:
    return Door(request.param, agent, place)


@DOORS
@EVERYBODY
def test_what_is_allowed_runs_once_and_is_recorded(
    agent: Agent, door: Door, model: Model, place: Place, guard: Guard
) -> None:
    script = (door.writes("effect.txt", ALLOWED), Say("done"))
    run = agent.run(model, place, "write it", script, door.setup(guard))
    assert door.effects() == ["effect.txt"], run.story
    assert run.answer == "done"
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow"]
    assert ledger.outcomes == [("ok", door.label)]


@DOORS
@EVERYBODY
def test_what_is_refused_does_not_run_and_the_model_is_told_why(
    agent: Agent, door: Door, model: Model, place: Place, guard: Guard
) -> None:
    script = (door.writes("effect.txt", REFUSED), Say("done"))
    run = agent.run(model, place, "write it", script, door.setup(guard))
    assert door.effects() == [], run.story
    assert REASON in run.told().text
    assert run.answer == "done"
    ledger = guard.ledger()
    assert ledger.verdicts == ["deny"]
    assert ledger.outcomes == []


@DOORS
@THOSE_THAT_ASK
def test_what_waits_does_not_run_and_the_approval_is_named(
    agent: Agent, door: Door, model: Model, place: Place, guard: Guard
) -> None:
    script = (door.writes("effect.txt", ASKED), Say("done"))
    run = agent.run(model, place, "write it", script, door.setup(guard))
    assert door.effects() == [], run.story
    (item,) = guard.waiting()
    if agent is CLAUDE and door.kind.startswith("shell"):
        assert claude.document(run.ended)["stop_reason"] == "tool_deferred", run.story
    else:
        assert item.approval_id in run.told().text
    ledger = guard.ledger()
    assert ledger.verdicts == ["defer"]
    assert ledger.outcomes == []


@DOORS
@EVERYBODY
def test_nothing_runs_after_the_server_is_killed(
    agent: Agent, door: Door, model: Model, place: Place, guard: Guard
) -> None:
    script = (
        door.writes("before.txt", ALLOWED),
        door.writes("after.txt", ALLOWED, before=guard.server.kill),
        Say("done"),
    )
    run = agent.run(model, place, "write both", script, door.setup(guard))
    assert door.effects() == ["before.txt"], run.story
    assert run.told(1).text
    assert run.answer == "done"


@DOORS
@THOSE_THAT_ASK
@pytest.mark.parametrize("way", BREAKS)
def test_nothing_runs_after_the_server_breaks(
    agent: Agent, door: Door, way: str, model: Model, place: Place, guard: Guard
) -> None:
    with Relay(guard.server.url) as relay:
        script = (
            door.writes("before.txt", ALLOWED),
            door.writes("after.txt", ALLOWED, before=lambda: relay.breaks(BREAKS[way])),
            Say("done"),
        )
        run = agent.run(model, place, "write both", script, door.setup(guard, relay.url))
        assert relay.asked_in_vain, run.story
    assert door.effects() == ["before.txt"], run.story
    assert run.answer == "done"
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow"]
    assert ledger.outcomes == [("ok", door.label)]


def test_a_deferred_call_runs_once_after_it_is_approved(model: Model, place: Place, guard: Guard) -> None:
    script = (Shell(f"echo {ASKED} >> effect.txt"), Say("done"))
    setup = Setup(environment=guard.environment(guard.hook))
    install_hook(CLAUDE.name, place, setup.environment)
    stopped = CLAUDE.run(model, place, "touch it", script, setup)
    assert claude.document(stopped.ended)["stop_reason"] == "tool_deferred", stopped.story
    still = CLAUDE.run(model, place, None, script, setup, stopped)
    assert claude.document(still.ended)["stop_reason"] == "tool_deferred", still.story
    assert not (place.work / "effect.txt").exists()
    guard.approve()
    run = CLAUDE.run(model, place, None, script, setup, still)
    assert (place.work / "effect.txt").read_text() == f"{ASKED}\n", run.story
    assert run.answer == "done"
    assert guard.waiting() == []
    assert guard.ledger().outcomes == [("ok", "attested")]


@THOSE_THAT_ASK
def test_the_same_call_runs_once_after_it_is_approved(
    agent: Agent, model: Model, place: Place, guard: Guard
) -> None:
    """Where a client cannot wait, the model makes the same call again."""
    approve = cache(guard.approve)  # a client may ask for a turn twice

    def approved(_: Request) -> dict[str, str]:
        approve()
        return {"text": ASKED}

    note = Call("note", {"text": ASKED}, "book")
    calls = (note, Call("note", approved, "book"), note)
    setup = Setup(servers={"book": guard.gated(notebook(place))})
    run = agent.run(model, place, "note it", (*calls, Say("done")), setup)
    (written,) = notes(place)
    assert written["arguments"] == {"text": ASKED}, run.story
    assert "noted" in run.told(1).text
    ledger = guard.ledger()
    assert ledger.verdicts == ["defer", "allow", "defer"]
    assert ledger.outcomes == [("ok", "witnessed")]


def test_a_hook_that_accepts_everything_approves_nothing(model: Model, place: Place, guard: Guard) -> None:
    answer = {"hookEventName": "Elicitation", "action": "accept", "content": {"approve": True}}
    accepts = hook(place, f"print(json.dumps({ {'hookSpecificOutput': answer} }))", Moment.ELICITATION)
    setup = Setup(hooks=(accepts,), servers={"book": guard.gated(notebook(place))})
    run = CLAUDE.run(model, place, "note it", (Call("note", {"text": ASKED}, "book"), Say("done")), setup)
    assert notes(place) == [], run.story
    assert len(guard.waiting()) == 1
    ledger = guard.ledger()
    assert ledger.outcomes == []
