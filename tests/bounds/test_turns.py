"""Large bodies take turns at being taken in: a small request waits for a few pieces, not for all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from beliefd.http.bodies import read_body
from beliefd.http.in_flight import Holding, InFlight
from beliefd.http.turns import AT_ONCE, turn
from beliefd.protocol.operations import BY_NAME
from beliefd.steward.offload import HEAVY_BYTES
from tests.bounds.requests import LINES

PIECE = b"x" * (HEAVY_BYTES + 1)
PIECES = 10
BODIES = 30
MERGE = BY_NAME["merge"]
pytestmark = pytest.mark.anyio


class Senders:
    """As many as never let a server wait for the next piece of their body."""

    def __init__(self) -> None:
        self.taken = 0

    def body(self, pieces: int) -> Callable[[], Awaitable[dict[str, Any]]]:
        left = pieces

        async def receive() -> dict[str, Any]:
            nonlocal left
            left -= 1
            self.taken += 1
            return {"type": "http.request", "body": PIECE, "more_body": left > 0}

        return receive


async def read(receive: Callable[[], Awaitable[dict[str, Any]]]) -> bytes:
    holding = Holding(InFlight(most=1 << 40))
    holding.belongs_to("a", 1 << 40)
    data = await read_body(MERGE, {"Content-Type": LINES}, receive, holding)
    assert isinstance(data, bytes)
    return data


async def test_a_round_of_the_loop_takes_a_few_pieces_in_however_many_bodies_come() -> None:
    senders = Senders()
    reading = [asyncio.create_task(read(senders.body(PIECES))) for _ in range(BODIES)]
    await asyncio.sleep(0)
    first = senders.taken
    assert first == BODIES, "the first piece of each is there already"
    most, before = 0, first
    while not all(task.done() for task in reading):
        await asyncio.sleep(0)
        most, before = max(most, senders.taken - before), senders.taken
    assert 0 < most <= AT_ONCE
    assert {len(task.result()) for task in reading} == {PIECES * len(PIECE)}


async def test_a_small_body_waits_for_nobody() -> None:
    senders = Senders()
    reading = [asyncio.create_task(read(senders.body(PIECES))) for _ in range(BODIES)]
    await asyncio.sleep(0)
    before = senders.taken
    assert await read(senders.body(1)) == PIECE
    assert senders.taken == before + 1
    await asyncio.gather(*reading)


async def test_who_leaves_while_it_waits_keeps_nobody_waiting() -> None:
    waiting = [asyncio.create_task(turn()) for _ in range(3 * AT_ONCE)]
    await asyncio.sleep(0)
    for task in waiting[:AT_ONCE]:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*waiting[AT_ONCE:]), 60)
    await asyncio.wait_for(turn(), 60)
