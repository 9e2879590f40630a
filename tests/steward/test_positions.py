"""Snapshots and caches only save time: whatever is in them, a session stands where its ledger says."""

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from beliefd.kernel.beliefs.commands import DeclareConclusion
from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.replay import Folding, Position, Walk, fold
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.protocol.beliefs import SURVIVORS_PAGE, BeliefSnapshot
from beliefd.protocol.rights import EVERYTHING
from beliefd.protocol.snapshots import snapshot_of
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Call
from beliefd.steward.handlers.beliefs import BeliefHandlers
from beliefd.steward.handlers.concluded import Conclusions
from beliefd.steward.spaces import Spaces
from beliefd.steward.write import positions as positions_module
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.steward import Steward
from beliefd.steward.write.system import system_state
from beliefd.stores.base import SavedState, Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import open_store
from tests.steward.places import ALICE, Place, declaration, declared, eliminate, names, obligation, seen

pytestmark = pytest.mark.anyio

LENGTH = STATE_HASH_EVERY + 10


async def history(steward: Steward, length: int = LENGTH) -> str:
    """A session with obligations, refusals and more events than a snapshot waits for."""
    session_id = await declared(steward, 40)
    commands: list[Command] = [obligation("first", 3), obligation("second", 30), eliminate("unheard of")]
    commands += [eliminate(name) for name in names(30)]
    commands += [eliminate(names(40)[n % 40]) for n in range(length - 1 - len(commands))]
    for command in commands[:-1]:
        steward.submit(session_id, command, ALICE)
    await steward.submit(session_id, commands[-1], ALICE)
    return session_id


async def folded(store: Store, session_id: str) -> Position:
    position = fold(await store.entries(session_id))
    assert position is not None
    return position


class Watched:
    """A store that hands out another snapshot than its own and notes from where ledgers are folded, and from
    where they are only followed."""

    def __init__(self, store: Store, snapshot: SavedState | None) -> None:
        self._store = store
        self._snapshot = snapshot
        self.read_after: list[int] = []
        self.followed_after: list[int] = []

    async def saved_state(self, session_id: str, upto: int | None = None) -> SavedState | None:
        return self._snapshot

    async def entries(
        self, session_id: str, after: int = 0, limit: int | None = None, max_bytes: int | None = None
    ) -> list[Sealed]:
        if limit is None:
            self.read_after.append(after)
        return await self._store.entries(session_id, after, limit, max_bytes)

    async def replay(
        self, session_id: str, after: int, upto: int, take: Callable[[list[bytes]], None]
    ) -> None:
        if isinstance(taker := getattr(take, "__self__", None), Folding):
            self.read_after.append(after)
        elif isinstance(taker, Walk):
            self.followed_after.append(after)
        await self._store.replay(session_id, after, upto, take)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def load(store: Store, session_id: str, snapshot: SavedState | None) -> tuple[Position, list[int]]:
    """Load with `snapshot` in the store: the position, and after which events the ledger was folded."""
    watched = Watched(store, snapshot)
    position = await Positions(watched).existing(session_id)
    if snapshot is not None:
        assert watched.followed_after in ([0], []), "the chain is followed once, from its beginning"
    return position, watched.read_after


async def test_a_good_snapshot_saves_folding_what_it_covers(place: Place) -> None:
    steward = await place.steward()
    session_id = await history(steward)
    snapshot = await steward.store.saved_state(session_id)
    assert snapshot is not None
    assert snapshot.seq == STATE_HASH_EVERY
    position, read_after = await load(steward.store, session_id, snapshot)
    assert read_after == [STATE_HASH_EVERY]
    assert seen(position) == seen(await folded(steward.store, session_id))
    position, read_after = await load(steward.store, session_id, None)
    assert read_after == [0]
    assert seen(position) == seen(await folded(steward.store, session_id))


Forge = Callable[[dict[str, Any], Survivors], object]


def _exit_obligation(document: dict[str, Any], _: Survivors) -> None:
    document["obligations"][1][1]["active"] = False


def _lower_obligation(document: dict[str, Any], _: Survivors) -> None:
    document["obligations"][1][1]["min_total_eliminations"] = 0


def _drop_obligations(document: dict[str, Any], _: Survivors) -> None:
    del document["obligations"]


def _reorder_obligations(document: dict[str, Any], _: Survivors) -> None:
    document["obligations"].reverse()


