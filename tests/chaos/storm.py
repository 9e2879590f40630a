"""Clients that write and read while servers, database and clock are treated badly; all of it goes on record.

Bounded: so many faults, each after so many acknowledged writes; loopback only.
"""

import asyncio
import contextlib
import os
import random
import resource
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from msgspec import Struct

from tests.chaos.history import Kept, Outcome, Read, Seen, Try, problems
from tests.chaos.wire import Wire
from tests.cli.runner import beliefd
from tests.faults.load import HYPOTHESES
from tests.faults.place import Place
from tests.support.postgres import PostgresServer, free_port
from tests.support.server import ServerProcess

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 120.0
"""Seconds in which a healed server must take writes again, on a machine that is busy with other things."""
ASK_SECONDS: Final = 5.0
ONTOLOGY: Final = {
    "hypothesis_space_id": "chaos",
    "hypothesis_version": "1",
    "causal_graph_ref": "graphstore://none",
    "causal_graph_version": "1",
}
JUMPS: Final = (3_600, -86_400, 0, 31_536_000, -31_536_000)


class Settings(Struct, frozen=True):
    """How much of it. `between` are the acknowledged writes between two faults."""

    servers: int = 1
    processes: int = 1
    sessions: int = 3
    clients: int = 4
    between: int = 15
    chapter: int = 50
    """So many faults later clients begin new sessions: every read is of a whole ledger."""
    seed: int = 7


