"""What substrate tests share: tools that count, rules and proposals as written, a world with tools."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import msgspec

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import Scope
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.substrate import CandidateAnswer, ProposalAnswer
from beliefd.stores.opening import MEMORY
from beliefd.testing.world import AGENT, ENCODER, World, policy
from beliefd.tools.registry import Registry

SUB_AGENT = Principal(id="agent://helper", role=Role.AGENT, tier="PRIVILEGE")
ALLOW_ALL: dict[str, Any] = {"v": 1, "effect": "allow", "subject": None}


def allow(tool_id: str, **more: Any) -> dict[str, Any]:
    return {"v": 1, "effect": "allow", "subject": {"tool_id": tool_id}, **more}


def deny(tool_id: str, **more: Any) -> dict[str, Any]:
    return {"v": 1, "effect": "deny", "subject": {"tool_id": tool_id}, **more}


def when(op: str, *args: Any) -> dict[str, Any]:
    return {"op": op, "args": list(args)}


def rules(**constraints: Any) -> Policy:
    """A policy of constraints alone; `constraint.` is put before every name."""
    return policy(constraints={f"constraint.{name}": value for name, value in constraints.items()})


def with_tools(given: Policy, **tools: Any) -> Policy:
    """The same policy with something to say about tools; `fs__read` stands for `fs.read`."""
    named = {name.replace("__", "."): value for name, value in tools.items()}
    return msgspec.convert({**msgspec.to_builtins(given), "tools": named}, Policy)


def one(answer: ProposalAnswer) -> CandidateAnswer:
    assert len(answer.results) == 1, answer
    return answer.results[0]


def codes(answer: CandidateAnswer) -> list[str]:
    return [reason.code for reason in answer.reasons]


def delta(**sets: Any) -> dict[str, Any]:
    """A change; `goal__x` stands for `goal.x`, and a bare value gets its `v`."""
    values = {
        name.replace("__", "."): value if isinstance(value, dict) else {"v": 1, "value": value}
        for name, value in sets.items()
    }
    return {"kind": "delta", "patch": {"set": values}}


def remove(*keys: str) -> dict[str, Any]:
    return {"kind": "delta", "patch": {"remove": list(keys)}}


def tool_call(tool_id: str, token: str | None, key: str | None = None, **args: Any) -> dict[str, Any]:
    asked = {"kind": "tool_call", "tool_id": tool_id, "args": args}
    if token is not None:
        asked["capability_token"] = token
    if key is not None:
        asked["idempotency_key"] = key
    return asked


class Toolbox:
    """Registered functions that write down how they were called."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.registry = Registry()
        self.add("note.read", lambda: "a note", network=False)
        self.add("calc.add", lambda a, b: a + b, schema=ADD, network=False)
        self.add("fs.read", lambda path: f"content of {path}", fs_read_args=["path"], network=False)
        self.add("fs.write", lambda path, text: len(text), fs_write_args=["path"], mutates=True)
        self.add("net.get", lambda url: "a page", net_args=["url"])
        self.add("email.send", lambda to: "sent", mutates=True, tier="MODIFY", capabilities=["outside"])

    def add(self, tool_id: str, function: Callable[..., Any], **definition: Any) -> None:
        def counted(**args: Any) -> Any:
            self.ran.append((tool_id, args))
            return function(**args)

        self.registry.tool(tool_id, **definition)(counted)

    @property
    def count(self) -> int:
        return len(self.ran)


ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


class ToolWorld(World):
    """A world with a toolbox."""

    def __init__(
        self,
        target: str | Path = MEMORY,
        policy: Policy | None = None,
        *,
        toolbox: Toolbox | None = None,
        **more: Any,
    ) -> None:
        self.toolbox = toolbox or Toolbox()
        super().__init__(target, policy, **{"registry": self.toolbox.registry, **more})
        self.encoder, self.helper = self.person(ENCODER), self.person(SUB_AGENT)

    def _reopened(self, policy: Policy) -> Self:
        again = super()._reopened(policy)
        again.toolbox = self.toolbox
        return again

    def token(self, session_id: str, agent: Principal = AGENT, **scope: Any) -> str:
        """A capability for an agent; for every tool, unless told otherwise."""
        given: dict[str, Any] = {"tools": ["*"], **scope}
        return self.root.issue_capability(session_id, agent_id=agent.id, scope=given).token

    def ledger(self, session_id: str) -> list[bytes]:
        return [sealed.record for sealed in self.entries(session_id)]


def proposal(*candidates: Any, snapshot: str | None = None) -> Propose:
    return Propose(
        provenance=Provenance(source="agent"), candidates=tuple(candidates), state_snapshot_id=snapshot
    )


def call_candidate(tool_id: str = "note.read", **more: Any) -> CallCandidate:
    return CallCandidate(tool_id=tool_id, **more)


def scope(**given: Any) -> Scope:
    return msgspec.convert({"tools": ["*"], **given}, Scope)
