"""Processes that begin where another one has got to: everything is imported, and nothing has begun.

A server that lives for one test, or is killed hundreds of times, spends most of its life on imports.
`Nursery` keeps one process that has done them; what it forks is a process like any other, which can be killed
and paused.
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = (
    *("cli", "console", "http", "ledger", "policy", "protocol", "steward", "stores"),
    "uncertainty",
)
ROOT: Final = Path(__file__).parents[2]


class Nursery:
    """One process per test process; it ends when this one does."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def ask(self, **question: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


class Born:
    """What `subprocess.Popen` would be, of a process that somebody else has begun."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        environment = dict(os.environ)
        self._nursery = nursery()
        place = {"log": str(log), "folder": str(Path.cwd())}
        self.pid = self._nursery.ask(arguments=arguments, environment=environment, **place)
        # INVARIANT: its number stays its own until it is reaped, and only `wait` reaps it.
        self._handle = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._has_ended(0):
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._has_ended(timeout):
                raise subprocess.TimeoutExpired("beliefd", timeout or 0)
            self.returncode = self._nursery.ask(reap=self.pid)
            os.close(self._handle)
        return self.returncode

    def send_signal(self, what: signal.Signals) -> None:
        if self.returncode is None:
            signal.pidfd_send_signal(self._handle, what)

    def _has_ended(self, timeout: float | None) -> bool:
        return bool(select.select([self._handle], [], [], timeout)[0])


@cache
def nursery() -> Nursery:
    return Nursery()


# -- in the process itself -------------------------------------------------------------------------------


def _prepare() -> None:
    for package in PACKAGES:
        root = importlib.import_module(f"beliefd.{package}")
        for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            importlib.import_module(module.name)
    # What is there stays: whoever is forked neither looks for garbage in it nor copies its pages.
    gc.collect()
    gc.freeze()


def _live(question: dict[str, Any]) -> None:
    os.setsid()
    os.chdir(question["folder"])
    os.environ.clear()
    os.environ.update(question["environment"])
    log = os.open(question["log"], os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, to in ((0, nothing), (1, log), (2, log)):
        os.dup2(to, number)
    from beliefd.cli.main import main

    sys.argv = ["beliefd", *question["arguments"]]
    main()


def _serve() -> None:
    _prepare()
    for line in sys.stdin:
        question = json.loads(line)
        if "reap" in question:
            _, status = os.waitpid(question["reap"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
        elif (pid := os.fork()) == 0:
            _live(question)
            os._exit(0)
        else:
            print(pid, flush=True)


if __name__ == "__main__":
    _serve()
