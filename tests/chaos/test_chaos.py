"""Servers are killed, paused and run out of disk, the database is killed, clocks jump, requests come twice
and late: one ledger per session explains every answer, and everything acknowledged is there.
"""

import asyncio
from pathlib import Path

import pytest

from tests.chaos.storm import Settings, Storm
from tests.chaos.wire import Wire
from tests.faults.place import Place
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.slow


def test_on_sqlite_every_answer_is_explained_by_one_ledger(tmp_path: Path) -> None:
    storm = Storm(Place(tmp_path / "data"), Settings())
    with storm.running():
        faults = [storm.kill, storm.jump, storm.pause, storm.fill_disk, storm.kill, storm.jump]
        asyncio.run(storm.rage(faults))
        assert asyncio.run(storm.explain()) == []
    _check(storm)


def test_on_postgresql_two_servers_tell_one_story(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    storm = Storm(Place(tmp_path / "data", postgres_url), Settings(servers=2, sessions=2), postgres_server)
    with storm.running():
        faults = [storm.kill, storm.pause, storm.kill_database, storm.jump, storm.pause]
        asyncio.run(storm.rage(faults))
        assert asyncio.run(storm.explain()) == []
    _check(storm)


def test_on_postgresql_a_server_that_the_network_cuts_off_tells_what_the_other_tells(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    storm = Storm(Place(tmp_path / "data", postgres_url), Settings(servers=2, sessions=2, seed=3))
    with Wire(postgres_server.port) as one, Wire(postgres_server.port) as other:
        storm.wires = [one, other]
        with storm.running():
            faults = [one.cut, other.delay, one.black_hole, other.close_answers, other.cut, one.close_answers]
            asyncio.run(storm.rage(faults))
            assert asyncio.run(storm.explain()) == []
    _check(storm)
    assert "unknown" in {one.outcome for one in storm.tries}


def test_a_store_that_is_moved_to_another_technology_keeps_its_one_story(
    tmp_path: Path, postgres_url: str
) -> None:
    storm = Storm(Place(tmp_path / "data"), Settings(sessions=2, seed=5))
    storm.target = postgres_url
    with storm.running():
        asyncio.run(storm.rage([storm.renew, storm.kill, storm.move, storm.renew, storm.kill]))
        assert storm.place.store == postgres_url
        assert asyncio.run(storm.explain()) == []
    _check(storm)


def test_processes_that_are_renewed_one_by_one_tell_one_story_and_refuse_nothing(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    settings = Settings(processes=2, sessions=4, seed=11)
    storm = Storm(Place(tmp_path / "data", postgres_url), settings, postgres_server)
    with storm.running():
        asyncio.run(storm.rage([storm.renew, storm.renew]))
        assert {one.outcome for one in storm.tries if not one.after} == {"ok"}
        assert asyncio.run(storm.explain()) == []
    _check(storm)


def _check(storm: Storm) -> None:
    """Nothing half written either; and it was a storm, not a breeze."""
    storm.place.check_whole()
    outcomes = {one.outcome for one in storm.tries}
    assert "ok" in outcomes
    assert storm.reads
    assert storm.seen
    names = [one.name for one in storm.tries]
    assert len(names) > len(set(names)), "nothing was sent twice"
