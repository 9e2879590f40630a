"""`python -m benchmarks.profile [--quick]`: where the processor time of a durable ELIMINATE over HTTP goes.

The server runs as `beliefd serve` runs, in a process of its own, under the load of the `http` benchmark. A
timer looks at the event loop's stack; what the loop's thread has used since the last look is put down to the
innermost part of beliefd (or of uvicorn) that was running. Time is processor time: waiting does not count.
"""

import argparse
import asyncio
import re
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from beliefd.cli.server import ServerSettings, bind, loop_factory, run_server, tune_interpreter, url_of
from benchmarks.http import body_of, declared, loaded, serving
from benchmarks.load import Load
from benchmarks.workload import CALLERS, HYPOTHESES

PARTS: Final = {
    "/beliefd/kernel/canonical": "canonical bytes",
    "/beliefd/kernel/": "deciding",
    "/beliefd/ledger/": "reading JSON, sealing",
    "/beliefd/steward/": "session queues, answers",
    "/beliefd/stores/": "passing to the store",
    "/beliefd/protocol/": "checking, BeliefSnapshots",
    "/beliefd/http/": "HTTP code of beliefd",
    "/uvicorn/": "uvicorn",
}
LOOP: Final = "event loop, sockets"
EVERY_SECONDS: Final = 0.001
ANSWERED: Final = re.compile(r'beliefd_http_requests_total\{operation="eliminate",status="200"\} (\d+)')


class Profile(Struct, frozen=True):
    """Seconds of the loop's thread by part, and of all other threads together."""

    parts: dict[str, float]
    others: float


class Sampler:
    """Samples the main thread of this process from `start` on."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def start(self) -> None:
        self._loop, self._all = time.thread_time(), time.process_time()
        self._looked = self._loop
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)

    def _look(self, _: int, frame: FrameType | None) -> None:
        now = time.thread_time()
        self._seconds[_part(frame)] += now - self._looked
        self._looked = now

    def stop(self) -> Profile:
        signal.setitimer(signal.ITIMER_PROF, 0)
        loop = time.thread_time() - self._loop
        return Profile(dict(self._seconds), time.process_time() - self._all - loop)


def _part(frame: FrameType | None) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        for folder, part in PARTS.items():
            if folder in file:
                return part
        frame = frame.f_back
    return LOOP


def serve(data: Path, result: Path) -> None:
    """The server under the sampler; writes the profile when it is told to stop."""
    listener, sampler = bind("127.0.0.1", 0), Sampler()

    def started(_: Any, __: Any) -> None:
        tune_interpreter()
        print(f"listening on {url_of(listener, '127.0.0.1')}", flush=True)
        sampler.start()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        house = ServerSettings(signing_key=data / "capability.key")
        runner.run(run_server(listener, "127.0.0.1", str(data / "ledger.db"), house, started))
    result.write_bytes(msgspec.json.encode(sampler.stop()))


def profiled(folder: Path, sessions: int, seconds: float) -> tuple[Profile, int]:
    """The profile of a server under load, and how many requests it answered."""
    data, result = folder / f"data-{sessions}", folder / f"profile-{sessions}.json"
    data.mkdir()
    with serving(["-m", "benchmarks.profile", "--serve", str(data), str(result)]) as port:
        load = Load(
            port=port,
            connections=CALLERS,
            seconds=seconds,
            warm_up=0.0,
            paths=declared(port, sessions),
            bodies=[body_of(number) for number in range(len(HYPOTHESES))],
        )
        loaded(load, folder)
        answered = ANSWERED.search(httpx.get(f"http://127.0.0.1:{port}/metrics").text)
    return msgspec.json.decode(result.read_bytes(), type=Profile), int(answered[1]) if answered else 0


def table(seconds: float) -> Table:
    shown = Table("us of processor time per request", "one session", f"{CALLERS} sessions")
    with tempfile.TemporaryDirectory(prefix="beliefd-profile-") as folder:
        measured = [profiled(Path(folder), sessions, seconds) for sessions in (1, CALLERS)]
    for part in (*PARTS.values(), LOOP):
        shown.add_row(part, *(f"{profile.parts.get(part, 0) / n * 1e6:.1f}" for profile, n in measured))
    shown.add_section()
    shown.add_row("event loop's thread", *(f"{sum(p.parts.values()) / n * 1e6:.1f}" for p, n in measured))
    shown.add_row("writing thread", *(f"{profile.others / n * 1e6:.1f}" for profile, n in measured))
    return shown


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of a second, to see that it runs")
    parser.add_argument("--serve", nargs=2, type=Path, metavar=("DATA", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve is not None:
        serve(*options.serve)
    else:
        Console(width=80).print(table(0.2 if options.quick else 4.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