FORGERIES: dict[str, Forge] = {
    "an obligation left": _exit_obligation,
    "an obligation lowered": _lower_obligation,
    "obligations dropped": _drop_obligations,
    "obligations reordered": _reorder_obligations,
    "terminated": lambda document, _: document.update(terminated=True),
    "eliminations counted twice": lambda document, _: document.update(eliminations=60),
    "a conclusion invented": lambda document, _: document.update(conclusions={"solved": 9}),
    "another session": lambda document, _: document.update(session_id="another"),
    "an unknown field": lambda document, _: document.update(trusted=True),
    "another hash of survivors": lambda document, _: document.update(survivors_hash="0" * 64),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_forged_snapshot_is_not_believed(forge: Forge) -> None:
    steward, session_id, packed = await _packed()
    survivors = (await folded(steward.store, session_id)).session.beliefs.survivors
    forge(packed["document"], survivors)
    await _ignored(steward, session_id, SavedState(STATE_HASH_EVERY, msgspec.msgpack.encode(packed)))


@pytest.mark.parametrize("consistent", [False, True], ids=["bitmap alone", "bitmap and its hash"])
async def test_a_snapshot_that_resurrects_a_hypothesis_is_not_believed(consistent: bool) -> None:
    steward, session_id, packed = await _packed()
    universe = (await folded(steward.store, session_id)).session.beliefs.survivors.universe
    everything = Survivors(universe)
    packed["bitmap"] = everything.to_bytes()
    if consistent:
        packed["document"]["survivors_hash"] = everything.digest
    await _ignored(steward, session_id, SavedState(STATE_HASH_EVERY, msgspec.msgpack.encode(packed)))


async def test_a_damaged_snapshot_is_ignored() -> None:
    steward, session_id, packed = await _packed()
    good = msgspec.msgpack.encode(packed)
    for state in (
        b"",
        b"\x00",
        b"not msgpack at all",
        good[:-1],
        good[1:],
        good + b"\x00",
        good.replace(b"first", b"worst"),
        msgspec.msgpack.encode([1, 2, 3]),
        msgspec.msgpack.encode({"document": packed["document"]}),
        msgspec.msgpack.encode({**packed, "bitmap": b""}),
        msgspec.msgpack.encode({**packed, "bitmap": packed["bitmap"] + b"\x00"}),
        msgspec.msgpack.encode({**packed, "bitmap": "text"}),
        msgspec.msgpack.encode({**packed, "document": None}),
        msgspec.msgpack.encode({**packed, "document": {**packed["document"], "obligations": 7}}),
    ):
        await _ignored(steward, session_id, SavedState(STATE_HASH_EVERY, state))


async def test_a_snapshot_counts_only_at_the_event_that_vouches_for_it() -> None:
    steward, session_id, packed = await _packed()
    state = msgspec.msgpack.encode(packed)
    for seq in (
        -STATE_HASH_EVERY,
        -1,
        0,
        1,
        STATE_HASH_EVERY - 1,
        STATE_HASH_EVERY + 1,
        LENGTH,
        LENGTH + 1,
        2**60,
    ):
        await _ignored(steward, session_id, SavedState(seq, state))
    other = await history(steward)
    await _ignored(steward, other, SavedState(STATE_HASH_EVERY, state))


async def _packed() -> tuple[Steward, str, dict[str, Any]]:
    steward = bootstrap(MemoryStore()).steward
    session_id = await history(steward)
    snapshot = await steward.store.saved_state(session_id)
    assert snapshot is not None
    packed: dict[str, Any] = msgspec.msgpack.decode(snapshot.state)
    return steward, session_id, packed


async def _ignored(steward: Steward, session_id: str, snapshot: SavedState) -> None:
    position, read_after = await load(steward.store, session_id, snapshot)
    assert read_after == [0], "it was believed"
    assert seen(position) == seen(await folded(steward.store, session_id))


# -- snapshots in databases ------------------------------------------------------------------------------


async def test_snapshots_may_be_deleted_from_postgres_at_any_time(postgres_url: str) -> None:
    steward = bootstrap(await open_store(postgres_url)).steward
    session_id = await history(steward)
    connection = await asyncpg.connect(postgres_url)
    assert await connection.execute("DELETE FROM snapshots") == "DELETE 1"
    await connection.close()
    await _goes_on(steward, postgres_url, session_id)


async def test_snapshots_may_be_deleted_from_sqlite_at_any_time(tmp_path: Path) -> None:
    steward = bootstrap(await open_store(tmp_path / "ledger.db")).steward
    session_id = await history(steward)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        assert connection.execute("DELETE FROM snapshots").rowcount == 1
    connection.close()
    await _goes_on(steward, tmp_path / "ledger.db", session_id)


async def _goes_on(steward: Steward, target: str | Path, session_id: str) -> None:
    expected = seen(await folded(steward.store, session_id))
    await steward.store.close()
    again = bootstrap(await open_store(target)).steward
    assert seen(await again.positions.existing(session_id)) == expected
    assert (await again.submit(session_id, eliminate("h0039"), ALICE)).head.seq == LENGTH + 1
    await again.store.close()


# -- the cache -------------------------------------------------------------------------------------------


async def test_the_cache_forgets_sessions_unused_for_longest_and_nothing_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions_module, "MAX_SESSIONS", 3)
    steward = await place.steward()
    sessions = [await declared(steward) for _ in range(5)]
    await steward.submit(sessions[2], eliminate("h0000"), ALICE)
    await declared(steward)
    cached = [session_id for session_id in sessions if steward.positions.cached(session_id)]
    assert cached == [sessions[2], sessions[4]]
    assert len(steward.positions) == 3
    for number, session_id in enumerate(sessions):
        outcome = await steward.submit(session_id, eliminate("h0001"), ALICE)
        assert outcome.head.seq == (3 if number == 2 else 2)
        assert seen(await steward.positions.existing(session_id)) == seen(
            await folded(steward.store, session_id)
        )


