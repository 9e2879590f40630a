"""beliefd in front of real clients: side effect, what the model was told, and the ledger agree.

The shell through the hook and a tool of a server through the gateway, each x {allow, deny, wait, server
killed, slow, malformed answer}.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain

import pytest

from clients.harness import claude
from clients.harness.agents import CLAUDE, CODEX, GEMINI, Agent, Run
from clients.harness.guard import ALLOWED, ASKED, REASON, REFUSED, Guard, gated, install_hook, told
from clients.harness.hooks import events, hook
from clients.harness.model import Model
from clients.harness.process import Place
from clients.harness.relay import Relay
from clients.harness.script import Call, Request, Say, Script, Shell
from clients.harness.setup import Moment, Server, Setup
from clients.harness.upstreams import filesystem, notebook, notes, older

THOSE_THAT_ASK = pytest.mark.parametrize("agent", [CLAUDE, CODEX], ids=lambda agent: agent.name)
AFTER = {CLAUDE.name: b'"PostToolUse"', CODEX.name: b'"PostToolUse"', GEMINI.name: b'"AfterTool"'}
BREAKS: dict[str, bytes | None] = {
    "answers no JSON": b"<html>",
    "answers another object": b'{"verdict": "allow", "exit_code": 0}',
    "answers nothing": b"",
    "never answers": None,
}
DEADLINE = {"BELIEFD_HOOK_SECONDS": "5"}
"""For a server that never answers; the gateway has one of its own."""
SHELL, TOOL = "by_shell", "by_tool"
HOOK_REFUSES = "beliefd: nothing may run without a verdict"
GATEWAY_REFUSES = "beliefd refused this call"
"""What the model is told where there is no answer: it does not take that for the tool's own."""


@dataclass(frozen=True)
class Doors:
    """The two ways to a file that says what happened: the client's shell, and a tool of a server."""

    place: Place

    def writes(
        self, name: str, word: str, before: Callable[[str], None] = lambda _: None
    ) -> tuple[Shell | Call, ...]:
        """Two turns: each writes the word into a file. `before` happens when the client asks for one."""

        def command(_: Request) -> str:
            before(SHELL)
            return f"echo {word} | tee {self.place.work / name}.by_shell"

        def arguments(_: Request) -> dict[str, str]:
            before(TOOL)
            return {"path": str(self.place.work / f"{name}.by_tool"), "content": word}

        return Shell(command), Call("write_file", arguments, "files")

    def setup(
        self, agent: Agent, guard: Guard, to_hook: str | None = None, to_gateway: str | None = None
    ) -> Setup:
        """The hook judges the shell and the gateway the server: each of the two is judged once."""
        environment = told(to_hook or guard.server.url, guard.hook) | {"BELIEFD_GATED": "files"} | DEADLINE
        install_hook(agent.name, self.place, environment)
        server = gated(to_gateway or guard.server.url, guard.gateway, filesystem(self.place.work))
        return Setup(environment=environment, servers={"files": server})

    def effects(self) -> list[str]:
        return sorted(path.name for path in self.place.work.iterdir() if ".by_" in path.name)


BOTH = [("ok", "attested"), ("ok", "witnessed")]
"""A hook tells what its client says; the gateway has seen it."""


def told_that_both_ran(run: Run, turn: int = 0) -> None:
    assert ALLOWED in run.told(turn).text, run.story
    assert "Successfully wrote" in run.told(turn + 1).text, run.story


@pytest.fixture
def doors(place: Place) -> Doors:
    return Doors(place)


def test_what_may_run_runs_once_and_what_may_not_does_not(
    agent: Agent, doors: Doors, model: Model, place: Place, guard: Guard
) -> None:
    """Allowed, refused and waiting, through both doors. Without a person, Claude Code stops at the last."""
    shell_waits, tool_waits = doors.writes("waiting", ASKED)
    script = (
        *doors.writes("allowed", ALLOWED),
        *doors.writes("refused", REFUSED),
        tool_waits,
        shell_waits,
        Say("done"),
    )
    run = agent.run(model, place, "write it", script, doors.setup(agent, guard))
    assert doors.effects() == ["allowed.by_shell", "allowed.by_tool"], run.story
    told_that_both_ran(run)
    for turn in (2, 3):
        assert REASON in run.told(turn).text
    waiting = {item.approval_id for item in guard.waiting()}
    assert len(waiting) == 2
    told_of_tool = run.told(4).text
    assert any(name in told_of_tool for name in waiting), run.story
    if agent is CLAUDE:
        assert claude.document(run.ended)["stop_reason"] == "tool_deferred", run.story
    else:
        assert any(name in run.told(5).text and name not in told_of_tool for name in waiting), run.story
        assert run.answer == "done"
    ledger = guard.ledger()
    # The names that Gemini gives to tools of servers leave room for doubt: its hook judges them, too.
    twice = [("ok", "attested")] if agent is GEMINI else []
    assert sorted(ledger.verdicts) == ["allow"] * (2 + len(twice)) + ["defer"] * 2 + ["deny"] * 2
    assert sorted(ledger.outcomes) == twice + BOTH


def test_nothing_runs_after_the_server_is_killed(
    agent: Agent, doors: Doors, model: Model, place: Place, guard: Guard
) -> None:
    twice = [("ok", "attested")] if agent is GEMINI else []  # as above

    @cache  # a client may ask for a turn twice
    def kill() -> None:
        guard.until(lambda ledger: len(ledger.outcomes) == len(BOTH) + len(twice))
        guard.server.kill()

    script = (
        *doors.writes("before", ALLOWED),
        *doors.writes("after", ALLOWED, before=lambda _: kill()),
        Say("done"),
    )
    run = agent.run(model, place, "write both", script, doors.setup(agent, guard))
    assert doors.effects() == ["before.by_shell", "before.by_tool"], run.story
    told_that_both_ran(run)
    for turn in (2, 3):  # the hook stands before the gateway
        assert HOOK_REFUSES in run.told(turn).text, run.story
    assert run.answer == "done"
    with guard.revived() as again:
        ledger = again.ledger()
    assert ledger.verdicts == ["allow"] * (2 + len(twice))
    assert sorted(ledger.outcomes) == [*twice, *BOTH]


