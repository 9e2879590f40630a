"""Load from raw sockets: as many connections as asked for, each sends its next request on an answer.

`python -m benchmarks.load PLAN` prints the answers a second. It is bounded: it stops after the plan's time.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

SILENCE_SECONDS = 10.0


class Load(Struct, frozen=True, kw_only=True):
    port: int
    connections: int
    warm_up: float
    seconds: float
    paths: list[str]
    bodies: list[str]


class Meter:
    """Counts answers once the warm-up is over."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.begin = time.perf_counter() + load.warm_up
        self.end = self.begin + load.seconds
        self.answered = 0

    def goes_on(self, now: float) -> bool:
        """Count an answer. Where a busy machine gave none in time, the end is when the first one comes."""
        over = now >= self.end
        if over and not self.answered:
            self.end = now
            self.answered = 1
        elif self.begin <= now < self.end:
            self.answered += 1
        return not over

    @property
    def rate(self) -> float:
        return self.answered / (self.end - self.begin)


class Caller(asyncio.Protocol):
    """One keep-alive connection."""

    def __init__(self, number: int, meter: Meter, done: "asyncio.Future[None]") -> None:
        path = meter.load.paths[number % len(meter.load.paths)]
        self._requests = [request_of(meter.load.port, path, body.encode()) for body in meter.load.bodies]
        self._next = number
        self._meter = meter
        self._done = done
        self._received = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._next += 1
        self._transport.write(self._requests[self._next % len(self._requests)])

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        if not is_whole(self._received):
            return
        if not self._received.startswith(b"HTTP/1.1 200"):
            self._done.set_exception(RuntimeError(self._received.decode(errors="replace")[:500]))
            self._transport.close()
            return
        self._received = b""
        now = time.perf_counter()
        if self._meter.goes_on(now):
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


def request_of(port: int, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def is_whole(answer: bytes) -> bool:
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    start = answer.find(b"content-length: ", 0, head_end) + 16
    return len(answer) >= head_end + 4 + int(answer[start : answer.find(b"\r", start)])


async def asked(load: Load) -> float:
    """Answers a second between the warm-up and the end."""
    loop = asyncio.get_running_loop()
    meter = Meter(load)
    endings: list[asyncio.Future[None]] = []
    for number in range(load.connections):
        done: asyncio.Future[None] = loop.create_future()
        endings.append(done)
        await loop.create_connection(
            lambda number=number, done=done: Caller(number, meter, done),  # type: ignore[misc]
            "127.0.0.1",
            load.port,
        )
    async with asyncio.timeout(load.warm_up + load.seconds + SILENCE_SECONDS):
        await asyncio.gather(*endings)
    return meter.rate


def main() -> None:
    import uvloop

    load = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Load)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(asked(load)))


if __name__ == "__main__":
    main()
