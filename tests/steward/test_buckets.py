"""Buckets of several processes on one store: what all of them let pass is what one would."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.policy import Policy
from beliefd.steward.buckets import LIGHT, Buckets
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.facts.submissions import Submissions
from beliefd.steward.write.room import Written
from beliefd.stores.base import StorageUnavailable, Taken
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.stores.sqlite.file import beside
from beliefd.stores.sqlite.limits import SUFFIX, SharedBuckets
from beliefd.testing.world import policy

Open = Callable[[], Awaitable[PostgresStore | SqliteStore]]

RATE, FULL = 10.0, 20.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Shared:
    """What the database does, by the same clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, float]] = {}
        self.asked = 0
        self.down = False

    async def spend(self, taken: Sequence[Taken]) -> dict[str, float]:
        if self.down:
            raise StorageUnavailable("gone")
        self.asked += 1
        for one in taken:
            level, at = self._kept.get(one.name, (one.full, self._clock.now))
            filled = min(one.full, level + (self._clock.now - at) * one.rate)
            self._kept[one.name] = (filled - one.count, self._clock.now)
        return {one.name: self._kept[one.name][0] for one in taken}


def passed(buckets: Buckets, tries: int) -> int:
    return sum(buckets.take("a", RATE, FULL) >= 1 for _ in range(tries))


def test_over_time_three_processes_let_as_much_pass_as_one() -> None:
    clock = Clock()
    shared = Shared(clock)
    three = [Buckets(shared, clock) for _ in range(3)]
    through = 0
    for _ in range(1000):  # ten tries a step and process, where one is allowed to all of them
        through += sum(passed(one, 10) for one in three)
        for one in three:
            asyncio.run(one.settle())
        clock.now += 0.1
    allowed = FULL + RATE * clock.now
    assert abs(through - allowed) <= 3 * FULL


def test_what_several_processes_wrote_counts_together() -> None:
    clock = Clock()
    shared = Shared(clock)
    here, there = (Written(Buckets(shared, clock)) for _ in range(2))
    given = policy(limits={"ledger_bytes_per_hour": 1_000})
    for one in (here, there):
        one.add(LOCAL_AGENT.id, 600, given)
        assert one.problem(LOCAL_AGENT, given) is None
    for one in (here, there, here):
        asyncio.run(one._buckets.settle())
        one.add(LOCAL_AGENT.id, 1, given)
    error = here.problem(LOCAL_AGENT, given)
    assert error is not None
    assert (error.details or {})["reason"] == "ledger_bytes_per_hour"
    clock.now += 3600
    assert here.problem(LOCAL_AGENT, given) is None


def test_who_goes_slowly_costs_the_store_nothing() -> None:
    clock = Clock()
    shared = Shared(clock)
    buckets = Buckets(shared, clock)
    for _ in range(100):
        assert passed(buckets, 1) == 1
        asyncio.run(buckets.settle())
        clock.now += 0.5
    assert shared.asked == 0
    assert passed(buckets, int(FULL * (1 - LIGHT)) + 2)
    asyncio.run(buckets.settle())
    assert shared.asked == 1


def test_without_its_store_a_process_counts_for_itself_and_tells_what_it_counted_later() -> None:
    clock = Clock()
    shared = Shared(clock)
    here, there = Buckets(shared, clock), Buckets(shared, clock)
    shared.down = True
    assert passed(here, 100) == FULL
    with pytest.raises(StorageUnavailable):
        asyncio.run(here.settle())
    shared.down = False
    asyncio.run(here.settle())
    passed(there, 3)
    asyncio.run(there.settle())
    assert passed(there, 100) == 0, "what the other took is not known here"


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "sqlite":
        return lambda: SqliteStore.open(tmp_path / "ledger.db")
    url: str = request.getfixturevalue("postgres_url")
    return lambda: PostgresStore.open(url)


def test_the_database_keeps_buckets_as_it_is_told(opened: Open) -> None:
    async def story() -> None:
        here, there = await opened(), await opened()
        try:
            taken = [Taken("b", 3, 0.0, 10.0), Taken("a", 12, 0.0, 10.0)]
            assert await here.spend(taken) == {"a": -2.0, "b": 7.0}
            assert await there.spend(taken[:1]) == {"b": 4.0}
            filled = await there.spend([Taken("a", 1, 1e9, 10.0)])
            assert filled == {"a": 9.0}, "no more than fits"
            many = [Taken(f"p{number}", 1, 1.0, 10.0) for number in range(200)]
            await asyncio.gather(*(one.spend(many) for one in (here, there) for _ in range(10)))
        finally:
            await here.close()
            await there.close()

    asyncio.run(story())


def test_a_file_keeps_buckets_beside_the_ledgers_for_its_owner_and_only_if_somebody_goes_fast(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        store = await SqliteStore.open(path)
        try:
            assert beside(path, SUFFIX).exists() is False
            before = beside(path, "-wal").stat()
            await store.spend([Taken("a", 3, 0.0, 10.0)])
            assert beside(path, SUFFIX).stat().st_mode & 0o077 == 0
            after = beside(path, "-wal").stat()
            assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        finally:
            await store.close()
        beside(path, SUFFIX).write_bytes(b"no database" * 1000)
        store = await SqliteStore.open(path)
        try:
            with pytest.raises(StorageUnavailable, match=r"ledger\.db-limits"):
                await store.spend([Taken("a", 3, 0.0, 10.0)])
        finally:
            await store.close()

    asyncio.run(story())


def test_a_bucket_in_a_file_fills_with_time_and_a_clock_that_is_put_back_takes_nothing(
    tmp_path: Path,
) -> None:
    clock = Clock()
    here, there = (SharedBuckets(tmp_path / "ledger.db", clock) for _ in range(2))
    assert here.spend([Taken("a", 10, 1.0, 10.0)]) == {"a": 0.0}
    clock.now += 4
    assert there.spend([Taken("a", 1, 1.0, 10.0)]) == {"a": 3.0}
    clock.now -= 1000
    assert here.spend([Taken("a", 1, 1.0, 10.0)]) == {"a": 2.0}
    clock.now += 5
    assert here.spend([Taken("a", 1, 1.0, 10.0)]) == {"a": 6.0}
    here.close()
    there.close()


def test_bundles_are_counted_over_all_processes_on_one_store() -> None:
    clock = Clock()
    shared = Shared(clock)
    policy = Policy()
    limit = policy.security.rate_limit
    command = SubmitClaims(bundle=None)  # type: ignore[arg-type]  # nobody looks into it
    here, there = (Submissions(Buckets(shared, clock)) for _ in range(2))
    assert [here.count(command, LOCAL_AGENT, policy) for _ in range(limit)] == list(range(limit))
    asyncio.run(here._buckets.settle())
    there.count(command, LOCAL_AGENT, policy)
    while there.count(command, LOCAL_AGENT, policy) < limit * (1 - LIGHT) + 1:
        pass  # until it is worth telling
    asyncio.run(there._buckets.settle())
    assert there.count(command, LOCAL_AGENT, policy) >= limit


def test_one_request_looks_at_the_clock_once() -> None:
    """And none at all asks whether something is left, as long as something was there before."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return 0.0

    buckets = Buckets(clock=clock)
    assert not buckets.has_some("a")
    assert buckets.take("a", RATE, 2) == 2
    assert buckets.has_some("a")
    assert looks == 1
    assert buckets.take("a", RATE, 2) == 1
    assert not buckets.has_some("a")
    assert buckets.left("a", RATE, 2) == 0
