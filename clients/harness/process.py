"""Run a program: a clean home, a small environment, a time limit, and an end for all that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from clients.harness.install import PYTHON, node

LIMIT_SECONDS: Final = 240
"""Far above what a run takes on a busy machine: it ends what hangs."""


@dataclass(frozen=True)
class Place:
    """The folders of one user: where the client keeps its things, and where it works."""

    root: Path

    @property
    def home(self) -> Path:
        return self.made("home")

    @property
    def work(self) -> Path:
        return self.made("work")

    def made(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def environment(self) -> dict[str, str]:
        """All that a client inherits: no variable of the machine that runs the tests."""
        path = (str(Path(node()).parent), str(PYTHON), "/usr/local/bin", "/usr/bin", "/bin")
        folders = {"HOME": str(self.home), "TMPDIR": str(self.made("tmp"))}
        return {"PATH": ":".join(path), "LANG": "C.UTF-8", **folders}


class Ended(NamedTuple):
    exit: int
    output: str
    errors: str
    seconds: float


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Ended:
    """The program in a process group of its own, which does not outlive it."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        end_group(process)
        output, errors = process.communicate()
        told = f"{command} took longer than {LIMIT_SECONDS} s:\n{output}\n{errors}"
        raise AssertionError(told) from None
    finally:
        end_group(process)
    return Ended(process.returncode, output, errors, time.monotonic() - begun)


def end_group(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