class Storm:
    """Servers on one store, clients with their history, and the faults that can be brought upon them."""

    def __init__(self, place: Place, settings: Settings, database: PostgresServer | None = None) -> None:
        self.place = place
        self.settings = settings
        self.database = database
        self.chance = random.Random(settings.seed)
        self.tries: list[Try] = []
        self.reads: list[Read] = []
        self.seen: list[Seen] = []
        self.sessions: list[str] = []
        """All of them; clients write to the last ones."""
        self.acknowledged = 0
        self.faults: list[str] = []
        self.wires: list[Wire] = []
        """One per server, to the database, if there are any."""
        self.target = ""
        """The store that `move` moves to."""
        self._sent: list[tuple[str, str]] = []
        self._ended = False
        self._numbers = 0
        self._clock = place.data.parent / f"clock-{os.getpid()}"
        self._ports = [free_port() for _ in range(settings.servers)]
        self._servers: list[ServerProcess | None] = [None] * settings.servers

    # -- servers -------------------------------------------------------------------------------------

    def start(self, number: int) -> None:
        os.environ["BELIEFD_CHAOS_CLOCK"] = str(self._clock)
        several = ("--processes", str(self.settings.processes)) if self.settings.processes > 1 else ()
        self._servers[number] = ServerProcess(
            self.place.data,
            self.wires[number].url(self.place.store) if self.wires else self.place.store,
            self._ports[number],
            ("--tools", "tests.chaos.clock", *several),
        )

    def server(self, number: int) -> ServerProcess:
        server = self._servers[number]
        assert server is not None
        return server

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            for number in range(self.settings.servers):
                self.start(number)
            yield
        finally:
            for server in self._servers:
                if server is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(server.pid, signal.SIGCONT)
                    server.stop()
                    server.forget()

    # -- faults --------------------------------------------------------------------------------------

    async def kill(self) -> None:
        """A server is killed, and started again."""
        number = self.chance.randrange(self.settings.servers)
        self.server(number).kill()
        self.server(number).forget()
        await asyncio.to_thread(self.start, number)

    async def renew(self) -> None:
        """A server is told to end and is started again, as for an upgrade; or its processes, one by one."""
        number = self.chance.randrange(self.settings.servers)
        if self.settings.processes > 1:
            before = self.server(number).children()
            os.kill(self.server(number).pid, signal.SIGHUP)
            while before & (now := self.server(number).children()) or len(now) < self.settings.processes:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            return
        await asyncio.to_thread(self._end, number)
        await asyncio.to_thread(self.start, number)

    def _end(self, number: int) -> None:
        assert self.server(number).stop() == 0, "it ended badly"
        self.server(number).forget()

    async def move(self) -> None:
        """Everything goes to another store, `target`, while clients go on asking: servers end first."""
        for number in range(self.settings.servers):
            await asyncio.to_thread(self._end, number)
        source = self.place.store or str(self.place.data)
        moved = await asyncio.to_thread(beliefd, "store", "migrate", source, self.target)
        assert moved.exit_code == 0, moved.output
        self.place.store = self.target
        for number in range(self.settings.servers):
            await asyncio.to_thread(self.start, number)

    async def pause(self) -> None:
        """A server stands still, with everything that it was doing, and then goes on as if nothing were."""
        server = self.server(self.chance.randrange(self.settings.servers))
        os.kill(server.pid, signal.SIGSTOP)
        await asyncio.sleep(0.3)
        os.kill(server.pid, signal.SIGCONT)

    async def fill_disk(self) -> None:
        """No file of the server can grow."""
        server = self.server(self.chance.randrange(self.settings.servers))
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, hard))
        await asyncio.sleep(0.2)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))

    async def jump(self) -> None:
        """The clock is hours or years from where it was."""
        self._clock.write_text(str(self.chance.choice(JUMPS)))

    async def disturb(self) -> None:
        """The way between a server and the database is cut, slow, silent or closed on one side; the other
        servers have theirs."""
        wire = self.chance.choice(self.wires)
        fault = self.chance.choice((wire.cut, wire.delay, wire.black_hole, wire.close_answers))
        self.faults[-1] = fault.__name__
        await fault()

    async def kill_database(self) -> None:
        assert self.database is not None
        await asyncio.to_thread(self.database.kill)
        await asyncio.to_thread(self.database.start)

    # -- clients -------------------------------------------------------------------------------------

    async def rage(self, faults: Sequence[Callable[[], Awaitable[None]]]) -> None:
        """Declare sessions, let clients loose, bring the faults one by one, heal, and stop."""
        await self._begin()
        async with self.beside():
            clients = [asyncio.create_task(self._client(number)) for number in range(self.settings.clients)]
            try:
                for number, fault in enumerate(faults, 1):
                    await self.progress(self.settings.between)
                    if number % self.settings.chapter == 0:
                        await self._begin()
                    self.faults.append(fault.__name__)
                    await fault()
                await self.progress(self.settings.between)
            finally:
                self._ended = True
                await asyncio.gather(*clients)

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        """What else goes on while clients write."""
        yield

    async def progress(self, writes: int) -> None:
        """INVARIANT: after every fault clients are served again, without help."""
        goal, deadline = self.acknowledged + writes, time.monotonic() + PATIENCE
        while self.acknowledged < goal:
            assert time.monotonic() < deadline, f"no writes any more after {self.faults[-3:]}"
            await asyncio.sleep(0.01)

    async def _client(self, number: int) -> None:
        chance = random.Random(f"{self.settings.seed} {number}")
        held: list[tuple[str, str, float]] = []
        async with self._http() as http:
            while not self._ended:
                session_id = chance.choice(self.sessions[-self.settings.sessions :])
                luck = chance.random()
                if held and chance.random() < 0.3:
                    # It was sent before some others, and comes after them.
                    await self._write(http, *held.pop())
                if luck < 0.1:
                    await self._read(http, session_id)
                elif luck < 0.15:
                    await self._look(http, session_id)
                elif luck < 0.2:
                    await self._follow(http, session_id, number)
                elif luck < 0.3 and self._sent:
                    # A duplicate out of order: it was sent, and perhaps answered, long ago.
                    await self._write(http, *chance.choice(self._sent))
                else:
                    self._numbers += 1
                    name = f"{number}-{self._numbers}"
                    self._sent.append((session_id, name))
                    if luck < 0.36:
                        held.append((session_id, name, time.monotonic()))
                        continue
                    twice = [self._write(http, session_id, name) for _ in range(1 + (luck > 0.9))]
                    await asyncio.gather(*twice)

    async def _follow(self, http: httpx.AsyncClient, session_id: str, number: int) -> None:
        """A write that is to come right after what its client has seen, once; others may be faster."""
        if (seen := await self._look(http, session_id)) is not None:
            await asyncio.sleep(random.Random(seen.began).random() * 0.02)
            self._numbers += 1
            await self._write(http, session_id, f"{number}-{self._numbers}", after=seen.event_id)

    async def _write(
        self,
        http: httpx.AsyncClient,
        session_id: str,
        name: str,
        began: float | None = None,
        after: str = "",
    ) -> None:
        """One try. What nobody answered is unknown, and may be tried again by somebody."""
        body = {
            "source_id": "probe://chaos",
            "observation_id": name,
            "eliminated": [HYPOTHESES[hash(name) % len(HYPOTHESES)]],
            "justification": {},
        }
        began = began or time.monotonic()
        outcome: Outcome = "unknown"
        seq, event_id = 0, ""
        try:
            answer = await http.post(
                f"{self._url()}/v1/sessions/{session_id}/eliminate",
                json=body,
                headers={"Idempotency-Key": f"{session_id} {name}"}
                | ({"If-Match": f'"{after}"'} if after else {}),
            )
        except httpx.HTTPError:
            await asyncio.sleep(0.02)
        else:
            told = answer.json()
            if answer.is_success:
                outcome, seq, event_id = "ok", told["snapshot"]["seq"], told["audit_event_id"]
                self.acknowledged += 1
            elif answer.status_code < 500:
                outcome = "refused"
            else:
                await asyncio.sleep(0.02)
        self.tries.append(Try(session_id, name, began, time.monotonic(), outcome, seq, event_id, after))

    async def _look(self, http: httpx.AsyncClient, session_id: str) -> Seen | None:
        began = time.monotonic()
        with contextlib.suppress(httpx.HTTPError, KeyError):
            told = (await http.get(f"{self._url()}/v1/sessions/{session_id}")).raise_for_status().json()
            head = told["seq"], told["audit_head_event_id"], told["survivors_hash"]
            self.seen.append(Seen(session_id, began, time.monotonic(), *head))
            return self.seen[-1]
        return None

    async def _read(self, http: httpx.AsyncClient, session_id: str) -> None:
        """A whole ledger, page by page: what is told is what was there when the last page was asked for."""
        began = time.monotonic()
        with contextlib.suppress(httpx.HTTPError, KeyError):
            events = await self._events(http, self._url(), session_id)
            ids = tuple(event["event_id"] for event in events)
            self.reads.append(Read(session_id, began, time.monotonic(), ids))

    async def _events(self, http: httpx.AsyncClient, url: str, session_id: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        since: dict[str, str] = {}
        while True:
            page = (await http.get(f"{url}/v1/sessions/{session_id}/audit", params=since)).json()
            events += page["events"]
            if page["next"] is None:
                return events
            since = {"since_event_id": page["next"]}

    async def _begin(self) -> None:
        """New sessions for everybody, all at once."""
        async with self._http() as http, asyncio.timeout(PATIENCE):
            begun = range(len(self.sessions), len(self.sessions) + self.settings.sessions)
            self.sessions += [await self._declare(http, number) for number in begun]

    async def _declare(self, http: httpx.AsyncClient, number: int) -> str:
        body = {"ontology": ONTOLOGY, "hypotheses": HYPOTHESES, "metadata": {"number": number}}
        while True:
            with contextlib.suppress(httpx.HTTPError):
                key = {"Idempotency-Key": f"session {number}"}
                answer = await http.post(f"{self._url()}/v1/sessions", json=body, headers=key)
                return str(answer.raise_for_status().json()["session_id"])
            await asyncio.sleep(0.02)

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    def _url(self) -> str:
        return self.chance.choice(self.urls)

    def _http(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=ASK_SECONDS, verify=False)

    # -- afterwards ----------------------------------------------------------------------------------

    async def explain(self) -> list[str]:
        """What one ledger per session does not explain of all that was told; each server is asked for it."""
        found: list[str] = []
        async with self._http() as http:
            for session_id in self.sessions:
                told = [await self._events(http, url, session_id) for url in self.urls]
                if any(one != told[0] for one in told):
                    found.append(f"servers tell different ledgers of session {session_id}")
                ledger = [
                    Kept(
                        event["seq"],
                        event["event_id"],
                        event["payload"].get("observation_id", ""),
                        event["survivors_after_hash"],
                    )
                    for event in told[0]
                ]
                found += problems(
                    ledger,
                    [one for one in self.tries if one.session_id == session_id],
                    [one for one in self.reads if one.session_id == session_id],
                    [one for one in self.seen if one.session_id == session_id],
                )
        return found
