"""`python -m benchmarks.gateways OTHER [WAY ...]`: what a call costs two versions of the gateway.

OTHER is a folder with another version, as for `benchmarks.turns`. A gateway that asks nobody runs beside
them, and all are asked in turns. Before each call is a pause, as in the benchmark `gateway`, so that nothing
is warm. The clients are a few lines each, so that what they take does not hide what is measured. Linux only.

Of each gateway: the time that it adds to the direct call (medians), and the processor time of all its threads
until its client has the answer, and with what it does after that; and how often its threads were woken for a
call, all told. Its server, if it has one, is counted with it. TMPDIR chooses the disk.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from benchmarks.gateway import HOLLOW, POLICY, TOKEN, TOOL_SERVER

HERE: Final = Path(__file__).resolve().parent.parent
PAUSE_SECONDS: Final = 0.05
REVISION: Final = "2025-11-25"
WAITED: Final = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)
HELLO: Final = {
    "protocolVersion": REVISION,
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
WAYS: Final = ("stdio", "served", "http")


class Spent(NamedTuple):
    """Milliseconds of one call: on the clock, of processors until the answer, and of those with the rest.

    `woken` is how often a thread had waited and went on.
    """

    wall: float
    until_answer: float
    whole: float
    woken: float


class Peer(ABC):
    """Somebody who is called, and the processes that do the work."""

    def __init__(self, *processes: int) -> None:
        self._processes = processes
        self._number = 0

    def _processor_time(self) -> float:
        # What Linux calls the processor time of another process.
        return sum(time.clock_gettime((~process << 3) | 2) for process in self._processes)

    def _woken(self) -> int:
        threads = (one for process in self._processes for one in Path(f"/proc/{process}/task").iterdir())
        return sum(int(WAITED.findall((thread / "status").read_text())[0]) for thread in threads)

    @abstractmethod
    def tell(self, message: dict[str, Any]) -> Any:
        """Send a message, and wait for the answer of one that has an id."""

    def begin(self) -> None:
        self.tell({"id": 0, "method": "initialize", "params": HELLO})
        self.tell({"method": "notifications/initialized"})
        self.tell({"id": 1, "method": "tools/list"})
        self._number = 1

    def call(self) -> Spent:
        self._number += 1
        arguments = {"text": f"call {self._number}"}
        message = {
            "id": self._number,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": arguments},
        }
        time.sleep(PAUSE_SECONDS)
        woken = self._woken()
        before, started = self._processor_time(), time.perf_counter()
        result = self.tell(message)
        ended, answered = time.perf_counter(), self._processor_time()
        assert result["content"][0]["text"] == arguments["text"], result
        time.sleep(PAUSE_SECONDS)
        whole, woken = self._processor_time() - before, self._woken() - woken
        return Spent(1000 * (ended - started), 1000 * (answered - before), 1000 * whole, woken)


class OverStreams(Peer):
    def __init__(self, process: "subprocess.Popen[bytes]", *others: int) -> None:
        super().__init__(process.pid, *others)
        self._process = process

    def tell(self, message: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
        while "id" in message:
            told = json.loads(self._process.stdout.readline())
            if told.get("id") == message["id"]:
                return told["result"]
        return None


class OverHttp(Peer):
    def __init__(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        super().__init__(process.pid)
        parts = urlsplit(url)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def tell(self, message: dict[str, Any]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._connection.request("POST", self._path, body, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if (session := answer.headers.get("mcp-session-id")) is not None:
            self._headers |= {"mcp-session-id": session, "mcp-protocol-version": REVISION}
        if "id" not in message:
            return None
        if answer.headers["content-type"].startswith("text/event-stream"):
            text = [line[5:] for line in text.splitlines() if line.startswith(b"data:")][-1]
        return json.loads(text)["result"]


@contextmanager
def started(tree: Path, command: list[str], folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *command],
        env=environment,
        cwd=folder,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def address_of(process: "subprocess.Popen[bytes]") -> str:
    """What it says that it listens at; the gateway says so to standard error, the tool server does not."""
    assert process.stdout is not None
    assert process.stderr is not None
    told = process.stderr if "gateway" in process.args else process.stdout  # type: ignore[operator]
    for line in told:
        if (found := re.search(rb"http://\S+", line)) is not None:
            return found[0].decode()
    raise RuntimeError("it does not listen")


def peers(stack: ExitStack, way: str, other: Path, folder: Path) -> dict[str, Peer]:
    """The tool server itself, and through each gateway."""
    (folder / "policy.json").write_bytes(msgspec.json.encode(POLICY))
    name = ["mcp", "gateway", "--name", "echo"]
    trees = {"ours": (HERE, "beliefd"), "its": (other, "beliefd"), "asks nobody": (HERE, HOLLOW)}
    tools = TOOL_SERVER[2:]
    if way != "http":
        found: dict[str, Peer] = {"direct": OverStreams(stack.enter_context(started(HERE, tools, folder)))}
        for who, (tree, module) in trees.items():
            place, servers = ["--data", str(_store(folder, who))], []
            if way == "served":
                server = stack.enter_context(
                    started(tree, ["beliefd", "serve", "--port", "0", *place], folder)
                )
                place, servers = ["--url", address_of(server)], [server.pid]
            command = _passed_on([module, *name, *place, "--", *TOOL_SERVER])
            found[who] = OverStreams(stack.enter_context(started(tree, command, folder)), *servers)
        return found
    upstream = stack.enter_context(started(HERE, [*tools, "--http"], folder))
    address = address_of(upstream)
    found = {"direct": OverHttp(upstream, address)}
    for who, (tree, module) in trees.items():
        data = str(_store(folder, who))
        command = [module, *name, "--data", data, "--http", "0", "--http-token", TOKEN, "--", address]
        process = stack.enter_context(started(tree, command, folder))
        found[who] = OverHttp(process, address_of(process))
    return found


def _passed_on(command: list[str]) -> list[str]:
    """A gateway gives its child few variables; the tool server needs the path."""
    at = command.index("--")
    return [*command[:at], "--env", "PYTHONPATH", *command[at:]]


def _store(folder: Path, who: str) -> Path:
    from benchmarks.figures import Run
    from benchmarks.gateway import _store as made

    return made(Run(folder=folder, quick=True), who)


def compared(way: str, other: Path, rounds: int) -> dict[str, list[Spent]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        each = peers(stack, way, other, folder)
        for peer in each.values():
            peer.begin()
        found: dict[str, list[Spent]] = {who: [] for who in each}
        for turn in range(rounds + 5):
            for who, peer in list(each.items())[:: 1 - 2 * (turn % 2)]:
                spent = peer.call()
                if turn >= 5:
                    found[who].append(spent)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateways", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, default=HERE)
    parser.add_argument("ways", nargs="*", default=list(WAYS), help=", ".join(WAYS))
    parser.add_argument("--rounds", type=int, default=100)
    asked = parser.parse_args()
    for way in asked.ways:
        found = compared(way, asked.other.resolve(), asked.rounds)
        direct = statistics.median(one.wall for one in found["direct"])
        for who, turns in found.items():
            wall, until_answer, whole, _ = (statistics.median(one) for one in zip(*turns, strict=True))
            woken = statistics.mean(one.woken for one in turns)
            told = f"takes {wall:.2f}" if who == "direct" else f"adds {wall - direct:.2f}"
            print(
                f"{way}, {who}: {told} ms; its processor time {until_answer:.2f} ms until the answer, "
                f"{whole:.2f} ms with the rest; woken {woken:.1f} times"
            )


if __name__ == "__main__":
    main()
