"""The public conformance suite of MCP, against a server over HTTP."""

import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.postgres import free_port

from clients.harness.install import PACKAGES, PYTHON, node
from clients.harness.process import Place, end_group, run
from clients.harness.upstreams import OWN

SUITE: Final = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
CONFORMANT: Final = (str(PYTHON / "python"), "-W", "ignore", str(OWN / "conformant.py"))
REVISIONS: Final = ("2025-06-18", "2025-11-25")
FORMS: Final = frozenset({"elicitation-sep1034-defaults", "elicitation-sep1330-enums"})
"""Scenarios about forms that a server may show: ours shows one, which has a scenario of its own."""
VERDICT: Final = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
START_SECONDS: Final = 60


def failures(url: str, revision: str, place: Place) -> set[str]:
    """The scenarios that fail. That any ran is checked here: none of none fails, too."""
    asked = ["server", "--url", url, "--spec-version", revision]
    ended = run([node(), str(SUITE), *asked], place.environment(), place.work)
    told = VERDICT.findall(ended.output)
    assert len(told) > 20, ended
    return {name for name, passed, failed in told if failed != "0" or passed == "0"}


@contextmanager
def listening(
    command: Sequence[str], port: int, environment: Mapping[str, str], folder: Path
) -> Iterator[None]:
    """A program that listens on this port, while it is needed."""
    process = subprocess.Popen(
        command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _wait_for(port, process)
        yield
    finally:
        end_group(process)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"nobody listens on {port}; the program ended with {process.poll()}")


@contextmanager
def conformant(place: Place) -> Iterator[str]:
    """The address of the server that the suite asks for, with nothing before it."""
    port = free_port()
    with listening([*CONFORMANT, str(port)], port, place.environment(), place.work):
        yield f"http://127.0.0.1:{port}/mcp"
