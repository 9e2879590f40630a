"""Run a client: a clean home, a small environment, a time limit, and an end for all that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from clients.harness.install import PYTHON, node
from clients.harness.script import Request, Told, call_id

LIMIT_SECONDS: Final = 240
"""Far above what a run takes on a busy machine: it ends what hangs."""


@dataclass(frozen=True)
class Place:
    """The folders of one user: where the client keeps its things, and where it works."""

    root: Path

    @property
    def home(self) -> Path:
        return self._made("home")

    @property
    def work(self) -> Path:
        return self._made("work")

    def _made(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def environment(self) -> dict[str, str]:
        """All that a client inherits: no variable of the machine that runs the tests."""
        path = (str(Path(node()).parent), str(PYTHON), "/usr/local/bin", "/usr/bin", "/bin")
        return {"PATH": ":".join(path), "HOME": str(self.home), "LANG": "C.UTF-8", "TMPDIR": str(self._made("tmp"))}


class Ended(NamedTuple):
    exit: int
    output: str
    errors: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """What came of one run of a client."""

    ended: Ended
    session: str | None
    answer: str
    """What the client printed as the model's last word."""
    conversation: str
    requests: tuple[Request, ...]
    place: Place

    def told(self, turn: int = 0, number: int = 0) -> Told | None:
        """What the model was told about a call of the script; None if it never heard of it again."""
        name = call_id(self.conversation, turn, number)
        heard = [request.told[name] for request in self.requests if name in request.told]
        return heard[-1] if heard else None

    @property
    def offered(self) -> tuple[str, ...]:
        """The tools that the client offered to the model in the end."""
        return next((request.offered for request in reversed(self.requests) if request.offered), ())

    def __str__(self) -> str:
        """Everything that explains a failure."""
        told = {name: what for request in self.requests for name, what in request.told.items()}
        return f"{self.ended}\nanswer: {self.answer}\ntold: {told}\noffered: {self.offered}"


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, stdin: str | None = None) -> Ended:
    """The client in a process group of its own, which does not outlive it."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(stdin, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        end_group(process)
        output, errors = process.communicate()
        raise AssertionError(f"{command[0]} took longer than {LIMIT_SECONDS} s:\n{output}\n{errors}") from None
    finally:
        end_group(process)
    return Ended(process.returncode, output, errors, time.monotonic() - begun)


def end_group(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
