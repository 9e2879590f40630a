"""A clock that jumps: times may be wrong, order and verification may not."""

import asyncio
import itertools
import os
from datetime import UTC, datetime, timedelta

import pytest

from beliefd.embedded import AsyncEmbedded
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.environment import Environment
from beliefd.stores.opening import open_store
from beliefd.testing.world import ONTOLOGY
from tests.faults.load import HYPOTHESES
from tests.faults.place import Place

JUMPS = (0, 3_650, -20_000, 0, 1, -1, 7_000, -7_000)
"""In days. The same ones again and again, so that most events are older than the one before."""
EVENTS = 300

pytestmark = pytest.mark.slow


class Clock:
    """Hands out times, and ids that begin with them, as the real one does."""

    def __init__(self, skew: int = 0) -> None:
        self._times = (
            datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=skew + days) for days in itertools.cycle(JUMPS)
        )

    def now(self) -> str:
        return next(self._times).isoformat(timespec="microseconds")[:-6] + "Z"

    def new_id(self) -> str:
        millis = int(next(self._times).timestamp() * 1_000) & 0xFFFF_FFFF_FFFF
        chance = os.urandom(9).hex()
        return f"{millis:012x}"[:8] + f"-{millis & 0xFFFF:04x}-7{chance[:3]}-8{chance[3:6]}-{chance[6:18]}"

    @property
    def environment(self) -> Environment:
        return Environment(now=self.now, new_id=self.new_id)


async def opened(place: Place, clock: Clock) -> AsyncEmbedded:
    place.data.mkdir(exist_ok=True)
    store = await open_store(place.store or place.file)
    return AsyncEmbedded(bootstrap(store, environment=clock.environment), LOCAL_AGENT)


def test_a_clock_that_jumps_leaves_order_paging_feeds_and_verification_alone(place: Place) -> None:
    async def story() -> None:
        async with await opened(place, Clock()) as ledgers:
            session_id = (await ledgers.declare_session(HYPOTHESES, ONTOLOGY)).session_id
            answers = [
                await ledgers.eliminate(session_id, source_id="s", observation_id=f"o{number}", eliminated=[])
                for number in range(EVENTS)
            ]
            ids = [answer.audit_event_id for answer in answers]
            assert [answer.snapshot.seq for answer in answers] == list(range(2, EVENTS + 2))
            page = await ledgers.audit_trace(session_id, since_event_id=ids[99])
            assert [event["event_id"] for event in page.events] == ids[100:]
            assert [event["ts"] for event in page.events] != sorted(event["ts"] for event in page.events)
            told: list[str] = []
            async for chunk in ledgers.runtime.feeds.follow(session_id, 1):
                told += [entry.event_id for entry in chunk or ()]
                if len(told) >= len(ids):
                    break
            assert told == ids
            verified = await ledgers.verify(session_id)
            assert (verified.ok, verified.checked) == (True, EVENTS + 1)
            others = {(await ledgers.declare_session(["a"], ONTOLOGY)).session_id for _ in range(20)}
            assert {one.session_id for one in (await ledgers.list_sessions()).sessions} == {
                session_id
            } | others

    asyncio.run(story())
    assert place.check_whole() == EVENTS + 1 + 20


def test_servers_whose_clocks_disagree_by_years_still_make_one_order(place: Place) -> None:
    async def story() -> None:
        async with await opened(place, Clock()) as here, await opened(place, Clock(skew=-3_000)) as there:
            session_id = (await here.declare_session(HYPOTHESES, ONTOLOGY)).session_id
            answers = await asyncio.gather(
                *(
                    ledgers.eliminate(session_id, source_id="s", observation_id=f"o{number}", eliminated=[])
                    for number in range(EVENTS // 2)
                    for ledgers in (here, there)
                )
            )
            assert sorted(answer.snapshot.seq for answer in answers) == list(range(2, EVENTS + 2))
            assert await here.query_belief(session_id) == await there.query_belief(session_id)

    asyncio.run(story())
    assert place.check_whole() == EVENTS + 1
