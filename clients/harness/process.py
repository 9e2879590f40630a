"""Run a program: a clean home, a small environment, a time limit, and an end for all that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

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
    """The program in a process group of its own, which does not outlive it.

    What it prints goes to files: a pipe would stay open as long as anything that it started.
    """
    begun = time.monotonic()
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        in_time = True
        try:
            process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            end_group(process)
        ended = Ended(process.returncode, _text(output), _text(errors), time.monotonic() - begun)
    assert in_time, f"{command} took longer than {LIMIT_SECONDS} s: {ended}"
    return ended


def end_group(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
