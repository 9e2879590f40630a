"""The clients side by side: one way to run each of them against a script."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from clients.harness import claude, codex, gemini
from clients.harness.model import Model
from clients.harness.process import Ended, Place, run
from clients.harness.script import Request, Script, Speller, Told, call_id
from clients.harness.setup import Launch, Outcome, Setup

NOTHING: Final = Setup()


@dataclass(frozen=True)
class Run:
    """What came of one run of a client."""

    ended: Ended
    session: str | None
    answer: str
    """What the client printed as the model's last word."""
    conversation: str
    requests: tuple[Request, ...]

    def told(self, turn: int = 0, number: int = 0) -> Told:
        """What the model was told about a call of the script."""
        name = call_id(self.conversation, turn, number)
        heard = [request.told[name] for request in self.requests if name in request.told]
        assert heard, f"the model was told nothing about turn {turn}: {self.story}"
        return heard[-1]

    @property
    def offered(self) -> tuple[str, ...]:
        """The tools that the client offered to the model in the end."""
        return next((request.offered for request in reversed(self.requests) if request.offered), ())

    @property
    def story(self) -> str:
        """Everything that explains a failure."""
        told = {name: what for request in self.requests for name, what in request.told.items()}
        return f"{self.ended}\nanswer: {self.answer}\ntold: {told}\noffered: {self.offered}"


class Prepare(Protocol):
    def __call__(
        self, url: str, place: Place, prompt: str | None, setup: Setup, resume: str | None
    ) -> Launch: ...


class Agent(NamedTuple):
    name: str
    """As `beliefd hook` calls it."""
    shell: str
    """The name under which hooks know the client's shell."""
    tool: Callable[[str, str], str]
    """The name under which hooks know a tool of an MCP server."""
    spell: Speller
    prepare: Prepare
    """Write the configuration, say how to start."""
    read: Callable[[Ended], Outcome]

    def run(
        self,
        model: Model,
        place: Place,
        prompt: str | None,
        script: Script,
        setup: Setup = NOTHING,
        resume: Run | None = None,
    ) -> Run:
        """One head-less run; with `resume`, the session of an earlier run goes on, in the same script."""
        with model.playing(script, self.spell, resume.conversation if resume else None) as talk:
            launch = self.prepare(talk.url, place, prompt, setup, resume.session if resume else None)
            environment = {**place.environment(), **launch.environment, **setup.environment}
            ended = run(launch.command, environment, place.work)
        assert not talk.failures, talk.failures
        session, answer = self.read(ended)
        return Run(ended, session, answer, talk.id, tuple(talk.requests))


CLAUDE: Final = Agent("claude-code", claude.SHELL, claude.tool, claude.spell, claude.prepare, claude.outcome)
CODEX: Final = Agent("codex", codex.SHELL, codex.tool, codex.spell, codex.prepare, codex.outcome)
GEMINI: Final = Agent("gemini", gemini.SHELL, gemini.tool, gemini.spell, gemini.prepare, gemini.outcome)
AGENTS: Final = (CLAUDE, CODEX, GEMINI)
