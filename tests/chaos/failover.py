"""A storm over PostgreSQL that fails over: the leader is killed or frozen, and another one takes its place.

Beside the clients, live feeds are followed and `/readyz` is asked all the time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

import asyncpg
import httpx
from msgspec import Struct

from tests.chaos.storm import PATIENCE, Settings, Storm
from tests.faults.feed import Feed, following
from tests.faults.place import Place
from tests.support.patroni import Cluster, Node
from tests.support.postgres import execute

ASK_EVERY: Final = 0.2
ANSWER_SECONDS: Final = 60.0
COMMIT_SECONDS: Final = 15.0
COMMIT: Final = "SELECT pg_logical_emit_message(true, 'tests', 'led')"


class Change(Struct, frozen=True):
    """One change of leaders: when it was forced, and when the new one said that it leads."""

    event: str
    before: str
    after: str
    forced: float
    led: float
    committed: float
    """When a commit on the new leader was confirmed by a standby: before that nobody can write."""


class Failovers(Storm):
    """Servers of beliefd on one cluster."""

    def __init__(self, place: Place, settings: Settings, cluster: Cluster) -> None:
        super().__init__(place, settings)
        self.cluster = cluster
        self.changes: list[Change] = []
        self.asked: list[tuple[float, float]] = []
        """When `/readyz` was asked, and how long the answer took."""
        self.feeds: list[Feed] = []

    # -- faults --------------------------------------------------------------------------------------

    async def kill_leader(self) -> None:
        """The leader is gone with its Patroni, as if its machine were; it comes back after writes went on."""
        old = await self._change(Node.kill)
        await self.progress(1)
        await asyncio.to_thread(self.cluster.start, old)

    async def freeze_leader(self) -> None:
        """The leader takes connections and answers nothing; it wakes up when another one has led for long."""
        old = await self._change(Node.freeze)
        await self.progress(1)
        old.thaw()

    async def heal(self) -> None:
        """All nodes are there again: nothing that was forced before matters any more."""
        await asyncio.to_thread(self.cluster.wait_whole)

    async def _change(self, force: Callable[[Node], None]) -> Node:
        old = await asyncio.to_thread(self.cluster.wait_guarded)
        forced = time.monotonic()
        await asyncio.to_thread(force, old)
        await asyncio.to_thread(self.cluster.wait_leader, old)
        led = time.monotonic()
        new = await self._commits(old)
        self.changes.append(Change(force.__name__, old.name, new.name, forced, led, time.monotonic()))
        return old

    async def _commits(self, old: Node) -> Node:
        """Whoever leads by the time that a commit is confirmed: when starved the lead may go on to another,
        and one that has it may have to finish its recovery first."""
        async with asyncio.timeout(PATIENCE):
            while True:
                new = await asyncio.to_thread(self.cluster.wait_leader, old)
                with suppress(asyncpg.PostgresError, OSError):
                    await asyncio.to_thread(execute, self.cluster.url_of(new), COMMIT, COMMIT_SECONDS)
                    return new
                await asyncio.sleep(ASK_EVERY)

    # -- beside the clients --------------------------------------------------------------------------

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx.AsyncClient(timeout=ANSWER_SECONDS, verify=False))
            for url in self.urls:
                at = httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, verify=False)
                at = await stack.enter_async_context(at)
                self.feeds.append(await stack.enter_async_context(following(at, self.sessions[0])))
            asking = [asyncio.create_task(self._ask(http, url)) for url in self.urls]
            try:
                yield
                for feed in self.feeds:
                    await feed.reach(max(one.seq for one in self.tries if one.session_id == self.sessions[0]))
            finally:
                for task in asking:
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task

    async def _ask(self, http: httpx.AsyncClient, url: str) -> None:
        while True:
            began = time.monotonic()
            answer = await http.get(f"{url}/readyz")
            assert answer.status_code in (200, 503), answer.text
            self.asked.append((began, time.monotonic() - began))
            await asyncio.sleep(ASK_EVERY)

    # -- afterwards ----------------------------------------------------------------------------------

    def resumed(self, change: Change) -> float:
        """When the first write was acknowledged that is of the new leader."""
        first: dict[tuple[str, int], float] = {}
        for one in self.tries:
            if one.outcome == "ok":
                told = (one.session_id, one.seq)
                first[told] = min(one.ended, first.get(told, one.ended))
        # What was under way when the leader stopped may have been answered still.
        return min((ended for ended in first.values() if ended >= change.led), default=float("inf"))
