"""An acknowledged event survives kill -9; an unacknowledged one is either whole or absent."""

import asyncio
import random

import httpx
import pytest

from tests.faults.load import (
    Log,
    audit,
    client,
    declare,
    requests,
    send,
    snapshot,
    until,
    write_until_cut_off,
)
from tests.faults.place import Place
from tests.support.server import ServerProcess

ROUNDS = 200
SESSIONS = 4
WRITERS = 8
DECLARATIONS = 3
LIFE_SECONDS = (0.0, 0.1)
"""From the first acknowledgement on."""
SEED = 20_260


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_kills_under_load_lose_nothing_acknowledged_and_leave_nothing_half_written(
    place: Place,
) -> None:
    story = Story(SEED)
    for number in range(ROUNDS):
        with place.server() as server:
            asyncio.run(story.compare(server))
            asyncio.run(story.live_and_die(server, number))
    with place.server() as server:
        asyncio.run(story.compare(server))
        asyncio.run(story.compare_all(server))
    assert place.count("sessions") == SESSIONS + len(story.declared)
    print(f"{place.check_whole()} events in {ROUNDS} lives")


class Story:
    """Many lives of one server on one store, and what its clients know of all of them."""

    def __init__(self, seed: int) -> None:
        print(f"seed {seed}")
        self.seed = seed
        self.chance = random.Random(seed)
        self.log = Log()
        self.life = Log()
        self.sessions: list[str] = []
        self.compared: dict[str, str] = {}
        """The last event of each session that has been compared with the log."""
        self.declared: dict[str, str] = {}
        self.undeclared: set[str] = set()

    async def live_and_die(self, server: ServerProcess, number: int) -> None:
        self.life = Log()
        async with client(server.url) as http:
            if not self.sessions:
                self.sessions = [await declare(http, {"number": one}) for one in range(SESSIONS)]
            names = [f"round{number}-writer{writer}" for writer in range(WRITERS)]
            work = [
                write_until_cut_off(http, self.life, requests(name, self.sessions, self.seed))
                for name in names
            ]
            tasks = [asyncio.create_task(one) for one in [*work, self._declare(http, number)]]
            await until(lambda: bool(self.life.acknowledged))
            await asyncio.sleep(self.chance.uniform(*LIFE_SECONDS))
            server.kill()
            await asyncio.gather(*tasks)

    async def _declare(self, http: httpx.AsyncClient, number: int) -> None:
        for one in range(DECLARATIONS):
            key = f"declare-{number}-{one}"
            self.undeclared.add(key)
            try:
                self.declared[key] = await declare(http, {"key": key}, key)
            except httpx.TransportError:
                return
            self.undeclared.discard(key)

    async def compare(self, server: ServerProcess) -> None:
        """After a restart: try again what has a key, then compare what the last life added."""
        async with client(server.url) as http:
            await self._retry(http)
            for session_id in self.sessions:
                events = await audit(http, session_id, self.compared.get(session_id))
                self.life.check(session_id, events)
                if events:
                    self.compared[session_id] = events[-1]["event_id"]
                head = await snapshot(http, session_id)
                assert head["audit_head_event_id"] == self.compared[session_id]
        self.log.acknowledged |= self.life.acknowledged
        self.log.unanswered |= self.life.unanswered

    async def _retry(self, http: httpx.AsyncClient) -> None:
        answered = [request for request in self.life.acknowledged if request.key is not None]
        for request in answered[-WRITERS:]:
            assert await send(http, request) == self.life.acknowledged[request], "a key was forgotten"
        for request in [request for request in self.life.unanswered if request.key is not None]:
            self.life.keep(request, await send(http, request))
        for key in sorted(self.undeclared):
            self.declared[key] = await declare(http, {"key": key}, key)
        self.undeclared.clear()

    async def compare_all(self, server: ServerProcess) -> None:
        async with client(server.url) as http:
            for session_id in self.sessions:
                self.log.check(session_id, await audit(http, session_id))
            for key, session_id in self.declared.items():
                assert (await snapshot(http, session_id))["metadata"] == {"key": key}
