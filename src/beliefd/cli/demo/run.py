"""One run of the demo: who takes part, what has happened so far, and what must hold for it to go on."""

from typing import TYPE_CHECKING, Any

from beliefd.kits import Kit, Probe

if TYPE_CHECKING:
    from beliefd.cli.demo.screen import Screen
    from beliefd.client import Client
    from beliefd.protocol.approvals import ApprovalCard, DecidedApproval
    from beliefd.protocol.beliefs import BeliefSnapshot
    from beliefd.protocol.substrate import CandidateAnswer


class StoryBroken(Exception):
    """The server ruled otherwise than the story promises."""


class DemoRun:
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
        self.waiting = ""
        self.eliminated_by: dict[str, str] = {}

    def draw(self, snapshot: "BeliefSnapshot") -> None:
        self.screen.board(snapshot, self.eliminated_by, list(self.kit.hypotheses))

    def probe(self, probe: Probe) -> None:
        """Ask one source, and tell beliefd what the outcome rules out."""
        outcome = self.kit.seen(probe, self.kit.truth)
        because = probe.outcomes[outcome].because
        answer = self.agent.eliminate(
            self.session_id,
            source_id=probe.source,
            observation_id=f"{probe.id}={outcome}",
            eliminated=self.kit.eliminated(probe, outcome),
            justification={"because": because},
        )
        self.eliminated_by.update(dict.fromkeys(answer.applied_eliminated, probe.id))
        self.screen.say(f"{probe.source} was asked to {probe.ask}: {because}")
        self.screen.say(f"gone: {', '.join(answer.applied_eliminated)}", "red")
        self.draw(answer.snapshot)

    def call(self, tool_id: str, args: dict[str, Any], key: str | None = None) -> "CandidateAnswer":
        """The agent asks for a tool."""
        candidate = {
            "kind": "tool_call",
            "tool_id": tool_id,
            "args": args,
            "capability_token": self.capability,
            "idempotency_key": key,
        }
        return self.agent.propose(self.session_id, [candidate]).results[0]

    def approve(self, approval_id: str, reason: str) -> "tuple[ApprovalCard, DecidedApproval]":
        """A person looks at what waits, and approves exactly that."""
        card = self.approver.show_approval(approval_id)
        answer = self.approver.decide_approval(
            approval_id, "APPROVED", content_hash=card.content_hash, reason=reason
        )
        return card, answer


def must(kept: bool, otherwise: str) -> None:
    if not kept:
        raise StoryBroken(otherwise)