def test_a_gateway_whose_server_is_killed_refuses(
    agent: Agent, doors: Doors, model: Model, place: Place, guard: Guard
) -> None:
    """The gateway by itself: no hook stands before it."""

    @cache  # a client may ask for a turn twice
    def kill() -> None:
        guard.until(lambda ledger: len(ledger.outcomes) == 1)
        guard.server.kill()

    (_, before), (_, after) = (
        doors.writes("before", ALLOWED),
        doors.writes("after", ALLOWED, before=lambda _: kill()),
    )
    setup = Setup(servers={"files": guard.gated(filesystem(place.work))})
    run = agent.run(model, place, "write both", (before, after, Say("done")), setup)
    assert doors.effects() == ["before.by_tool"], run.story
    assert "Successfully wrote" in run.told(0).text, run.story
    assert GATEWAY_REFUSES in run.told(1).text, run.story
    assert run.answer == "done"
    with guard.revived() as again:
        ledger = again.ledger()
    assert ledger.verdicts == ["allow"]
    assert ledger.outcomes == [("ok", "witnessed")]


@THOSE_THAT_ASK
def test_nothing_runs_while_the_server_is_broken(
    agent: Agent, doors: Doors, model: Model, place: Place, guard: Guard
) -> None:
    """Broken for the one that judges: the hook announces a tool's call, and would block it, too."""
    with Relay(guard.server.url) as to_hook, Relay(guard.server.url) as to_gateway:

        def breaks(way: str) -> Callable[[str], None]:
            def now(door: str) -> None:
                guard.until(lambda ledger: len(ledger.outcomes) == 2)
                if door == SHELL:
                    to_hook.breaks(BREAKS[way])
                else:
                    to_hook.mends()
                    to_gateway.breaks(BREAKS[way])

            return now

        broken = [doors.writes(way.replace(" ", "_"), ALLOWED, before=breaks(way)) for way in BREAKS]
        script: Script = (*doors.writes("before", ALLOWED), *chain(*broken), Say("done"))
        run = agent.run(
            model, place, "write all", script, doors.setup(agent, guard, to_hook.url, to_gateway.url)
        )
        for relay in (to_hook, to_gateway):
            assert len(relay.asked_in_vain) >= len(BREAKS), run.story
    assert doors.effects() == ["before.by_shell", "before.by_tool"], run.story
    told_that_both_ran(run)
    for turn in range(2, 2 + 2 * len(BREAKS), 2):
        assert HOOK_REFUSES in run.told(turn).text, run.story
        assert GATEWAY_REFUSES in run.told(turn + 1).text, run.story
    assert run.answer == "done"
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow", "allow"]
    assert sorted(ledger.outcomes) == BOTH


def test_a_result_that_could_not_be_recorded_is_not_shown_to_the_model(
    agent: Agent, model: Model, place: Place, guard: Guard
) -> None:
    """The call was judged and has run; then the server does not take what came of it."""
    secret = place.work / "secret.txt"
    secret.write_text("0815")
    with Relay(guard.server.url) as relay:
        relay.breaks(b"<html>", at=AFTER[agent.name])
        environment = told(relay.url, guard.hook)
        install_hook(agent.name, place, environment)
        setup = Setup(environment=environment, servers={"files": filesystem(place.work)})
        reads = Call("read_text_file", {"path": str(secret)}, "files")
        calls: list[Shell | Call] = [Shell("cat secret.txt"), reads]
        if agent is CLAUDE:
            calls.append(Call("Read", {"file_path": str(secret)}))
        run = agent.run(model, place, "read it", (*calls, Say("done")), setup)
        assert len(relay.asked_in_vain) == len(calls), run.story
    for turn in range(len(calls)):
        assert "0815" not in run.told(turn).text
        assert "beliefd: " in run.told(turn).text
    ledger = guard.ledger()
    assert ledger.verdicts == ["allow"] * len(calls)
    assert ledger.outcomes == []


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


@pytest.mark.parametrize("revision", [older, lambda server: server], ids=["older", "current"])
def test_a_hook_that_accepts_everything_approves_nothing(
    revision: Callable[[Server], Server], model: Model, place: Place, guard: Guard
) -> None:
    """It accepts what the gateway asks while it holds the call. In the current revision nothing is asked."""
    answer = {"hookEventName": "Elicitation", "action": "accept", "content": {"approve": True}}
    accepts = hook(place, f"print(json.dumps({ {'hookSpecificOutput': answer} }))", Moment.ELICITATION)
    gateway = revision(guard.gated(notebook(place), "--hold", "3"))
    setup = Setup(hooks=(accepts,), servers={"book": gateway})
    run = CLAUDE.run(model, place, "note it", (Call("note", {"text": ASKED}, "book"), Say("done")), setup)
    asked = [event["url"] for event in events(place, Moment.ELICITATION)]
    (item,) = guard.waiting()
    assert [item.approval_id in url for url in asked] == [True] * (revision is older), run.story
    assert notes(place) == [], run.story
    assert item.approval_id in run.told().text
    ledger = guard.ledger()
    assert ledger.verdicts == ["defer"]
    assert ledger.outcomes == []
