"""A server that is attacked, with tokens for those who do, and what it costs in memory and in time."""

import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from beliefd.client import Client
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import ONTOLOGY
from benchmarks.beside import Seen
from benchmarks.ledgers import filled
from benchmarks.workload import HYPOTHESES

LISTENING = re.compile(r"http://127\.0\.0\.1:(\d+)")
LONG = 300_000
"""Events of a session that questions are asked about."""
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
REST_SECONDS = 60.0
REST_LOOK = 0.3
AT_REST = 0.05
"""A share of one core: chores go on."""
RESET_PEAK = "5"
POLICY = """
constraints:
  constraint.hang: { v: 1, effect: allow, subject: { tool_id: bench.hang } }
  constraint.echo: { v: 1, effect: allow, subject: { tool_id: bench.echo } }
  constraint.goals: { v: 1, effect: allow, subject: null }
"""


class Victim(Struct, frozen=True):
    """A server in a process of its own. `scale` makes attacks smaller, to see that they run."""

    port: int
    pid: int
    admin: str
    honest: str
    hostile: str
    crowd: str
    session: str
    long: str
    policy: Path
    scale: float = 1.0
    surprises: list[str] = []
    """Answers that were not those that an attack says it gets."""

    def size(self, full: int) -> int:
        return max(2, int(full * self.scale))

    @property
    def is_whole(self) -> bool:
        return self.scale == 1.0

    @property
    def memory(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    @property
    def peak(self) -> int:
        """The most that it held since `forget_peak`."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text(RESET_PEAK)

    @property
    def worked(self) -> float:
        """Seconds of processor time that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rest(self) -> None:
        """Wait until it has nothing left to do: what one attack left must not count as the next one's."""
        until = time.monotonic() + REST_SECONDS
        worked = self.worked
        while time.monotonic() < until:
            time.sleep(REST_LOOK)
            if (now := self.worked) - worked <= AT_REST * REST_LOOK:
                return
            worked = now

    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.port}", self.hostile, timeout=600)


@contextmanager
def attacked(folder: Path, scale: float, program: str = "beliefd.cli.main") -> Iterator[Victim]:
    folder.mkdir()
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    tokens = asyncio.run(_tokens(folder / "beliefd.db"))
    [long] = asyncio.run(filled(folder / "beliefd.db", (max(2, int(LONG * scale)),)))
    serve = ["-m", program, "serve", "--port", "0", "--data", str(folder), "--policy", str(policy)]
    serve += ["--tools", "benchmarks.hanging"]
    log = (folder / "server.log").open("wb")
    with log, subprocess.Popen([sys.executable, *serve], stdout=subprocess.PIPE, stderr=log) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            listening = LISTENING.search(line)
            if listening is None:
                raise RuntimeError(f"the server did not start: `{line.strip()}`")
            port = int(listening[1])
            with Client(f"http://127.0.0.1:{port}", tokens[0]) as client:
                session = client.declare_session(HYPOTHESES, ONTOLOGY).session_id
                client.sign_checkpoint()
            # The document is built once, for whoever asks first: no caller's doing.
            urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json").read()
            yield Victim(port, process.pid, *tokens, session, long, policy, scale)
        finally:
            process.terminate()
            process.wait(60)


async def _tokens(path: Path) -> tuple[str, str, str, str]:
    store = await SqliteStore.open(path)
    try:
        return (
            await create_token(store, "admin", Role.ADMIN),
            await create_token(store, "honest", Role.AGENT),
            await create_token(store, "hostile", Role.AGENT, Tier.PRIVILEGE),
            await create_token(store, "crowd", Role.AGENT, Tier.PRIVILEGE),
        )
    finally:
        await store.close()


@contextmanager
def watched(victim: Victim) -> Iterator[Seen]:
    """Fills in what was seen beside what happens inside."""
    command = [sys.executable, "-m", "benchmarks.beside", str(victim.port), victim.honest, victim.session]
    seen = Seen()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield seen
        finally:
            told = msgspec.json.decode(process.communicate()[0], type=Seen)
            seen.health, seen.asked, seen.failures = told.health, told.asked, told.failures
