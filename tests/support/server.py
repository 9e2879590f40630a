"""A beliefd server as its own process, for tests that must kill it or share a store between several."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from beliefd.client import Client
from tests.support.nursery import Born
from tests.support.postgres import free_port

START_SECONDS = 60
PYTHONPATH = os.environ.get("PYTHONPATH")
NEWS = re.compile(
    "beliefd is listening on |look and decide at |a new store: |policy [0-9a-f]{64} .* is in force$"
)


def complaints(text: str) -> list[str]:
    """The lines of a server's output that are no news."""
    return [line for line in text.splitlines() if not NEWS.match(line)]


class ServerProcess:
    """A running `beliefd serve`. Its output is shown when it does not start."""

    def __init__(
        self,
        data: str | os.PathLike[str],
        store: str | None = None,
        port: int | None = None,
        options: tuple[str, ...] = (),
        *,
        quick: bool = True,
    ) -> None:
        """`quick` ones have done their imports when they begin, unless those are what is to differ.

        A new interpreter costs half a second more, for the same `beliefd serve` and a process of its own.
        """
        quick = quick and "--processes" not in options and not _imports_differ()
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = ["serve", "--port", str(self.port), "--data", os.fspath(data)]
        if store is not None:
            command += ["--store", store]
        command += options
        handle, name = tempfile.mkstemp(prefix="beliefd-server-", suffix=".log")
        self._log = Path(name)
        with os.fdopen(handle, "wb") as log:
            self._process: subprocess.Popen[bytes] | Born = (
                Born(command, self._log) if quick else _begun(command, log)
            )
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def children(self) -> set[int]:
        """The processes that it has begun, and that are there."""
        return {int(one) for one in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()}

    def processor_seconds(self) -> float:
        """What all its threads have used until now: Linux numbers the clocks of processes like this."""
        return time.clock_gettime(~self.pid << 3 | 2)

    @property
    def is_up(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def complaints(self) -> list[str]:
        """What it said beside where it listens, which store is new and which policy is in force."""
        return complaints(self.output)

    def client(self, token: str | None = None) -> Client:
        return Client(self.url, token)

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = START_SECONDS) -> int:
        """SIGTERM; the exit code, if it comes in time."""
        return self._end(signal.SIGTERM, seconds)

    def _end(self, how: signal.Signals, seconds: float = START_SECONDS) -> int:
        if self._process.poll() is None:
            self._process.send_signal(how)
        return self._process.wait(seconds)

    def forget(self) -> None:
        self._log.unlink(missing_ok=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        # Certificates take longer to load than the server takes to start, and there are none to check.
        with httpx.Client(verify=False, timeout=5) as http:
            while time.monotonic() < deadline:
                if self._process.poll() is not None:
                    raise RuntimeError(f"the server ended with {self._process.returncode}:\n{self.output}")
                try:
                    if http.get(f"{self.url}/healthz").is_success:
                        return
                except httpx.HTTPError:
                    pass
                time.sleep(0.01)
        raise RuntimeError(f"the server did not come up:\n{self.output}")


def _imports_differ() -> bool:
    """Whether a test has changed where modules come from."""
    return os.environ.get("PYTHONPATH") != PYTHONPATH


def _begun(arguments: list[str], log: IO[bytes]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "beliefd.cli.main", *arguments]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


@contextmanager
def server_process(
    data: str | os.PathLike[str], store: str | None = None, port: int | None = None, *, quick: bool = True
) -> Iterator[ServerProcess]:
    server = ServerProcess(data, store, port, quick=quick)
    try:
        yield server
    finally:
        server.stop()
        server.forget()
