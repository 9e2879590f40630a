"""A beliefd server for the adapters of frameworks, and their examples, each in an environment of its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.support.server import ServerProcess

from clients.harness.install import PINS, framework_python
from clients.harness.process import LIMIT_SECONDS, Place

EXAMPLES: Final = PINS.parent / "examples" / "adapters"
PLAYED: Final = tuple(sorted(path.stem.removesuffix("_agent") for path in EXAMPLES.glob("*_agent.py")))
ADAPTED: Final = re.compile(r"^from beliefd\.adapters\.(\w+) import", re.MULTILINE)
ADAPTER: Final = "adapter://ci"
ANN: Final = "human://ann"
ALLOWED: Final = "bob"
REFUSED: Final = "refused"
ASKED: Final = "asked"
BROKEN: Final = "broken"
"""Recipients by which the policy of these tests decides, and one at whom the tool raises."""
REASON: Final = "the rules of this test say so"
PAGE: Final = 500
PAUSE: Final = 0.1


def policy() -> dict[str, Any]:
    """Everything passes but what goes to one of these recipients."""
    return {
        "context": {},
        "tools": {"*": {"executor": "caller", "tier": "WRITE_LIMITED", "mutates": True}},
        "constraints": {
            "constraint.pass": {"v": 1, "effect": "allow"},
            "constraint.refuse": _denies(REFUSED, "block"),
            "constraint.ask": _denies(ASKED, "ask"),
        },
        "capabilities": [{"name": "programs", "roles": ["tool"], "scope": {"tools": ["*"]}}],
    }


def _denies(recipient: str, on_fail: str) -> dict[str, Any]:
    when = {"op": "eq", "args": ["call.args.to", recipient]}
    return {"v": 1, "effect": "deny", "when": when, "on_fail": on_fail, "reason": REASON}


@dataclass
class Played:
    """What an example printed: what its model was told, what waited, its answer, and how it ended."""

    told: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def take(self, line: str) -> bool:
        """Is there more to come?"""
        what, _, text = line.strip().partition(": ")
        if what in ("told", "waits", "answer", "ended"):
            getattr(self, what).append(text)
        return bool(line) and what != "ended"


class Player:
    """The example of a framework as a process that plays one story after the other: they start slowly."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._errors = folder / f"{name}.log"
        example = EXAMPLES / f"{name}_agent.py"
        (framework,) = set(ADAPTED.findall(example.read_text()))
        environment = {**Place(folder).environment(), **QUIET, "STORIES": "yes"}
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [str(framework_python(framework)), str(example)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
                cwd=Place(folder).work,
                start_new_session=True,
            )

    def play(self, difference: dict[str, str]) -> Played:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watch = threading.Timer(LIMIT_SECONDS, self.close)
        watch.start()
        try:
            print(json.dumps(difference), file=self._process.stdin, flush=True)
            played = Played()
            while played.take(self._process.stdout.readline()):
                pass
        finally:
            watch.cancel()
        assert played.ended, self._errors.read_text(errors="replace")[-4000:]
        return played

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@dataclass(frozen=True)
class World:
    """A running server, tokens for an adapter and a person, and a file that says what happened."""

    server: ServerProcess
    folder: Path
    adapter: str
    person: str

    def play(self, player: Player, *turns: dict[str, Any], impatient: int = 0) -> Played:
        """Have an example play these turns of the model against this server; without any, its own."""
        story = {"user": f"Send an email to {ALLOWED}", "turns": [*turns, {"say": "done"}]}
        return player.play(
            {
                "BELIEFD_URL": self.server.url,
                "BELIEFD_TOKEN": self.adapter,
                "SCRIPT": json.dumps(story) if turns else "",
                "EFFECTS": str(self._effects),
                "KILL": str(self.server.pid),
                "IMPATIENT": str(impatient),
            }
        )

    @property
    def _effects(self) -> Path:
        return self.folder / "effects.txt"

    def effects(self) -> list[str]:
        return self._effects.read_text().splitlines() if self._effects.exists() else []

    def ledger(self) -> list[str]:
        """Verdicts and outcomes in the order of the ledgers, each of which is verified; no repetitions."""
        told: list[str] = []
        with self.server.client(self.person) as client:
            for session in client.list_sessions(limit=PAGE).sessions:
                assert client.verify(session.session_id).ok
                for entry in client.audit_trace(session.session_id, limit=PAGE).events:
                    told += _said(entry["delta"])
        return told

    def context(self) -> list[str]:
        with self.server.client(self.person) as client:
            (session,) = client.list_sessions(limit=PAGE).sessions
            return [one.kind for one in client.list_context(session.session_id).items]

    @contextmanager
    def somebody_decides(self, decision: str, after: float = 3 * PAUSE) -> Iterator[list[str]]:
        """A person who decides about the first item that comes into the inbox, so many seconds later.

        Nobody is quicker than an adapter, which looks whether its call still waits.
        """
        decided: list[str] = []
        over = threading.Event()
        thread = threading.Thread(target=self._decide, args=(decision, after, decided, over))
        thread.start()
        try:
            yield decided
        finally:
            over.set()
            thread.join()

    def _decide(self, decision: str, after: float, decided: list[str], over: threading.Event) -> None:
        with self.server.client(self.person) as client:
            # Also when the story is over already: its last call may be the one that waits.
            while not (found := client.list_approvals().approvals) and not over.wait(PAUSE):
                pass
            found = found or client.list_approvals().approvals
            if not found:
                return
            over.wait(after)
            card = client.show_approval(found[0].approval_id)
            client.decide_approval(
                card.approval_id, decision, content_hash=card.content_hash, reason="seen by ann"
            )
            decided.append(card.approval_id)


QUIET: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
"""No framework tells anybody what happens here."""


def _said(delta: dict[str, Any]) -> list[str]:
    if delta["kind"] == "arbitrated":
        return [one["verdict"] for one in delta["results"] if one["reason_code"] != "REPEATED"]
    return [delta["call"]["status"]] if delta["kind"] == "outcome_recorded" else []


@dataclass(frozen=True)
class Seed:
    """A store with tokens in it and a policy beside it, which every test begins with a copy of."""

    folder: Path
    tokens: list[str]

    @classmethod
    def in_folder(cls, folder: Path, rules: Any) -> "Seed":
        (folder / "policy.json").write_bytes(msgspec.json.encode(rules))
        names = ((ADAPTER, "tool"), (ANN, "approver"))
        return cls(folder, [_token(folder / "data", name, role) for name, role in names])

    @contextmanager
    def world(self, folder: Path) -> Iterator[World]:
        shutil.copytree(self.folder / "data", folder / "data")
        with self.server(folder) as server:
            yield World(server, folder, *self.tokens)

    @contextmanager
    def server(self, folder: Path) -> Iterator[ServerProcess]:
        server = ServerProcess(folder / "data", options=("--policy", str(self.folder / "policy.json")))
        try:
            yield server
        finally:
            server.stop()
            server.forget()

    @contextmanager
    def revived(self, dead: World) -> Iterator[World]:
        """Another server on the same store."""
        with self.server(dead.folder) as server:
            yield replace(dead, server=server)


def _token(data: Path, name: str, role: str) -> str:
    made = [sys.executable, "-m", "beliefd", "token", "create", "--name", name, "--role", role]
    done = subprocess.run(
        [*made, "--owner", name, "--data", str(data)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()[-1]
