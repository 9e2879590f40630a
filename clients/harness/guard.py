"""A beliefd server in front of a client: its policy, who may speak to it, and what its ledgers hold."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.support.server import ServerProcess

import beliefd
from clients.harness.process import Place, run
from clients.harness.setup import Server

SOURCE: Final = Path(str(beliefd.__file__)).parents[1]
PROGRAM: Final = ("/usr/bin/env", f"PYTHONPATH={SOURCE}", sys.executable, "-m", "beliefd")
"""This checkout's beliefd. Gemini hands no PYTHONPATH on to servers, so the command says it."""
ALLOWED: Final = "4711"
REFUSED: Final = "refused-by-rule"
ASKED: Final = "asked-by-rule"
"""Words in a call's arguments by which the policy of these tests decides."""
WHERE: Final = ("command", "content", "text", "message")
"""The arguments that it looks at: of shells, of `write_file`, of the notebook, of `echo`."""
PAGE: Final = 500
"""More than any test makes."""
REASON: Final = "the rules of this test refuse it"


def policy() -> dict[str, Any]:
    """Everything passes but what has one of the words in it."""
    return {
        "context": {},
        "tools": {"*": {"executor": "caller", "tier": "WRITE_LIMITED", "mutates": True}},
        "schemas": {
            "refused": {"type": "string", "pattern": REFUSED},
            "asked": {"type": "string", "pattern": ASKED},
        },
        "constraints": {
            "constraint.pass": {"v": 1, "effect": "allow"},
            "constraint.refuse": _denies("refused", "block"),
            "constraint.ask": _denies("asked", "ask"),
        },
        "capabilities": [{"name": "programs", "roles": ["tool"], "scope": {"tools": ["*"]}}],
    }


def _denies(schema: str, on_fail: str) -> dict[str, Any]:
    fits = [{"op": "schema", "args": [f"call.args.{name}", schema]} for name in WHERE]
    found = {"op": "any", "args": fits}
    return {"v": 1, "effect": "deny", "when": found, "on_fail": on_fail, "reason": REASON}


@dataclass(frozen=True)
class Guard:
    """A running server, and a token for each who speaks to it."""

    server: ServerProcess
    hook: str
    gateway: str
    person: str

    def environment(self, token: str) -> dict[str, str]:
        return told(self.server.url, token)

    def gated(self, upstream: Server, name: str = "gateway", *options: str) -> Server:
        return gated(self.server.url, self.gateway, upstream, name, *options)

    def ledger(self) -> "Ledger":
        """What all ledgers hold of calls; each is verified on the way."""
        found = Ledger()
        with self.server.client(self.person) as client:
            for session in client.list_sessions(limit=PAGE).sessions:
                verdict = client.verify(session.session_id)
                assert verdict.ok, verdict
                for entry in client.audit_trace(session.session_id, limit=PAGE).events:
                    found.take(entry["delta"])
        return found

    def approve(self) -> str:
        """A person says yes to the one item that waits."""
        with self.server.client(self.person) as client:
            (item,) = client.list_approvals().approvals
            card = client.show_approval(item.approval_id)
            client.decide_approval(
                card.approval_id, "APPROVED", content_hash=card.content_hash, reason="seen and agreed"
            )
            return card.approval_id

    def waiting(self) -> list[Any]:
        with self.server.client(self.person) as client:
            return list(client.list_approvals().approvals)


@dataclass
class Ledger:
    """Calls as they were judged, and what became of those that began, each in its order."""

    verdicts: list[str] = field(default_factory=list)
    outcomes: list[tuple[str, str]] = field(default_factory=list)
    """Status, and whether it was `witnessed` or `attested`."""

    def take(self, delta: Mapping[str, Any]) -> None:
        kind = delta["kind"]
        if kind == "arbitrated":
            self.verdicts += [result["verdict"] for result in delta["results"]]
        elif kind == "outcome_recorded":
            self.outcomes.append((delta["call"]["status"], delta["call"].get("label", "")))


@contextmanager
def guarding(folder: Path) -> Iterator[Guard]:
    """A server with the policy above. One token makes it ask everybody for theirs."""
    folder.mkdir()
    data = folder / "data"
    rules = folder / "policy.json"
    rules.write_bytes(msgspec.json.encode(policy()))
    place = Place(folder)
    tokens = {
        name: _token(place, data, name, role)
        for name, role in (("hook://ci", "tool"), ("gateway://ci", "tool"), ("human://ann", "approver"))
    }
    server = ServerProcess(data, options=("--policy", str(rules)))
    try:
        yield Guard(server, *tokens.values())
    finally:
        server.stop()
        server.forget()


def _token(place: Place, data: Path, name: str, role: str) -> str:
    made = (*PROGRAM, "token", "create", "--name", name, "--role", role, "--owner", name, "--data", str(data))
    ended = run(made, place.environment(), place.work)
    assert ended.exit == 0, ended
    return ended.output.splitlines()[-1]


def told(url: str, token: str) -> dict[str, str]:
    return {"BELIEFD_URL": url, "BELIEFD_TOKEN": token}


def gated(url: str, token: str, upstream: Server, name: str = "gateway", *options: str) -> Server:
    """An MCP server with the gateway before it."""
    command = (*PROGRAM, "mcp", "gateway", "--name", name, *options, "--", *upstream.command)
    return Server(command, {**upstream.environment, **told(url, token)})


def install_hook(agent: str, place: Place, environment: Mapping[str, str]) -> None:
    """What `beliefd hook install` writes for this user."""
    ended = run((*PROGRAM, "hook", "install", agent), place.environment() | dict(environment), place.work)
    assert ended.exit == 0, ended
