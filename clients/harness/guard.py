"""A beliefd server in front of a client: its policy, who may speak to it, and what its ledgers hold."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
RULES: Final = "rules.yaml"
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
    data: Path
    before: frozenset[str] = frozenset()
    """Sessions and approvals of earlier tests, which are none of this one's."""

    def environment(self, token: str) -> dict[str, str]:
        return told(self.server.url, token)

    def gated(self, upstream: Server, *options: str) -> Server:
        return gated(self.server.url, self.gateway, upstream, *options)

    def ledger(self) -> "Ledger":
        """What all ledgers hold of calls; each is verified on the way."""
        found = Ledger()
        with self.server.client(self.person) as client:
            for session in client.list_sessions(limit=PAGE).sessions:
                if session.session_id in self.before:
                    continue
                verdict = client.verify(session.session_id)
                assert verdict.ok, verdict
                for entry in client.audit_trace(session.session_id, limit=PAGE).events:
                    found.take(session.session_id, entry["delta"])
        return found

    def until(self, true: Callable[["Ledger"], bool], seconds: float = 30) -> None:
        """What a gateway has seen it reports beside its other work."""
        deadline = time.monotonic() + seconds
        while not true(self.ledger()):
            assert time.monotonic() < deadline, self.ledger()
            time.sleep(0.1)

    def approve(self) -> str:
        """A person says yes to the one item that waits."""
        (item,) = self.waiting()
        with self.server.client(self.person) as client:
            card = client.show_approval(item.approval_id)
            client.decide_approval(
                card.approval_id, "APPROVED", content_hash=card.content_hash, reason="seen and agreed"
            )
            return card.approval_id

    def waiting(self) -> list[Any]:
        with self.server.client(self.person) as client:
            listed = client.list_approvals(limit=PAGE).approvals
            return [item for item in listed if item.approval_id not in self.before]

    @contextmanager
    def revived(self) -> Iterator["Guard"]:
        """Another server on the store of one that was killed, to read what that has left."""
        server = ServerProcess(self.data, options=_rules(self.data))
        try:
            yield replace(self, server=server)
        finally:
            server.stop()
            server.forget()

    def from_now_on(self) -> "Guard":
        """The same server for another test. One that a test has killed is started again."""
        server = self.server
        if not server.is_up:
            server.forget()
            server = ServerProcess(self.data, options=_rules(self.data))
        with server.client(self.person) as client:
            sessions = [one.session_id for one in client.list_sessions(limit=PAGE).sessions]
            waiting = [one.approval_id for one in client.list_approvals(limit=PAGE).approvals]
        return replace(self, server=server, before=frozenset(sessions) | frozenset(waiting))


@dataclass
class Ledger:
    """Calls as they were judged, and what became of those that began, each in its order."""

    verdicts: list[str] = field(default_factory=list)
    outcomes: list[tuple[str, str]] = field(default_factory=list)
    """Status, and whether it was `witnessed` or `attested`."""
    with_calls: set[str] = field(default_factory=set)
    """The sessions in which calls were judged."""

    def take(self, session_id: str, delta: Mapping[str, Any]) -> None:
        kind = delta["kind"]
        if kind == "arbitrated":
            self.with_calls.add(session_id)
            self.verdicts += [result["verdict"] for result in delta["results"]]
        elif kind == "outcome_recorded":
            self.outcomes.append((delta["call"]["status"], delta["call"].get("label", "")))


class House:
    """A server with these rules for all tests of one worker. One token makes it ask everybody for theirs."""

    def __init__(self, folder: Path, rules: bytes) -> None:
        data = Place(folder).made("data")
        (folder / RULES).write_bytes(rules)
        names = {"hook://ci": "tool", "gateway://ci": "tool", "human://ann": "approver"}
        hook, gateway, person = (_token(Place(folder), data, name, role) for name, role in names.items())
        self._guard = Guard(ServerProcess(data, options=_rules(data)), hook, gateway, person, data)

    def guard(self) -> Guard:
        self._guard = self._guard.from_now_on()
        return self._guard

    def close(self) -> None:
        self._guard.server.stop()
        self._guard.server.forget()


def _rules(data: Path) -> tuple[str, ...]:
    return ("--policy", str(data.parent / RULES))


@contextmanager
def housed(folder: Path, rules: bytes) -> Iterator[House]:
    house = House(folder, rules)
    try:
        yield house
    finally:
        house.close()


def words() -> bytes:
    """The rules of most tests: the words above decide."""
    return msgspec.json.encode(policy())


def preset() -> bytes:
    """The rules that are shipped, as they are."""
    return (SOURCE / "beliefd" / "policy" / "presets" / "guard.yaml").read_bytes()


def _token(place: Place, data: Path, name: str, role: str) -> str:
    owner = "the agents' user" if role == "tool" else name
    options = ("--name", name, "--role", role, "--owner", owner, "--data", str(data))
    ended = run((*PROGRAM, "token", "create", *options), place.environment(), place.work)
    assert ended.exit == 0, ended
    return ended.output.splitlines()[-1]


def told(url: str, token: str) -> dict[str, str]:
    return {"BELIEFD_URL": url, "BELIEFD_TOKEN": token}


def gated(url: str, token: str, upstream: Server, *options: str) -> Server:
    """An MCP server with the gateway before it."""
    command = (*PROGRAM, "mcp", "gateway", "--name", upstream.name, *options, "--", *upstream.command)
    return Server(command, {**upstream.environment, **told(url, token)})


def install_hook(agent: str, place: Place, environment: Mapping[str, str]) -> None:
    """What `beliefd hook install` writes for this user."""
    ended = run((*PROGRAM, "hook", "install", agent), place.environment() | dict(environment), place.work)
    assert ended.exit == 0, ended
