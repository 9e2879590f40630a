"""Where the demo is played: who takes part, what has happened so far, and what must hold for it to go on."""

from typing import TYPE_CHECKING

from beliefd.kits import Kit, Probe

if TYPE_CHECKING:
    from beliefd.cli.screen import Screen
    from beliefd.client import Client
    from beliefd.protocol.beliefs import BeliefSnapshot


class StoryBroken(Exception):
    """The server ruled otherwise than the story promises."""


class Stage:
    """Who takes part, and what has happened so far."""

    def __init__(
        self, kit: Kit, agent: "Client", approver: "Client", admin: "Client", screen: "Screen"
    ) -> None:
        self.kit = kit
        self.agent = agent
        self.approver = approver
        self.admin = admin
        self.screen = screen
        self.session_id = ""
        self.capability = ""
        self.fell: dict[str, str] = {}

    def draw(self, snapshot: "BeliefSnapshot") -> None:
        self.screen.board(snapshot, self.fell, list(self.kit.hypotheses))

    def probe(self, probe: Probe) -> None:
        """Ask the world, and let beliefd know what the outcome rules out."""
        outcome = self.kit.seen(probe, self.kit.truth)
        because = probe.outcomes[outcome].because
        answer = self.agent.eliminate(
            self.session_id,
            source_id=probe.source,
            observation_id=f"{probe.id}={outcome}",
            eliminated=self.kit.eliminated(probe, outcome),
            justification={"because": because},
        )
        self.fell.update(dict.fromkeys(answer.applied_eliminated, probe.id))
        self.screen.say(f"{probe.source} was asked to {probe.ask}: {because}")
        self.screen.say(f"gone: {', '.join(answer.applied_eliminated)}", "red")
        self.draw(answer.snapshot)


def must(kept: bool, otherwise: str) -> None:
    if not kept:
        raise StoryBroken(otherwise)
