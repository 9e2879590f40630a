"""Worlds that judge calls by where their values came from, and those who may tell what agents were told."""

from itertools import count
from typing import Any

import msgspec

from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.policy.presets import preset
from beliefd.protocol.substrate import CandidateAnswer
from beliefd.testing.world import AGENT, Person, policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, one, when

GATEWAY = Principal(id="gateway://front", role=Role.TOOL, owner=AGENT.id)
HOOK = Principal(id="hook://claude", role=Role.TOOL, owner=AGENT.id)
STRANGER = Principal(id="gateway://other", role=Role.TOOL, owner="human://gus")
POSING = Principal(id="gateway://posing", role=Role.AGENT)
GUARD = preset("guard")
FOREIGN_SINK = {
    "v": 1,
    "effect": "deny",
    "subject": None,
    "when": when("eq", "fact.call.sink_foreign", True),
    "on_fail": "ask",
}
EVE = "eve@example.net"
keys = count()


def origin_policy(context: dict[str, Any] | None = None, **constraints: Any) -> Policy:
    """Everything is allowed but for what constraints say of where values came from."""
    named = {f"constraint.{name}": rule for name, rule in {"all": ALLOW_ALL, **constraints}.items()}
    return policy(context=context or {}, constraints=named)


def guard(**context: Any) -> Policy:
    """The preset, with something else to say about context."""
    told = msgspec.structs.replace(GUARD.context or policy(context={}).context, **context)  # type: ignore[type-var]
    return msgspec.structs.replace(GUARD, context=told)


def gateway(house: ToolWorld) -> Person:
    return house.person(GATEWAY)


def wants(who: Person, session: str, tool_id: str, key: str | None = None, **args: Any) -> CandidateAnswer:
    """Propose a call that the caller runs."""
    call = {"kind": "tool_call", "tool_id": tool_id, "args": args, "join_key": key or f"use-{next(keys)}"}
    return one(who.propose(session, [call], execute="caller"))


def rules_of(answer: CandidateAnswer) -> list[str]:
    return [(reason.constraint or "").rpartition("_")[2] for reason in answer.reasons]


def facts_in(record: bytes) -> Any:
    """What was found out about the calls of a recorded proposal."""
    return msgspec.json.decode(record)["facts"]["calls"]


def found_last(house: ToolWorld, session: str) -> Any:
    proposals = [record for record in house.ledger(session) if b'"verb":"PROPOSE"' in record]
    return facts_in(proposals[-1])[0]
