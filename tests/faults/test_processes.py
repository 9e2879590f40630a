"""`beliefd serve --processes`: a session stays with one process, and nobody loses by the end of one."""

import asyncio
import os
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from beliefd.kernel.values import Role
from beliefd.testing.world import ONTOLOGY
from tests.claims.support import bundle, claim
from tests.faults.feed import Feed, following
from tests.faults.load import (
    Log,
    Request,
    audit,
    client,
    declare,
    requests,
    send,
    until,
    write_through_failures,
)
from tests.faults.place import Place, make_tokens
from tests.support.postgres import PostgresServer
from tests.support.receiver import Receiver
from tests.support.receiver import until as patiently
from tests.support.server import ServerProcess

PROCESSES = 2
SESSIONS = 8
WRITERS = 6
EACH = 3
SEED = 23
PAUSE_SECONDS = 0.2

pytestmark = pytest.mark.slow


class Several:
    """A server of several processes, and a look at which of them are there."""

    def __init__(self, place: Place, *options: str) -> None:
        self.place = place
        processes = ("--processes", str(PROCESSES))
        self.server = ServerProcess(place.data, place.store, options=(*processes, *options))

    async def all_up(self, http: httpx.AsyncClient) -> None:
        """Each of them has been heard of."""
        while len(await self.samples(http, "beliefd_start_time_seconds")) < PROCESSES:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def samples(self, http: httpx.AsyncClient, name: str) -> Counter[str]:
        """The samples of a metric, summed by process."""
        found: Counter[str] = Counter()
        for line in (await http.get("/metrics")).text.splitlines():
            if match := re.match(rf'{name}\{{process="(\d+)".*\}} ([\d.]+)$', line):
                found[match[1]] += float(match[2])  # type: ignore[assignment]
        return found


