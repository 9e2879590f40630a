"""A house whose policy lets `note` pass, refuses `wipe` and asks about `wire`, and an adapter in it."""

from typing import Any

from beliefd.adapters.deciding import Conversation, Guard
from beliefd.client.requests import Request
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.events import Arbitrated, OutcomeRecorded
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.operation import A
from beliefd.protocol.rights import EVERYTHING
from beliefd.testing.world import Person, World, policy

ADAPTER = Principal(id="adapter://agent", role=Role.TOOL, owner="human://gus")
REASON = "the rules of this test"


def rules(**more: Any) -> Policy:
    return policy(
        **{
            "context": {},
            "tools": {"*": {"executor": "caller", "tier": "WRITE_LIMITED", "mutates": True}},
            "constraints": {
                "constraint.pass": {"v": 1, "effect": "allow"},
                "constraint.refuse": _denies("wipe", "block"),
                "constraint.ask": _denies("wire", "ask"),
            },
            "capabilities": [{"name": "programs", "roles": ["tool"], "scope": {"tools": ["*"]}}],
            **more,
        }
    )


def _denies(tool: str, on_fail: str) -> dict[str, Any]:
    named = {"op": "eq", "args": ["call.tool_id", tool]}
    return {"v": 1, "effect": "deny", "when": named, "on_fail": on_fail, "reason": REASON}


class House(World):
    """A world that an adapter talks to; `breaks` makes one operation fail, before or after it is done."""

    def __init__(self, rule: Policy | None = None) -> None:
        super().__init__(policy=rule or rules())
        self.adapter = Wire(self)
        self.guard = Guard("test", self.adapter)

    def talk(self, key: str = "talk") -> Conversation:
        return self.guard.conversation(key)

    def anew(self) -> Conversation:
        """The same conversation in a process that knows nothing of it."""
        return Guard("test", Wire(self)).conversation("talk")

    def said(self, talk: Conversation) -> list[str]:
        """What the ledger holds of calls: verdicts, and what came of those that ran."""
        told: list[str] = []
        for event in self.deltas(talk.session_id):
            if isinstance(event, Arbitrated):
                told += [one.verdict for one in event.results if one.reason_code != "REPEATED"]
            elif isinstance(event, OutcomeRecorded):
                told.append(event.call.status)
        return told

    def waits(self) -> str:
        (item,) = self.ann.list_approvals().approvals
        return item.approval_id

    def decide(self, decision: str, reason: str = "") -> None:
        self.ann.decide(self.ann.show_approval(self.waits()), decision, reason=reason)


class Wire(Person):
    """An adapter's way to the house, which can be cut: before an operation, or before its answer arrives."""

    def __init__(self, house: House) -> None:
        super().__init__(house, ADAPTER, EVERYTHING)
        self.cut: set[str] = set()
        self.lost: set[str] = set()

    def _send(self, request: Request[A]) -> A:
        name = request.operation.name
        if name in self.cut:
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, "cannot reach the server")
        answer = super()._send(request)
        if name in self.lost:
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, "the answer was lost")
        return answer
