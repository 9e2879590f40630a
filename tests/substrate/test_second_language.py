"""A ledger full of arbitration verifies in the second language too, state hashes included."""

import subprocess
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import beliefd
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.kernel.substrate.dense import vector
from beliefd.kernel.values import Principal, Role
from beliefd.steward.effects.tools import EXECUTOR
from beliefd.testing.world import ONTOLOGY
from beliefd.tools import Registry
from beliefd.tools.registry import ToolResult
from tests.conformance.node import node
from tests.substrate.support import ToolWorld, one, tool_call

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
            goal: dict[str, Any] = {
                "kind": "delta",
                "patch": {"set": {f"goal.{number % 7}": {"v": 1, "n": number}}},
            }
            call = {"kind": "tool_call", "tool_id": "echo", "args": {"word": str(number)}}
            proof = {"capability_token": token, "idempotency_key": str(number)}
            loud = {"kind": "tool_call", "tool_id": "loud", "capability_token": token}
            goal["delta_vector"] = msgspec.to_builtins(vector([number, 0.5]))
            candidates: list[dict[str, Any]] = [goal, {**call, **proof}]
            # A call that degrades leaves less to those after it: one, and late, but before the state hash.
            own.propose(session, [*candidates, loud] if number == LOUD else candidates)
        entry = {"memory_id": "m", "kind": "hypothesis", "value": 1, "confidence": 0.5, "ttl_ms": 1000}
        own.remember(session, entry)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(own.export(session))
        assert any('"state_hash"' in line for line in exported.read_text().splitlines())
    verifies_elsewhere(exported)


def verifies_elsewhere(exported: Path) -> None:
    told = subprocess.run(
        [node(), ROOT / "conformance" / "verify.mjs", exported], capture_output=True, text=True, check=False
    )
    assert told.stdout.startswith("ok "), told.stdout


BUDGETS = {"tokens": 200}
ISSUING = msgspec.convert(
    {
        "constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}},
        "capabilities": [
            {"name": "a", "roles": ["agent"], "scope": {"tools": ["*"], "budgets": BUDGETS}},
        ],
    },
    Policy,
)


@pytest.mark.slow
def test_node_recomputes_what_is_issued_reserved_stopped_and_settled(tmp_path: Path) -> None:
    """Calls that end, that nobody knows of, that somebody finds out about, and that never begin."""
    over = threading.Event()
    with ToolWorld(policy=ISSUING) as house:
        house.toolbox.add("hangs", lambda: over.wait(60), timeout_ms=30, uses={"tokens": 40})
        house.toolbox.add("dear", lambda: ToolResult(None, tokens=90), mutates=True)
        house.toolbox.add("cheap", lambda: None, uses={"tokens": 1})
        session = house.session()
        token = house.agent.issue_capability(session).token
        found, lost = (one(house.agent.propose(session, [tool_call("hangs", token)])) for _ in range(2))
        assert [found.status, lost.status] == ["unknown"] * 2
        told = RecordOutcome(call_id=found.call_id or "", status="ok", tokens=7)
        house.submit(session, told, EXECUTOR)
        dear = [tool_call("dear", None, key) for key in ("k", "l")]
        answers = house.agent.propose(session, dear)
        assert [answer.status for answer in answers.results] == ["ok", "stopped"]
        while len(house.ledger(session)) < 256:
            assert one(house.agent.propose(session, [tool_call("cheap", None)])).status == "ok"
        over.set()
        house.check(session)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.export(session))
    assert '"state_hash"' in exported.read_text()
    verifies_elsewhere(exported)
