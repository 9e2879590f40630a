"""However many speak at once, a session has one order, and nobody's word is lost."""

import asyncio
import random

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.replay import fold
from beliefd.steward.feeds import Feeds
from beliefd.steward.write.steward import Steward
from tests.steward.places import ALICE, BOB, Place, applied, declared, eliminate, ledger_of, names, seen

pytestmark = pytest.mark.anyio


async def test_eliminations_that_come_at_once_get_one_total_order(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward, 80)
    outcomes = await asyncio.gather(
        *(steward.submit(session_id, eliminate(name, "h0070"), ALICE) for name in names(64))
    )
    entries = await ledger_of(steward, session_id)
    assert [outcome.head.event_id for outcome in outcomes] == [entry.event_id for entry in entries[1:]]
    assert applied(outcomes) == [*names(64), "h0070"]
    assert outcomes[-1].session.beliefs.survivors.page(100) == [*names(70)[64:], *names(80)[71:]]


async def test_two_stewards_on_one_session_lose_nothing(place: Place) -> None:
    stewards = [await place.steward(), await place.steward()]
    session_id = await declared(stewards[0], 60)

    async def speak(steward: Steward, seed: int) -> list[str]:
        chance = random.Random(seed)
        told = []
        for turn in range(20):
            command = eliminate(*chance.sample(names(60), 2), observation=f"{seed}-{turn}")
            told.append((await steward.submit(session_id, command, ALICE)).head.event_id)
        return told

    told = await asyncio.gather(*(speak(steward, seed) for seed in range(4) for steward in stewards))
    entries = await ledger_of(stewards[0], session_id)
    assert sorted(event_id for one in told for event_id in one) == sorted(e.event_id for e in entries[1:])
    positions = [await steward.positions.existing(session_id) for steward in stewards]
    whole = fold(entries)
    assert whole is not None
    assert [seen(position) for position in positions] == [seen(whole)] * 2
    assert stewards[0].counts.retries + stewards[1].counts.retries > 0, (
        "they never met: the test shows nothing"
    )


async def test_a_hypothesis_falls_once_whoever_says_so_first(place: Place) -> None:
    stewards = [await place.steward(), await place.steward()]
    session_id = await declared(stewards[0], 30)
    outcomes = await asyncio.gather(
        *(steward.submit(session_id, eliminate(name), ALICE) for name in names(30) for steward in stewards)
    )
    assert applied(outcomes) == list(names(30))
    assert len(await ledger_of(stewards[1], session_id)) == 61


async def test_sessions_do_not_wait_for_nor_mix_with_each_other(place: Place) -> None:
    steward = await place.steward()
    sessions = [await declared(steward, 12) for _ in range(12)]
    await asyncio.gather(
        *(steward.submit(session_id, eliminate(name), ALICE) for name in names(11) for session_id in sessions)
    )
    for session_id in sessions:
        assert len(await ledger_of(steward, session_id)) == 12
        position = await steward.positions.existing(session_id)
        assert position.session.beliefs.survivors.page(12) == ["h0011"]


# -- If-Match --------------------------------------------------------------------------------------------


async def test_if_match_lets_pass_only_who_has_seen_the_head(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    first = await steward.submit(session_id, eliminate("h0000"), ALICE)
    second = await steward.submit(session_id, eliminate("h0001"), ALICE, if_match=first.head.event_id)
    await steward.submit(session_id, eliminate("h0002"), ALICE, if_match="*")
    with pytest.raises(BeliefdError) as raised:
        await steward.submit(session_id, eliminate("h0003"), ALICE, if_match=second.head.event_id)
    assert raised.value.code is Code.CONFLICT
    entries = await ledger_of(steward, session_id)
    assert len(entries) == 4
    assert raised.value.body.error.details == {"path": "If-Match", "head": entries[-1].event_id}


async def test_of_those_who_saw_the_same_head_one_passes(place: Place) -> None:
    stewards = [await place.steward(), await place.steward()]
    session_id = await declared(stewards[0])
    head = (await stewards[0].positions.existing(session_id)).head
    outcomes = await asyncio.gather(
        *(
            steward.submit(session_id, eliminate(name), ALICE, if_match=head.event_id)
            for name in names(8)
            for steward in stewards
        ),
        return_exceptions=True,
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, BeliefdError)]
    assert [error.code for error in refused] == [Code.CONFLICT] * 15
    assert len(await ledger_of(stewards[0], session_id)) == 2


async def test_a_head_seen_through_another_process_is_the_head(place: Place) -> None:
    here, there = await place.steward(), await place.steward()
    session_id = await declared(here)
    elsewhere = await there.submit(session_id, eliminate("h0000"), BOB)
    outcome = await here.submit(session_id, eliminate("h0001"), ALICE, if_match=elsewhere.head.event_id)
    assert outcome.head.seq == 3


# -- feeds -----------------------------------------------------------------------------------------------


async def test_a_feed_brings_what_any_process_appends_in_order(place: Place) -> None:
    here, there = await place.steward(), await place.steward()
    session_id = await declared(here, 40)

    async def hear() -> list[int]:
        heard: list[int] = []
        async for chunk in Feeds(here.store).follow(session_id, 1):
            heard += [entry.seq for entry in chunk or []]
            if len(heard) == 40:
                break
        return heard

    hearing = asyncio.ensure_future(hear())
    for name in names(20):
        await there.submit(session_id, eliminate(name), ALICE)
        await here.submit(session_id, eliminate(name), ALICE)
    async with asyncio.timeout(60):
        assert await hearing == list(range(2, 42))
