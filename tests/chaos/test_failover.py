"""Three PostgreSQL servers under Patroni and etcd: their leader is killed, and the next one is frozen."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from tests.chaos.failover import Failovers
from tests.chaos.storm import Settings
from tests.faults.place import Place
from tests.support.patroni import Cluster, Pace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
QUICK = Pace(ttl=5, loop_wait=1, retry_timeout=2)


def test_a_leader_that_is_killed_or_frozen_is_replaced_and_one_ledger_explains_every_answer(
    tmp_path: Path,
) -> None:
    with Cluster(pace=QUICK) as cluster:
        place = Place(tmp_path / "data", cluster.create_database())
        storm = Failovers(place, Settings(servers=2, sessions=2, seed=5), cluster)
        with storm.running():
            asyncio.run(storm.rage([storm.kill_leader, storm.freeze_leader]))
            assert asyncio.run(storm.explain()) == []
        # The one that woke up follows again, and what it would have said otherwise is gone.
        cluster.wait_whole()
        place.check_whole()
        assert [change.before != change.after for change in storm.changes] == [True, True]
        for feed in storm.feeds:
            assert feed.ids
            assert all(later == earlier + 1 for earlier, later in pairwise(feed.ids))
        assert storm.asked
