"""A key makes a retry safe: it gets the first answer and writes nothing."""

import asyncio

import pytest

from beliefd.kernel.beliefs.commands import RequestTermination
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.ledger.marks import STEP
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.base import Append, StorageUnavailable, Store
from tests.steward.counting import Counting
from tests.steward.places import ALICE, BOB, Place, declaration, declared, eliminate, ledger_of, names, seen

pytestmark = pytest.mark.anyio


async def test_a_retry_gets_the_first_answer_and_appends_nothing(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    first = await steward.submit(session_id, eliminate("h0000"), ALICE, key="k")
    await steward.submit(session_id, eliminate("h0000", "h0001"), ALICE)
    assert seen(await steward.submit(session_id, eliminate("h0000"), ALICE, key="k")) == seen(first)
    assert first.session.beliefs.survivors.count == 7
    assert len(await ledger_of(steward, session_id)) == 3


async def test_a_retry_after_a_restart_gets_the_first_answer(lasting_place: Place) -> None:
    steward = await lasting_place.steward()
    opened = await steward.declare(declaration(), ALICE, key="open")
    session_id = opened.session.session_id
    told = await steward.submit(session_id, eliminate("h0000"), ALICE, key="tell")
    refused = await steward.submit(session_id, eliminate("unheard of"), ALICE, key="refuse")
    await steward.submit(session_id, eliminate("h0001"), ALICE)
    await steward.store.close()
    again = await lasting_place.steward()
    assert seen(await again.declare(declaration(), ALICE, key="open")) == seen(opened)
    assert seen(await again.submit(session_id, eliminate("h0000"), ALICE, key="tell")) == seen(told)
    assert seen(await again.submit(session_id, eliminate("unheard of"), ALICE, key="refuse")) == seen(refused)
    assert len(await ledger_of(again, session_id)) == 4
    assert len(await again.store.sessions(None, 10)) == 1


async def test_a_refusal_is_an_answer_like_any_other(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    first = await steward.submit(session_id, eliminate("unheard of"), ALICE, key="k")
    assert isinstance(first.event, Refused)
    assert seen(await steward.submit(session_id, eliminate("unheard of"), ALICE, key="k")) == seen(first)
    assert len(await ledger_of(steward, session_id)) == 2


async def test_a_key_opens_one_session_however_often_it_is_tried(place: Place) -> None:
    stewards = [await place.steward(), await place.steward()]
    outcomes = await asyncio.gather(
        *(steward.declare(declaration(), ALICE, key="open") for _ in range(4) for steward in stewards)
    )
    assert len({outcome.session.session_id for outcome in outcomes}) == 1
    assert len(await stewards[0].store.sessions(None, 10)) == 1


@pytest.mark.parametrize("apart", [False, True], ids=["one process", "two processes"])
async def test_retries_in_flight_together_become_one_event(place: Place, apart: bool) -> None:
    stewards = [await place.steward(), await place.steward()] if apart else [await place.steward()] * 2
    session_id = await declared(stewards[0])
    outcomes = await asyncio.gather(
        *(
            steward.submit(session_id, eliminate("h0000"), ALICE, key="k")
            for _ in range(8)
            for steward in stewards
        )
    )
    assert [seen(outcome) for outcome in outcomes] == [seen(outcomes[0])] * 16
    assert len(await ledger_of(stewards[0], session_id)) == 2


async def test_a_key_is_bound_to_what_was_asked_with_it(place: Place) -> None:
    steward = await place.steward()
    session_id, other = await declared(steward), await declared(steward)
    await steward.submit(session_id, eliminate("h0000"), ALICE, key="k")
    for elsewhere, command in (
        (session_id, eliminate("h0001")),
        (session_id, eliminate("h0000", source="oracle://y")),
        (session_id, RequestTermination()),
        (other, eliminate("h0000")),
    ):
        with pytest.raises(BeliefdError) as raised:
            await steward.submit(elsewhere, command, ALICE, key="k")
        assert raised.value.code is Code.CONFLICT
    with pytest.raises(BeliefdError, match="used for another request"):
        await steward.declare(declaration(), ALICE, key="k")
    assert len(await ledger_of(steward, session_id)) == 2
    assert len(await ledger_of(steward, other)) == 1
    assert len(await steward.store.sessions(None, 10)) == 2


async def test_each_principal_has_his_own_keys(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    first = await steward.submit(session_id, eliminate("h0000"), ALICE, key="k")
    second = await steward.submit(session_id, eliminate("h0001"), BOB, key="k")
    assert first.head.seq + 1 == second.head.seq


async def test_a_retry_is_recognised_before_its_if_match_is_compared(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    head = (await steward.positions.existing(session_id)).head.event_id
    first = await steward.submit(session_id, eliminate("h0000"), ALICE, key="k", if_match=head)
    assert seen(await steward.submit(session_id, eliminate("h0000"), ALICE, key="k", if_match=head)) == seen(
        first
    )


async def test_a_request_that_was_turned_away_has_not_used_its_key(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    with pytest.raises(BeliefdError):
        await steward.submit(session_id, eliminate("h0000"), ALICE, key="k", if_match="not the head")
    outcome = await steward.submit(session_id, eliminate("h0001"), ALICE, key="k")
    assert outcome.head.seq == 2


async def test_an_old_key_costs_the_events_since_a_snapshot_not_the_whole_ledger(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    answers = {}
    for turn in range(5):
        answers[turn] = await steward.submit(session_id, eliminate(f"h000{turn}"), ALICE, key=f"k{turn}")
        for _ in range(4):  # snapshots are taken once a turn, so several turns make several
            await asyncio.gather(
                *(steward.submit(session_id, eliminate("h0000"), ALICE) for _ in range(STATE_HASH_EVERY // 2))
            )
    counting = Counting(steward.store)
    again = bootstrap(counting).steward  # type: ignore[arg-type]
    await again.submit(session_id, eliminate("h0000"), ALICE)
    for turn, answer in answers.items():
        counting.read = 0
        retried = await again.submit(session_id, eliminate(f"h000{turn}"), ALICE, key=f"k{turn}")
        assert seen(retried) == seen(answer)
        # Each of four reads (the first entry, that of the saved state, those since, the answer) goes on to
        # the next mark.
        assert counting.read <= STATE_HASH_EVERY + 4 * STEP + 8


class _LosesAcknowledgements:
    """A store that writes, and whose word of it does not arrive."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.losing = False

    async def append(self, batch: Append) -> None:
        await self._store.append(batch)
        if self.losing:
            raise StorageUnavailable("it is not known whether it was written")

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


async def test_an_answer_lost_on_its_way_is_found_again_by_the_retry(place: Place) -> None:
    store = _LosesAcknowledgements(await place.store())
    steward = bootstrap(store).steward  # type: ignore[arg-type]
    session_id = await declared(steward)
    store.losing = True
    with pytest.raises(BeliefdError) as raised:
        await steward.submit(session_id, eliminate("h0000"), ALICE, key="k")
    assert raised.value.code is Code.STORAGE_UNAVAILABLE
    store.losing = False
    outcomes = await asyncio.gather(
        steward.submit(session_id, eliminate("h0000"), ALICE, key="k"),
        *(steward.submit(session_id, eliminate(name), ALICE) for name in names(4)),
    )
    assert outcomes[0].head.seq == 2
    assert outcomes[0].event.eliminated == ("h0000",)
    assert len(await ledger_of(steward, session_id)) == 6
    await steward.store.close()
