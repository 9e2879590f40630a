"""Which of several hosts is connected to, with hosts that answer, refuse or say nothing, as the test says."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from beliefd.stores.postgres import hosts
from beliefd.stores.postgres.hosts import Hosts, Pulse

URL = "postgresql://u@a:1,b:2,c:3/house"
FOR_EVER = 1e6
Answer = Callable[[], Awaitable[Any]]


class Connection:
    """One that was made, and of which a test can say that it is silent."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.silent = False
        self.closed = False

    def terminate(self) -> None:
        self.closed = True

    async def fetchval(self, _: str) -> int:
        if self.silent:
            await asyncio.Future()
        return 1


class House:
    """What each host does when somebody connects."""

    def __init__(self) -> None:
        self.does: dict[str, Callable[[str], Awaitable[Connection]]] = {}
        self.asked: list[str] = []
        self.made: list[Connection] = []

    async def connect(self, address: str, **_: object) -> Connection:
        host = address.partition("@")[2][0]
        self.asked.append(host)
        return await self.does[host](host)

    async def leads(self, host: str) -> Connection:
        self.made.append(Connection(host))
        return self.made[-1]

    async def follows(self, _: str) -> Connection:
        raise asyncpg.exceptions.TargetServerAttributeNotMatched("not this one")

    async def is_gone(self, _: str) -> Connection:
        raise ConnectionRefusedError

    async def is_frozen(self, _: str) -> Connection:
        await asyncio.Future()
        raise AssertionError


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    """Nothing is ever given up by the clock: what waits for a silent host would wait for ever."""
    house = House()
    monkeypatch.setattr(asyncpg, "connect", house.connect)
    monkeypatch.setattr(hosts, "HOST_SECONDS", FOR_EVER)
    monkeypatch.setattr(hosts, "HEAD_START", 0.01)
    monkeypatch.setattr(hosts, "AGAIN_SECONDS", 0.01)
    return house


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):  # far more than is needed, and less than for ever
            await story()

    asyncio.run(bounded())


def test_a_frozen_host_keeps_nobody_from_the_one_that_leads(house: House) -> None:
    house.does = {"a": house.is_frozen, "b": house.follows, "c": house.leads}

    async def story() -> None:
        assert (await Hosts(URL).connect()).host == "c"

    run(story)


def test_a_standby_that_comes_to_lead_while_another_host_is_silent_is_found_by_who_asked_before(
    house: House,
) -> None:
    async def leads_at_last(host: str) -> Connection:
        return await (house.leads(host) if house.asked.count(host) > 3 else house.follows(host))

    house.does = {"a": house.is_frozen, "b": leads_at_last, "c": house.is_gone}

    async def story() -> None:
        assert (await Hosts(URL).connect()).host == "b"

    run(story)


def test_the_host_that_led_last_is_asked_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "HEAD_START", FOR_EVER)
    house.does = {"a": house.follows, "b": house.leads, "c": house.follows}

    async def story() -> None:
        several = Hosts(URL)
        await several.connect()
        house.asked.clear()
        for _ in range(3):
            await several.connect()
        assert house.asked == ["b", "b", "b"]

    run(story)


def test_that_no_host_takes_writes_is_said_when_all_have_answered(house: House) -> None:
    house.does = {"a": house.is_gone, "b": house.follows, "c": house.is_gone}

    async def story() -> None:
        with pytest.raises(asyncpg.exceptions.TargetServerAttributeNotMatched):
            await Hosts(URL).connect()

    run(story)


def test_of_two_that_give_a_connection_one_is_taken_and_the_other_closed(house: House) -> None:
    """As when a leader that was frozen wakes up: for a moment two take writes."""
    meet: list[asyncio.Future[None]] = []

    async def together(host: str) -> Connection:
        meet.append(asyncio.get_running_loop().create_future())
        if len(meet) == 2:
            for one in meet:
                one.set_result(None)
        await meet[len(meet) - 1]
        return await house.leads(host)

    house.does = {"a": together, "b": together, "c": house.is_frozen}

    async def story() -> None:
        taken = await Hosts(URL).connect()
        for _ in range(3):
            await asyncio.sleep(0)
        assert [one.closed for one in house.made if one is not taken] == [True]
        assert not taken.closed

    run(story)


def test_to_give_a_silent_host_up_costs_no_connection_to_the_next_leader(house: House) -> None:
    """The pulse finds out last: by then somebody is connected to the new leader already."""
    house.does = {"a": house.leads, "b": house.follows, "c": house.follows}

    async def story() -> None:
        several = Hosts(URL)
        pulse, waiting = await several.connect(), await several.connect()
        house.does = {"a": house.is_frozen, "b": house.leads, "c": house.follows}
        new = await several.connect()
        several.abandon(pulse)
        assert [pulse.closed, waiting.closed, new.closed] == [True, True, False]
        house.asked.clear()
        assert (await several.connect()).host == "b"
        assert house.asked == ["b"]

    run(story)


def test_a_pulse_gives_up_the_host_that_it_listened_to(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(hosts, "PATIENCE_SECONDS", 0.05)
    house.does = {"a": house.leads, "b": house.follows, "c": house.follows}

    async def story() -> None:
        several = Hosts(URL)
        waiting = await several.connect()
        pulse = Pulse(several, several.connect)
        while len(house.made) < 2:  # noqa: ASYNC110 - polled
            await asyncio.sleep(0)
        house.does = {"a": house.is_frozen, "b": house.follows, "c": house.leads}
        new = await several.connect()
        for one in house.made:
            one.silent = one.host == "a"
        while not waiting.closed:  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.01)
        assert not new.closed
        await pulse.close()

    run(story)
