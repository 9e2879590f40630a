"""Durable ELIMINATE over HTTP against an echo that does nothing, on the same server, set up the same way."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from beliefd.client import Client
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import FASTER, Figure, Run, Target, alternate
from benchmarks.load import Load
from benchmarks.workload import CALLERS, HYPOTHESES, JUSTIFICATION, SOURCE, hypothesis

# All callers here are one principal, and its limit would be what is measured.
POLICY: Final = {"limits": {"requests_per_second": 1_000_000_000}}
LISTENING = re.compile(r"http://127\.0\.0\.1:(\d+)")


def http(run: Run) -> list[Figure]:
    return [_measured(run, 1, "one session"), _measured(run, CALLERS, f"{CALLERS} sessions")]


def _measured(run: Run, sessions: int, where: str) -> Figure:
    data = run.folder / f"http-{sessions}"
    policy = run.folder / "http-policy.json"
    policy.write_bytes(msgspec.json.encode(POLICY))
    ours = ["-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(data), "--policy", str(policy)]
    echo = ["-m", "benchmarks.echo"]
    own, other = alternate(
        run.size(5, 1),
        lambda: _rate(run, ours, sessions),
        lambda: _rate(run, echo, None),
    )
    return Figure(
        benchmark="http",
        what=f"durable ELIMINATE, {CALLERS} connections, {where}",
        unit="requests/s",
        ours=own,
        peer=other,
        peer_is="bare Starlette echo",
        ratio=own / other,
        ratio_is=FASTER,
        target=Target(at_least=0.5),
    )


def _rate(run: Run, server: list[str], sessions: int | None) -> float:
    """Requests a second that a fresh server answers, asked by a process of its own."""
    with serving(server) as port:
        paths = ["/"] if sessions is None else declared(port, sessions)
        load = Load(
            port=port,
            connections=CALLERS,
            seconds=2.0 if not run.quick else 0.2,
            warm_up=0.5 if not run.quick else 0.1,
            paths=paths,
            bodies=[body_of(number) for number in range(len(HYPOTHESES))],
        )
        return loaded(load, run.folder)


@contextmanager
def serving(arguments: list[str]) -> Iterator[int]:
    """A server in a process of its own; it says on its first line where it listens."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            listening = LISTENING.search(line)
            if listening is None:
                raise RuntimeError(f"the server did not start: `{line.strip()}`")
            yield int(listening[1])
        finally:
            process.terminate()
            process.wait(30)


def declared(port: int, sessions: int) -> list[str]:
    with Client(f"http://127.0.0.1:{port}") as client:
        declared = [client.declare_session(HYPOTHESES, ONTOLOGY).session_id for _ in range(sessions)]
    return [f"/v1/sessions/{session_id}/eliminate" for session_id in declared]


def body_of(number: int) -> str:
    body = {
        "source_id": SOURCE,
        "observation_id": f"obs-{number:05}",
        "eliminated": [hypothesis(number)],
        "justification": JUSTIFICATION,
    }
    return msgspec.json.encode(body).decode()


def loaded(load: Load, folder: Path) -> float:
    plan = folder / "load.json"
    plan.write_bytes(msgspec.json.encode(load))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", str(plan)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)
