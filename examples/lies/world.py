"""Two servers, the liar, and those it lies to."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from beliefd import Client
from beliefd.protocol.claims import JudgedBundle

BELIEFD: Final = [sys.executable, "-m", "beliefd"]
ONTOLOGY: Final = {
    "hypothesis_space_id": "sre/checkout-latency",
    "hypothesis_version": "3",
    "causal_graph_ref": "graphstore://checkout",
    "causal_graph_version": "v17",
}
TOOLS: Final = """
from beliefd.tools import tool

@tool("pool.stats", schema={"type": "object"})
def stats():
    return {"connections": 200, "idle_in_transaction": 163, "oldest": "checkout-worker-7"}

@tool("echo", schema={"type": "object"})
def echo(**said):
    return said

@tool("db.drop", schema={"type": "object"}, tier="DELETE", mutates=True)
def drop(**_):
    raise SystemExit("the database is gone")
"""
POLICY: Final = """
constraints:
  constraint.everything: {v: 1, effect: allow, subject: null}
tiers:
  raise: [{to: DELETE, words: [wipe]}]
"""
TOKENS: Final = {
    "liar": "agent --tier DELETE",
    "other": "agent --tier DELETE",
    "weak": "agent --tier READ_ONLY",
    "ann": "approver --tier PRIVILEGE",
    "eve": "approver --tier PRIVILEGE --owner liar",
    "root": "admin --tier PRIVILEGE",
    "adapter://mail": "tool",
}
NOBODY: Final = "00" * 32
NOW: Final = "2026-01-05T14:02:00Z"


class World:
    """A server on which everything is allowed that gates let pass, and one with the preset `guard`."""

    def __init__(self, url: str, guarded_url: str, tokens: dict[str, str]) -> None:
        self.url, self.guarded_url, self.tokens = url, guarded_url, tokens
        self.liar, self.other, self.weak, self.ann, self.eve, self.root = (
            Client(url, tokens[name]) for name in ("liar", "other", "weak", "ann", "eve", "root")
        )
        self.session = self.declared()
        self.elsewhere = self.declared()

    def declared(self) -> str:
        return self.liar.declare_session(["pool", "disk", "release"], ONTOLOGY).session_id

    def says(self, session: str | None = None, **claim: Any) -> JudgedBundle:
        """Submit one claim. What it does not say is as harmless as can be."""
        names = ("origin_agent", "id", "corrects")
        more: dict[str, Any] = {name: claim.pop(name) for name in names if name in claim}
        return self.liar.submit_claims(session or self.session, {**more, "claims": [claimed(**claim)]})

    def calls(self, who: Client, name: str, tool: str, session: str | None = None, **args: Any) -> Any:
        session = session or self.session
        given = self.root.issue_capability(session, agent_id=name, scope={"tools": ["*"], "budgets": {}})
        candidate = {"kind": "tool_call", "tool_id": tool, "args": args, "capability_token": given.token}
        return who.propose(session, [candidate])

    def decides(self, who: Client, waiting: JudgedBundle, decision: str, **more: Any) -> Any:
        card = who.show_approval(waiting.approval_id or "")
        return who.decide_approval(card.approval_id, decision, content_hash=card.content_hash, **more)

    def measures(self, answers: list[str], words: str, who: Client | None = None) -> dict[str, Any]:
        """How a claim cites the receipt that came of it."""
        measure = (who or self.liar).measure
        made = measure(self.session, statement=words, method="semantic_entropy", answers=answers)
        return {"method": "semantic_entropy", "measurement_id": made.measurement_id}


def claimed(**changes: Any) -> dict[str, Any]:
    return {
        "statement": "the pool is empty",
        "claim_type": "INFERENCE",
        "risk_tier": "READ_ONLY",
        "uncertainty": {"method": "confidence_score", "value": 0.0},
        **changes,
    }


def pointer(**changes: Any) -> dict[str, Any]:
    usual = {"source": "https://nature.example/proof", "evidence_hash": NOBODY, "retrieved_at": NOW}
    return {"source_confidence": 1.0, **usual, **changes}


def fact(tier: str = "READ_ONLY", **changes: Any) -> dict[str, Any]:
    return {"claim_type": "FACT", "risk_tier": tier, "evidence_pointers": [pointer(**changes)]}


@contextmanager
def served() -> Iterator[World]:
    """Two servers in folders of their own, with a token for each of them."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        data, guarded = Path(folder) / "open", Path(folder) / "guarded"
        data.mkdir()
        (data / "lying_tools.py").write_text(TOOLS)
        (data / "policy.yaml").write_text(POLICY)
        tokens = {name: _token(data, name, kind) for name, kind in TOKENS.items()}
        shutil.copytree(data, guarded)
        preset = guarded / "policy.yaml"
        preset.unlink()
        subprocess.run(
            [*BELIEFD, "policy", "init", "--preset", "guard", "-o", preset],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        begun = [
            servers.enter_context(_server(data, "--tools", "lying_tools")),
            servers.enter_context(_server(guarded)),
        ]
        yield World(_address(begun[0]), _address(begun[1]), tokens)


def _token(data: Path, name: str, kind: str) -> str:
    command = ["token", "create", "--data", str(data), "--name", name, "--role", *kind.split()]
    made = subprocess.run([*BELIEFD, *command], check=True, capture_output=True, text=True)
    return made.stdout.split()[-1]


@contextmanager
def _server(data: Path, *more: str) -> "Iterator[subprocess.Popen[str]]":
    words = ["serve", "--port", "0", "--data", str(data), "--policy", f"{data}/policy.yaml", *more]
    with subprocess.Popen([*BELIEFD, *words], stdout=subprocess.PIPE, text=True, cwd=data) as server:
        try:
            yield server
        finally:
            server.terminate()


def _address(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if (found := re.search(r"http://\S+", line)) is not None:
            return found[0]
    raise SystemExit("the server did not start")
