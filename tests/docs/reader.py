"""A reader who follows a page to the letter: in an empty directory, on free ports, with nothing set up."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from tests.conformance.node import node
from tests.docs.pages import ROOT, Block
from tests.support.postgres import free_port

PORTS: Final = ("8642", "8643", "9000")
"""The ports that pages name; each becomes a free one."""
POSTGRES: Final = "postgresql://beliefd@127.0.0.1:5432/beliefd"
"""The address that pages give PostgreSQL."""
WITHIN_REACH: Final = ("conformance", "examples")
"""What pages use of the checkout they take the reader to stand in."""
LIMIT_SECONDS: Final = 120
UP: Final = "listening on"
PRELUDE: Final = "set -aeuo pipefail\ntrap 'env -0 > \"$DOCS_STATE\"' EXIT\n"


class Astray(AssertionError):
    """Following the page did not work."""


class Reader:
    """Runs blocks one after the other. Variables, the directory and Python names last for the page."""

    def __init__(self, home: Path, postgres_url: str | None) -> None:
        self._home = home / "reader"
        self._home.mkdir()
        for name in WITHIN_REACH:
            (self._home / name).symlink_to(ROOT / name)
        self._state = home / "state"
        self._ports = {port: str(free_port()) for port in PORTS}
        self._postgres_url = postgres_url
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._servers: dict[str, subprocess.Popen[str]] = {}
        binaries = [Path(sys.executable).parent, Path(node()).parent]
        self._environment = {
            "HOME": str(self._home),
            "PWD": str(self._home),
            "PATH": os.pathsep.join([*map(str, binaries), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": str(ROOT / "src"),  # pages are about their own tree
            "LANG": "C.UTF-8",
            "BELIEFD_URL": f"http://127.0.0.1:{self._ports['8642']}",
            "DOCS_STATE": str(self._state),
        }
        self.output = ""
        self._later: list[str] = []
        self._heard = threading.Condition()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers.values():
            _end(server)

    def follow(self, block: Block) -> None:
        if block.option("from") is not None:
            return  # an excerpt of an example, which is run as a whole
        text = self._localised(block.text)
        if (name := block.option("file")) is not None:
            (self._here / name).write_text(text, encoding="utf-8")
        elif block.language in ("bash", "sh"):
            if "server" in block.flags:
                self._serve(text)
            else:
                self._bash(text, int(block.option("exit") or 0))
        elif block.language == "python":
            self._python(text, block)

    @property
    def _here(self) -> Path:
        return Path(self._environment["PWD"])

    def _localised(self, text: str) -> str:
        text = re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: self._ports[found[1]], text)
        return text if self._postgres_url is None else text.replace(POSTGRES, self._postgres_url)

    def _bash(self, text: str, expected: int) -> None:
        done = subprocess.run(
            ["bash", "-c", PRELUDE + text],
            cwd=self._here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        self.output = done.stdout
        if done.returncode != expected:
            raise Astray(f"ended with {done.returncode}, not {expected}:\n{text}\n{done.stdout}")
        saved = self._state.read_text(encoding="utf-8").split("\0")
        self._environment = dict(line.split("=", 1) for line in saved if line)

    def _serve(self, text: str) -> None:
        """Start what the block starts, and wait until it says that it is up. It ends with the page."""
        port = next(name for name in self._ports.values() if name in text)
        if port in self._servers:
            _end(self._servers.pop(port))
        started = subprocess.Popen(
            ["bash", "-c", text],
            cwd=self._here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._servers[port] = started
        assert started.stdout is not None
        said = []
        while UP not in (line := started.stdout.readline()):
            said.append(line)
            if not line:
                raise Astray(f"did not come up:\n{text}\n{''.join(said)}")
        # What it says from now on must not fill the pipe.
        threading.Thread(target=self._listen, args=(started.stdout,), daemon=True).start()
        self.output = "".join([*said, line])

    def _listen(self, stream: IO[str]) -> None:
        for line in stream:
            with self._heard:
                self._later.append(line)
                self._heard.notify_all()

    def said_later(self, pattern: str) -> str:
        """The first group of what a server says once it is up, as soon as it has said it."""
        with self._heard:
            found = self._heard.wait_for(lambda: re.search(pattern, "".join(self._later)), LIMIT_SECONDS)
        if found is None:
            raise Astray(f"nobody said `{pattern}`")
        return found[1]

    def _python(self, text: str, block: Block) -> None:
        printed = io.StringIO()
        padding = "\n" * block.line  # errors name the page's own lines
        code = compile(padding + text, str(block.page), "exec")
        before = Path.cwd()
        os.chdir(self._here)
        try:
            with _environment(self._environment), contextlib.redirect_stdout(printed):
                exec(code, self._names)
        finally:
            os.chdir(before)
            self.output = printed.getvalue()


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Any:
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def _end(server: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
    try:
        server.wait(LIMIT_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
