"""A ledger full of arbitration verifies in the second language too, state hashes included."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

import beliefd
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import ONTOLOGY
from beliefd.tools import Registry
from tests.conformance.node import node

ROOT = Path(__file__).parents[2]
RULES = Policy(
    constraints={
        "constraint.goals": {"v": 1, "effect": "allow", "subject": {"capability": "write:goal"}},
        "constraint.echo": {"v": 1, "effect": "allow", "subject": {"tool_id": "echo"}},
        "constraint.less": {"v": 1, "effect": "deny", "subject": {"tool_id": "loud"}, "on_fail": "degrade"},
    }
)
ROUNDS = 150
LOUD = 126


@pytest.mark.slow
def test_node_recomputes_the_state_of_a_long_ledger_of_proposals(tmp_path: Path) -> None:
    registry = Registry()
    registry.tool("echo", mutates=True)(lambda word: word)
    registry.tool("loud")(lambda: None)
    admin = Principal(id="human://root", role=Role.ADMIN)
    agent = Principal(id="agent://a", role=Role.AGENT)
    path = tmp_path / "ledger.db"
    with (
        beliefd.open(path, principal=agent, policy=RULES, registry=registry) as own,
        beliefd.open(path, principal=admin, policy=RULES, registry=registry) as root,
    ):
        session = own.declare_session(["a", "b"], ONTOLOGY).session_id
        scope = {"tools": ["*"], "budgets": {"calls": ROUNDS}}
        token = root.issue_capability(session, agent_id=agent.id, scope=scope).token
        for number in range(ROUNDS):
            goal = {"kind": "delta", "patch": {"set": {f"goal.{number % 7}": {"v": 1, "n": number}}}}
            call = {"kind": "tool_call", "tool_id": "echo", "args": {"word": str(number)}}
            proof = {"capability_token": token, "idempotency_key": str(number)}
            loud = {"kind": "tool_call", "tool_id": "loud", "capability_token": token}
            candidates: list[dict[str, Any]] = [goal, {**call, **proof}]
            # A call that degrades leaves less to those after it: one, and late, but before the state hash.
            own.propose(session, [*candidates, loud] if number == LOUD else candidates)
        entry = {"memory_id": "m", "kind": "hypothesis", "value": 1, "confidence": 0.5, "ttl_ms": 1000}
        own.remember(session, entry)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(own.export(session))
        assert any('"state_hash"' in line for line in exported.read_text().splitlines())
    told = subprocess.run(
        [node(), ROOT / "conformance" / "verify.mjs", exported], capture_output=True, text=True, check=False
    )
    assert told.stdout.startswith("ok "), told.stdout
