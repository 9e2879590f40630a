"""`python -m benchmarks.served OTHER [JOB ...]`: processor time per answer of two servers, by turns.

OTHER is a folder with another version, as for `benchmarks.turns`. Each turn starts a new server of each
version, and of the echo. What counts is what the kernel counted for a server's threads: the event loop's,
and all of them. Waiting does not count, neither for a disk nor for a processor that others use. Linux only.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import msgspec
from msgspec import Struct

from beliefd.testing.world import ONTOLOGY
from benchmarks import claims, permits
from benchmarks.http import LISTENING, POLICY, body_of, loaded
from benchmarks.load import Load
from benchmarks.pacing import Pace
from benchmarks.workload import CALLERS, HYPOTHESES, bundles

HERE: Final = Path(__file__).resolve().parent.parent
SECONDS: Final = 3.0
PACED: Final = 8
"""Requests of each caller that comes at its own pace."""
JOBS: Final = {
    "eliminate": ("eliminate", POLICY),
    "claims": ("claims", claims.POLICY),
    "distinct-claims": ("claims", claims.POLICY),
    "permits": ("proposals", permits.RULES),
}
"""What is asked for: the end of its path, and the policy. Older versions do not know every policy."""
ECHO: Final = "echo"


class Server(Struct, frozen=True):
    process: int
    port: int
    folder: Path

    def spent(self) -> tuple[float, float]:
        """Microseconds so far: of the event loop's thread, and of all threads together."""
        tasks = Path(f"/proc/{self.process}/task").iterdir()
        each = {one.name: int((one / "schedstat").read_text().split()[0]) / 1e3 for one in tasks}
        return each[str(self.process)], sum(each.values())


@contextmanager
def serving(tree: Path, command: list[str], rules: object) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.json").write_bytes(msgspec.json.encode(rules))
        environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
        with subprocess.Popen(
            [sys.executable, "-P", "-m", *command],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                listening = LISTENING.search(line := process.stdout.readline())
                if listening is None:
                    raise RuntimeError(f"the server of `{tree}` did not start: `{line.strip()}`")
                yield Server(process.pid, int(listening[1]), folder)
            finally:
                process.terminate()
                process.wait(30)


def took(server: Server, job: str, is_echo: bool) -> tuple[float, float]:
    """Microseconds per answer, of the event loop and of all threads."""
    paths = ["/"]
    if not is_echo:
        paths = [f"/v1/sessions/{_declared(server)}/{JOBS[job][0]}" for _ in range(CALLERS)]
    before = server.spent()
    answers = _paced(server, paths) if job == "permits" else _loaded(server, job, paths)
    loop, threads = (b - a for a, b in zip(before, server.spent(), strict=True))
    return loop / answers, threads / answers


def _declared(server: Server) -> str:
    """The client is of this version, and might not understand another one."""
    body = msgspec.json.encode({"hypotheses": HYPOTHESES, "ontology": ONTOLOGY})
    url, headers = f"http://127.0.0.1:{server.port}/v1/sessions", {"Content-Type": "application/json"}
    with urlopen(Request(url, body, headers)) as answer:
        return str(msgspec.json.decode(answer.read())["session_id"])


def _loaded(server: Server, job: str, paths: list[str]) -> float:
    if JOBS[job][0] == "claims":
        bodies = [msgspec.json.encode(one).decode() for one in bundles(alike=job == "claims")]
    else:
        bodies = [body_of(number) for number in range(len(HYPOTHESES))]
    load = Load(
        port=server.port, connections=CALLERS, warm_up=0.0, seconds=SECONDS, paths=paths, bodies=bodies
    )
    return loaded(load, server.folder) * SECONDS + CALLERS


def _paced(server: Server, paths: list[str]) -> float:
    body = msgspec.json.encode(permits.BODY).decode()
    pause = permits.PAUSE_SECONDS
    pace = Pace(port=server.port, callers=CALLERS, requests=PACED, pause=pause, paths=paths, body=body)
    plan = server.folder / "pace.json"
    plan.write_bytes(msgspec.json.encode(pace))
    command = [sys.executable, "-m", "benchmarks.pacing", str(plan)]
    subprocess.run(command, check=True, capture_output=True)
    return CALLERS * PACED


def compared(other: Path, job: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    ours = ["beliefd.cli.main", "serve", "--port", "0", "--data", "data", "--policy", "policy.json"]
    versions = {"ours": (HERE, ours), "its": (other, ours), ECHO: (HERE, ["benchmarks.echo"])}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in versions}
    for turn in range(rounds):
        for name, (tree, command) in list(versions.items())[:: 1 - 2 * (turn % 2)]:
            with serving(tree, command, JOBS[job][1]) as server:
                found[name].append(took(server, job, name == ECHO))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.served", description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, default=HERE)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help=", ".join(JOBS))
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    for job in asked.jobs:
        found = compared(asked.other.resolve(), job, asked.rounds)
        for at, what in enumerate(("event loop", "all threads")):
            each = {name: [one[at] for one in turns] for name, turns in found.items()}
            ratio = statistics.median(b / a for a, b in zip(each["ours"], each["its"], strict=True))
            middle = ", ".join(f"{name} {statistics.median(turns):.0f}" for name, turns in each.items())
            least = ", ".join(f"{name} {min(turns):.0f}" for name, turns in each.items())
            print(f"{job}, {what}: its time : ours {ratio:.2f}; us, medians: {middle}; smallest: {least}")


if __name__ == "__main__":
    main()
