"""A guarded server, and hooks as clients start them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beliefd.client import Client
from beliefd.hooks import entry
from tests.cli.runner import beliefd
from tests.support.server import ServerProcess

EVENTS = Path(__file__).parent / "events"
CLIENTS = tuple(sorted(path.stem for path in EVENTS.glob("*.json")))
ENTRY = (sys.executable, "-S", "-E", str(entry.__file__))
PROJECT = "/home/ann/shop"


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def event(client: str, name: str, **words: str) -> dict[str, Any]:
    """A recorded event, with other words in the places of its capitals."""
    text = json.dumps(json.loads((EVENTS / f"{client}.json").read_text())[name])
    for place in ("CONVERSATION", "PROMPT", "COMMAND", "RESULT", "USE"):
        text = text.replace(place, json.dumps(words.get(place.lower(), place.lower()))[1:-1])
    found: dict[str, Any] = json.loads(text)
    return found


def run_hook(client: str, stdin: bytes | dict[str, Any], **names: str) -> Ended:
    """The hook as a process, in an environment without anything else."""
    given = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
    done = subprocess.run(
        [*ENTRY, client], input=given, capture_output=True, env={"PATH": os.environ["PATH"], **names},
        timeout=60, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass(frozen=True)
class Guarded:
    """A server with the guard preset, the token of a hook and that of a person."""

    server: ServerProcess
    hook: str
    person: str

    def send(self, client: str, told: dict[str, Any], **names: str) -> Ended:
        return run_hook(client, told, BELIEFD_URL=self.server.url, BELIEFD_TOKEN=self.hook, **names)

    def ann(self) -> Client:
        return self.server.client(self.person)

    def sessions(self) -> list[str]:
        with self.ann() as ann:
            return [one.session_id for one in ann.list_sessions(limit=500).sessions]

    def ledger(self, conversation: str) -> list[dict[str, Any]]:
        """The entries of the session of a conversation, without the one that opened it."""
        with self.ann() as ann:
            for session in self.sessions():
                first, *rest = ann.audit_trace(session).events
                if first["payload"].get("metadata", {}).get("conversation") == conversation:
                    return rest
        return []

    def approve(self) -> None:
        with self.ann() as ann:
            (item,) = ann.list_approvals().approvals
            card = ann.show_approval(item.approval_id)
            ann.decide_approval(item.approval_id, "APPROVED", content_hash=card.content_hash)


@contextmanager
def guarded(folder: Path) -> Iterator[Guarded]:
    data, rules = folder / "data", folder / "policy.yaml"
    assert beliefd("policy", "init", "--preset", "guard", "-o", rules).exit_code == 0
    tokens = [_token(data, name, role) for name, role in (("hook://ci", "tool"), ("human://ann", "approver"))]
    assert beliefd("policy", "adopt", rules, "--data", data).exit_code == 0
    server = ServerProcess(data)
    try:
        yield Guarded(server, *tokens)
    finally:
        server.stop()


def _token(data: Path, name: str, role: str) -> str:
    made = beliefd("token", "create", "--name", name, "--role", role, "--owner", name, "--data", data)
    assert made.exit_code == 0, made.output
    return made.stdout.splitlines()[-1]
