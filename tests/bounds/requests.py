"""An application that is asked in the same process, beside a heart that beats on the same event loop."""

import asyncio
import gc
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec import Struct

from beliefd.http.app import Application, create_app
from beliefd.kernel.policy import Policy
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import ONTOLOGY_JSON

T = TypeVar("T")
JSON = "application/json"
LINES = "application/x-ndjson"
CHECK = "/v1/claims/check"
CHUNK = 64 * 1024


class Answered(Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines()]


class Asked:
    """A server without its sockets: nothing is copied that a server would not copy."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.sessions = 0

    async def get(self, path: str) -> Answered:
        return await self.post(path, b"", method="GET")

    async def post(
        self,
        path: str,
        body: bytes,
        media: str = JSON,
        paused: asyncio.Event | None = None,
        method: str = "POST",
    ) -> Answered:
        """Send a body in chunks; if `paused`, the last of them comes when that is set."""
        rest = list(reversed([body[at : at + CHUNK] for at in range(0, len(body), CHUNK)] or [b""]))
        told: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not rest:
                await asyncio.Event().wait()  # a caller who waits for its answer says no more
            if paused is not None and len(rest) == 1:
                await paused.wait()
            return {"type": "http.request", "body": rest.pop(), "more_body": bool(rest)}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", media.encode())]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
        }
        await self.app(scope, receive, send)
        start, *chunks = told
        named = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], named, b"".join(one.get("body", b"") for one in chunks))

    async def session(self, hypotheses: tuple[str, ...] = ("a", "b")) -> str:
        answer = await self.post("/v1/sessions", declaration(hypotheses))
        assert answer.status == 201, answer.body
        return str(json.loads(answer.body)["session_id"])


@asynccontextmanager
async def asked(policy: Policy | None = None) -> AsyncIterator[Asked]:
    runtime = bootstrap(MemoryStore(), policy)
    try:
        yield Asked(create_app(runtime))
    finally:
        await runtime.close()


def declaration(hypotheses: tuple[str, ...] | list[str]) -> bytes:
    return json.dumps({"ontology": ONTOLOGY_JSON, "hypotheses": hypotheses}).encode()


async def beating(work: Awaitable[T]) -> tuple[T, float, float]:
    """What came of the work, how long it took, and the longest pause between two beats meanwhile.

    In processor time: what other processes take from this one is no pause of the loop. And what thousands of
    tests before this one left in the process is no garbage of the work: searching it for cycles stops every
    thread for longer than the work takes.
    """
    gc.collect()
    gc.freeze()
    longest, beat = 0.0, time.process_time()

    async def tick() -> None:
        nonlocal longest, beat
        while True:
            await asyncio.sleep(0.001)
            now = time.process_time()
            longest, beat = max(longest, now - beat), now

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.01)
    longest, beat, start = 0.0, time.process_time(), time.process_time()
    try:
        result = await work
        took = time.process_time() - start
        await asyncio.sleep(0.002)  # a pause that has not ended yet ends with a beat
        return result, took, longest
    finally:
        ticking.cancel()


def peak_of(act: Callable[[], T]) -> tuple[T, int]:
    """What came of it, and the most bytes that were allocated meanwhile."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        result = act()
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def repeated(item: bytes, size: int) -> bytes:
    return b",".join([item] * (size // (len(item) + 1)))


def numbered(item: str, count: int) -> Iterator[str]:
    return (item % number for number in range(count))
