"""Several server processes on one store: one total order, whoever writes and whoever reads."""

import asyncio
import itertools
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing

import httpx
import pytest
from msgspec import Struct

from tests.faults.feed import following
from tests.faults.load import (
    HYPOTHESES,
    Failure,
    Log,
    Request,
    audit,
    client,
    declare,
    requests,
    send,
    snapshot,
    write_until_cut_off,
)
from tests.faults.place import Place
from tests.support.server import ServerProcess

WRITERS = 4
EACH = 60
SEED = 7

pytestmark = pytest.mark.slow


class Pair(Struct, frozen=True):
    """Two servers on one place."""

    place: Place
    first: str
    second: str

    def play(self, story: Callable[[httpx.AsyncClient, httpx.AsyncClient], Awaitable[None]]) -> None:
        async def playing() -> None:
            async with client(self.first) as one, client(self.second) as two:
                await story(one, two)

        asyncio.run(playing())
        self.place.check_whole()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    postgres = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    place = Place(tmp_path_factory.mktemp("pair"), postgres and postgres.create_database())
    with place.server() as first, place.server() as second:
        yield Pair(place, first.url, second.url)


def test_two_servers_on_one_session_make_one_order_and_both_feeds_show_all_of_it(pair: Pair) -> None:
    async def story(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
        log = Log()
        session_id = await declare(one, {})
        last_seq = 1 + 2 * WRITERS * EACH
        work = [
            write_until_cut_off(
                http, log, itertools.islice(requests(f"{name}{writer}", [session_id], SEED), EACH)
            )
            for name, http in (("one", one), ("two", two))
            for writer in range(WRITERS)
        ]
        async with following(one, session_id) as here, following(two, session_id) as there:
            await asyncio.gather(*work)
            assert not log.unanswered
            events = await audit(one, session_id)
            log.check(session_id, events)
            assert [event["seq"] for event in events] == list(range(1, last_seq + 1))
            assert await audit(two, session_id) == events
            assert await snapshot(one, session_id) == await snapshot(two, session_id)
            for feed in (here, there):
                await feed.reach(last_seq)
                assert feed.ids == list(range(1, last_seq + 1))
                assert feed.events == events

    pair.play(story)


def test_a_write_on_one_server_is_read_at_once_on_the_other(pair: Pair) -> None:
    async def story(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
        session_id = await declare(one, {})
        assert (await snapshot(two, session_id))["seq"] == 1
        for number in range(40):
            writing, reading = (one, two) if number % 2 else (two, one)
            request = Request(session_id, f"o{number}", (HYPOTHESES[number],))
            answer = await send(writing, request)
            read = await snapshot(reading, session_id)
            assert (read["audit_head_event_id"], read["seq"]) == (answer.event_id, answer.seq)
            assert HYPOTHESES[number] not in read["survivors"]
            assert read == await snapshot(writing, session_id)

    pair.play(story)


def test_a_feed_is_woken_by_what_only_the_other_server_writes(pair: Pair) -> None:
    async def story(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
        session_id = await declare(one, {})
        async with following(two, session_id) as feed:
            for number in range(5):
                await feed.reach(1 + number)
                await send(one, Request(session_id, f"o{number}", ()))
            await feed.reach(6)
            assert feed.ids == [1, 2, 3, 4, 5, 6]
            assert feed.silences == 0, "it looked by itself, because nobody told it"

    pair.play(story)


def test_of_writers_that_name_the_same_head_exactly_one_wins(pair: Pair) -> None:
    rounds = 12

    async def story(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
        session_id = await declare(one, {})
        for number in range(rounds):
            head = (await snapshot(one, session_id))["audit_head_event_id"]
            tries = [
                send(http, Request(session_id, f"{number}-{writer}", ()), if_match=head)
                for writer in range(2 * WRITERS)
                for http in ((one, two)[writer % 2],)
            ]
            outcomes = await asyncio.gather(*tries, return_exceptions=True)
            lost = [(outcome.status, outcome.code) for outcome in outcomes if isinstance(outcome, Failure)]
            assert lost == [(409, "CONFLICT")] * (2 * WRITERS - 1), outcomes
        assert (await snapshot(two, session_id))["seq"] == 1 + rounds

    pair.play(story)


def test_one_key_sent_to_both_servers_at_once_is_applied_once(pair: Pair) -> None:
    rounds = 25

    async def story(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
        session_id = await declare(one, {})
        for number in range(rounds):
            request = Request(session_id, f"o{number}", (HYPOTHESES[number],), f"key-{number}")
            answers = await asyncio.gather(*(send(http, request) for http in (one, two, one, two)))
            assert len(set(answers)) == 1
            declared = await asyncio.gather(
                *(declare(http, {"number": number}, f"declare-{number}") for http in (one, two))
            )
            assert len(set(declared)) == 1
        assert (await snapshot(one, session_id))["seq"] == 1 + rounds

    before = pair.place.count("sessions")
    pair.play(story)
    assert pair.place.count("sessions") == before + 1 + rounds


def test_a_killed_server_leaves_the_other_one_writing_and_its_feed_complete(place: Place) -> None:
    async def story(doomed: ServerProcess, survivor: ServerProcess) -> None:
        log = Log()
        async with client(doomed.url) as one, client(survivor.url) as two:
            session_id = await declare(one, {})
            work = [
                write_until_cut_off(one, log, requests(f"one{writer}", [session_id], SEED))
                for writer in range(WRITERS)
            ]
            work.append(
                write_until_cut_off(two, log, itertools.islice(requests("two", [session_id], SEED), 200))
            )
            async with following(two, session_id) as feed:
                tasks = [asyncio.create_task(one) for one in work]
                await asyncio.sleep(0.3)
                doomed.kill()
                await asyncio.gather(*tasks)
                assert len(log.unanswered) <= WRITERS, "the other server was cut off too"
                events = await audit(two, session_id)
                log.check(session_id, events)
                await feed.reach(events[-1]["seq"])
                assert feed.events == events

    with place.server() as doomed, place.server() as survivor:
        asyncio.run(story(doomed, survivor))
    place.check_whole()


def test_a_program_that_holds_the_file_delays_writers_but_not_readers(file_place: Place) -> None:
    async def story(url: str) -> None:
        async with client(url) as http:
            session_id = await declare(http, {})
            with closing(sqlite3.connect(file_place.file, isolation_level=None)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                writing = asyncio.create_task(send(http, Request(session_id, "o", ("h001",))))
                for _ in range(20):
                    assert (await snapshot(http, session_id))["seq"] == 1
                    assert len(await audit(http, session_id)) == 1
                assert not writing.done()
                holder.execute("ROLLBACK")
            assert (await writing).seq == 2

    with file_place.server() as server:
        asyncio.run(story(server.url))
