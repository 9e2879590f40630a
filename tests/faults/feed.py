"""A client of the live feed that keeps the order in which events came."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx

TIMEOUT = httpx.Timeout(60.0)


class Feed:
    """What a feed has delivered so far."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.silences = 0
        """How often the server had nothing to say for so long that it said just that."""
        self.ended = False
        self.retry: int | None = None
        """After so many milliseconds it wants its listener to come back, to whom it says when it ends."""

    async def read(self, http: httpx.AsyncClient, session_id: str, after: int) -> None:
        headers = {"Last-Event-ID": str(after)}
        url = f"/v1/sessions/{session_id}/events"
        try:
            async with http.stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("id: "):
                        self.ids.append(int(line.removeprefix("id: ")))
                    elif line.startswith("data: "):
                        self.events.append(json.loads(line.removeprefix("data: ")))
                    elif line.startswith("retry: "):
                        self.retry = int(line.removeprefix("retry: "))
                    elif line == ": still here":
                        self.silences += 1
        finally:
            self.ended = True

    async def reach(self, seq: int) -> None:
        """Wait until event `seq` has come."""
        while not self.events or self.events[-1]["seq"] < seq:
            assert not self.ended, f"the feed ended at {self.ids[-1:]}, before event {seq}"
            await asyncio.sleep(0.01)


@asynccontextmanager
async def following(http: httpx.AsyncClient, session_id: str, after: int = 0) -> AsyncIterator[Feed]:
    feed = Feed()
    task = asyncio.create_task(feed.read(http, session_id, after))
    try:
        yield feed
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, httpx.TransportError):
            await task