async def test_the_cache_is_bounded_by_hypotheses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_HYPOTHESES", 100)
    steward = bootstrap(MemoryStore()).steward
    for count in (40, 40, 20):
        await declared(steward, count)
    assert len(steward.positions) == 3
    await declared(steward, 41)
    assert len(steward.positions) == 2
    await declared(steward, 500)
    assert len(steward.positions) == 1, "the session at work stays, whatever its size"
    for _ in range(4):
        await declared(steward, 25)
    assert len(steward.positions) == 4


async def test_a_slow_reader_does_not_take_the_cache_back(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward)
    old = await steward.positions.existing(session_id)
    new = await steward.submit(session_id, eliminate("h0000"), ALICE)
    steward.positions.keep(old)
    cached = steward.positions.cached(session_id)
    assert cached is not None
    assert cached.head == new.head


# -- time travel -----------------------------------------------------------------------------------------


async def query_belief(steward: Steward, session_id: str, at: int | None = None) -> BeliefSnapshot:
    query = {
        "at": at,
        "survivors_limit": SURVIVORS_PAGE,
        "survivors_after": None,
        "obligations_before": None,
        "conclusions_after": None,
    }
    spaces = Spaces(steward.store, partial(system_state, steward.positions))
    concluded = Conclusions(steward.positions.chains)
    handlers = BeliefHandlers(steward.store, steward.positions, steward.declare, spaces, concluded)
    return await handlers.query_belief(
        Call(principal=ALICE, rights=EVERYTHING, path={"session_id": session_id}, query=query)
    )


async def test_at_shows_the_session_as_it_stood_after_that_event(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward, 10)
    then = [await query_belief(steward, session_id)]
    for command in (obligation("o", 2), eliminate("h0001", "h0002"), eliminate("nope"), eliminate("h0003")):
        outcome = await steward.submit(session_id, command, ALICE)
        snapshot = snapshot_of(outcome.session, outcome.head)
        then.append(msgspec.structs.replace(snapshot, space=DEFAULT_SPACE))
    assert [await query_belief(steward, session_id, at=seq) for seq in range(1, 6)] == then
    again = bootstrap(await place.store()).steward
    assert [await query_belief(again, session_id, at=seq) for seq in range(1, 6)] == then
    await again.store.close()


async def test_what_conclusions_rest_on_is_read_on_and_not_again(place: Place) -> None:
    steward = await place.steward()
    session_id = await declared(steward, 10)
    concluded = Conclusions(chains := steward.positions.chains)
    read: list[int] = []
    stream = chains.stream

    def counted(session_id: str, after: int = 0, upto: int | None = None) -> Any:
        read.append(after)
        return stream(session_id, after, upto)

    chains.stream = counted  # type: ignore[method-assign]
    for step in range(3):
        await steward.submit(session_id, eliminate(f"h000{step}"), ALICE)
        await steward.submit(session_id, DeclareConclusion(conclusion_id=f"c{step}"), ALICE)
        position = await steward.positions.existing(session_id)
        names = position.session.beliefs.conclusions
        resting = await concluded.resting(position, names)
        assert {name: one.attested for name, one in resting.items()} == {
            f"c{at}": at + 1 for at in range(step + 1)
        }
    assert read == [0, 3, 5]
    chains.stream = stream  # type: ignore[method-assign]


async def test_at_before_the_beginning_or_past_the_head_is_refused(place: Place) -> None:
    steward = await place.steward()
    session_id = (await steward.declare(declaration(), ALICE)).session.session_id
    for at in (0, -1, 2, 10**9):
        with pytest.raises(BeliefdError) as raised:
            await query_belief(steward, session_id, at=at)
        assert raised.value.code is Code.INVALID_REQUEST