@pytest.fixture(scope="module")
def several(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    several = Several(Place(tmp_path_factory.mktemp("several"), postgres_server.create_database()))
    yield several
    assert several.server.stop() == 0
    assert "Traceback" not in several.server.output, several.server.output
    several.place.check_whole()


@asynccontextmanager
async def calling(several: Several) -> AsyncIterator[httpx.AsyncClient]:
    async with client(several.server.url) as http:
        await several.all_up(http)
        yield http


def test_the_events_of_a_session_are_all_decided_by_one_process_whatever_connection_they_come_on(
    several: Several,
) -> None:
    async def story() -> None:
        async with calling(several) as http:
            before = await several.samples(http, "beliefd_append_retries_total")
            for session_id in [await declare(http, {}) for _ in range(SESSIONS)]:
                decided = await several.samples(http, "beliefd_events_total")
                todo = requests(session_id, [session_id], SEED)
                await asyncio.gather(*(send(http, next(todo)) for _ in range(EACH)))
                after = await several.samples(http, "beliefd_events_total")
                assert sorted((after - decided).values()) == [EACH], "two processes wrote to one session"
            assert await several.samples(http, "beliefd_append_retries_total") == before

    asyncio.run(story())


def test_all_processes_get_sessions_and_any_answers_what_belongs_to_none(several: Several) -> None:
    async def story() -> None:
        async with calling(several) as http:
            sessions = [await declare(http, {}) for _ in range(24)]
            before = await several.samples(http, "beliefd_events_total")
            for session_id in sessions:
                await send(http, next(requests(f"once-{session_id}", [session_id], SEED)))
            after = await several.samples(http, "beliefd_events_total")
            assert len(after - before) == PROCESSES
            listed = (await http.get("/v1/sessions", params={"limit": 500})).json()["sessions"]
            assert set(sessions) <= {one["session_id"] for one in listed}
            for path in ("/healthz", "/readyz", "/openapi.json"):
                assert (await http.get(path)).status_code == 200

    asyncio.run(story())


def test_a_person_who_signed_in_is_known_on_every_connection(several: Several) -> None:
    [key] = re.findall(r"/sign-in\?key=(\S+)", several.server.output)

    async def story() -> None:
        async with calling(several) as http:
            signed_in = await http.get("/sign-in", params={"key": key})
            cookie = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
        for _ in range(6):
            async with client(several.server.url) as http:
                assert (await http.get("/inbox", headers=cookie)).status_code == 200

    asyncio.run(story())


def test_a_process_that_is_killed_takes_no_acknowledged_event_with_it_and_is_started_again(
    several: Several,
) -> None:
    log = Log()

    async def story() -> None:
        async with calling(several) as http:
            sessions = [await declare(http, {}) for _ in range(SESSIONS)]
            stop = asyncio.Event()
            todo = [requests(f"killed-{number}", sessions, SEED) for number in range(WRITERS)]
            writers = [asyncio.create_task(_write(http, log, one, stop)) for one in todo]
            for _ in range(PROCESSES):
                reached = len(log.acknowledged)
                await until(lambda reached=reached: len(log.acknowledged) >= reached + 10 * WRITERS)  # type: ignore[misc]
                killed = min(several.server.children())
                os.kill(killed, signal.SIGKILL)
                await until(lambda killed=killed: killed not in several.server.children())  # type: ignore[misc]
                await until(lambda: len(several.server.children()) == PROCESSES)
                await several.all_up(http)
            stop.set()
            await asyncio.gather(*writers)
            assert log.acknowledged
            for session_id in sessions:
                log.check(session_id, await audit(http, session_id))

    asyncio.run(story())
    assert "ended with -9; it is started again" in several.server.output


def test_all_processes_are_started_anew_one_by_one_no_request_fails_and_feeds_go_on(several: Several) -> None:
    log = Log()

    async def story() -> None:
        async with calling(several) as http:
            sessions = [await declare(http, {}) for _ in range(SESSIONS)]
            before = several.server.children()
            stop = asyncio.Event()
            todo = [requests(f"anew-{number}", sessions, SEED) for number in range(WRITERS)]
            writers = [asyncio.create_task(_write(http, log, one, stop)) for one in todo]
            feeds = {session_id: Feed() for session_id in sessions}
            followers = [asyncio.create_task(_follow(http, *one)) for one in feeds.items()]
            os.kill(several.server.pid, signal.SIGHUP)
            await until(lambda: len(now := several.server.children()) == PROCESSES and not before & now)
            await several.all_up(http)
            stop.set()
            await asyncio.gather(*writers)
            assert log.failures == []
            assert log.unanswered == set()
            for session_id, feed in feeds.items():
                events = await audit(http, session_id)
                log.check(session_id, events)
                await until(lambda feed=feed, events=events: len(feed.ids) >= len(events))  # type: ignore[misc]
                assert feed.ids == list(range(1, len(events) + 1)), "an event came twice, or not at all"
                assert [one["event_id"] for one in feed.events] == [one["event_id"] for one in events]
            assert any(feed.ended for feed in feeds.values())
            for follower in followers:
                follower.cancel()
            await asyncio.gather(*followers, return_exceptions=True)

    asyncio.run(story())


def test_a_webhook_hears_each_message_once_though_the_processes_are_started_anew(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    (tmp_path / "policy.yaml").write_text("approvals: {expires_seconds: 2, on_expiry: refuse}\n")
    options = ("--policy", str(tmp_path / "policy.yaml"), "--webhook", receiver.url)
    url = postgres_server.create_database()
    token = asyncio.run(make_tokens(url))[Role.AGENT]
    several = Several(Place(tmp_path / "data", url), *options)
    waiting: set[str] = set()

    def asked() -> bool:
        with several.server.client(token) as calls:
            session_id = calls.declare_session(["a", "b"], ONTOLOGY).session_id
            waiting.update(
                str(calls.submit_claims(session_id, bundle(claim("DELETE"))).approval_id) for _ in range(EACH)
            )
        time.sleep(PAUSE_SECONDS)
        return True

    try:
        before = several.server.children()
        assert asked()
        os.kill(several.server.pid, signal.SIGHUP)
        patiently(lambda: asked() and not before & several.server.children())
        assert asked()
        patiently(lambda: several.place.rows("SELECT 1 FROM inbox WHERE status = 'pending'") == [])
        patiently(lambda: several.place.count("inbox_told") == 0)
        heard = receiver.ids()
        assert sorted(heard) == sorted(set(heard)), "a message was sent twice"
        pending = {name for name in heard if "." not in name}
        assert pending <= waiting
        assert {name for name in heard if "." in name} == {f"{name}.timed_out" for name in pending}
        assert pending
    finally:
        assert several.server.stop() == 0
        several.server.forget()
        receiver.close()


def test_a_feed_shows_what_is_written_wherever_it_is_followed(several: Several) -> None:
    async def story() -> None:
        async with calling(several) as http:
            for session_id in [await declare(http, {}) for _ in range(3)]:
                async with following(http, session_id) as feed:
                    await feed.reach(1)
                    todo = requests(session_id, [session_id], SEED)
                    for _ in range(EACH):
                        await send(http, next(todo))
                    await feed.reach(1 + EACH)

    asyncio.run(story())


async def _follow(http: httpx.AsyncClient, session_id: str, feed: Feed) -> None:
    """What a browser does: whenever its feed ends it comes back, and says what it has."""
    while True:
        with suppress(httpx.TransportError):
            await feed.read(http, session_id, feed.ids[-1] if feed.ids else 0)
        await asyncio.sleep(0.01)


async def _write(http: httpx.AsyncClient, log: Log, todo: Iterator[Request], stop: asyncio.Event) -> None:
    """What a client does: whatever has a key is sent again if it is not answered."""
    for request in todo:
        if stop.is_set():
            return
        while True:
            try:
                await write_through_failures(http, log, iter([request]))
            except httpx.TransportError as error:
                log.unanswered.add(request)
                print(f"{request.observation_id} was not answered: {error!r}")
                if request.key is not None:
                    continue
            break
