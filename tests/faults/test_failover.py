"""The leader of two PostgreSQL servers freezes in the middle of a commit, and the other one takes over."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec import Struct

from beliefd.kernel.errors import Code
from beliefd.protocol.beliefs import Eliminated
from beliefd.stores.postgres import database
from beliefd.testing.world import World, refused
from tests.faults.load import HYPOTHESES, Failure, Request, audit, client, declare, send, snapshot
from tests.faults.place import Place
from tests.support.postgres import USER, PostgresServer

EACH = 8
DRIVER = ("asyncpg", "connection_lost", "coroutine", "pool", "Errno", "operation")

pytestmark = pytest.mark.slow


class Two(Struct, frozen=True):
    leader: PostgresServer
    standby: PostgresServer

    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in (self.leader, self.standby))
        return f"postgresql://{USER}@{hosts}/house"


@pytest.fixture
def two() -> Iterator[Two]:
    """A leader whose commits wait for its standby."""
    with PostgresServer() as leader, PostgresServer(of=leader) as standby:
        leader.create_database("house")
        leader.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        leader.execute("SELECT pg_reload_conf()")
        yield Two(leader, standby)


async def asked(server: PostgresServer, question: str) -> int:
    """The answer, once there is one."""
    async with asyncio.timeout(60):
        while not (rows := await asyncio.to_thread(server.execute, question)):  # noqa: ASYNC110 - polled
            await asyncio.sleep(0.05)
    return int(rows[0][0])


async def until_written(http: httpx.AsyncClient, request: Request) -> int:
    """Sent again until it is known to be written; at most this once, because of its key."""
    refused: list[Failure] = []
    async with asyncio.timeout(120):
        while True:
            try:
                seq = (await send(http, request)).seq
                break
            except Failure as failure:
                refused.append(failure)
                await asyncio.sleep(0.05)
    assert {(one.status, one.code) for one in refused} <= {(503, "STORAGE_UNAVAILABLE")}
    assert [one.message for one in refused for word in DRIVER if word in one.message] == []
    return seq


def test_a_leader_that_freezes_stops_writes_until_there_is_another_and_loses_nothing(
    two: Two, tmp_path: Path
) -> None:
    async def story(url: str) -> None:
        async with client(url) as http:
            session_id = await declare(http, {})
            written = [
                (await send(http, Request(session_id, f"o{n}", (HYPOTHESES[n],), f"key-{n}"))).seq
                for n in range(EACH)
            ]
            receiver = await asked(two.standby, "SELECT pid FROM pg_stat_wal_receiver")
            os.kill(receiver, signal.SIGSTOP)
            in_flight = Request(session_id, "last", (HYPOTHESES[EACH],), "key-last")
            sending = asyncio.create_task(send(http, in_flight))
            await asked(two.leader, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            two.leader.freeze()
            with pytest.raises(Failure, match="it is not known whether it was written") as failed:
                await sending
            assert failed.value.status == 503
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/readyz")).status_code == 503
            os.kill(receiver, signal.SIGCONT)
            await asyncio.to_thread(two.standby.execute, "SELECT pg_promote()")
            seq = await until_written(http, in_flight)
            events = await audit(http, session_id)
            assert [one["seq"] for one in events] == [1, *written, seq]
            assert (await snapshot(http, session_id))["seq"] == seq
            more = await until_written(http, Request(session_id, "after", (), "key-after"))
            assert more == seq + 1

    with Place(tmp_path, two.url()).server() as server:
        asyncio.run(story(server.url))
    Place(tmp_path, two.standby.url("house")).check_whole()


def test_nobody_is_told_of_a_commit_that_no_standby_has(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called off while it waits for a standby, or recovered after a crash, it is there for all to see."""
    monkeypatch.setattr(database, "COMMAND_SECONDS", 1.0)
    with World(two.url()) as world, World(two.url()) as other:
        session = world.session()
        seen = f"SELECT max(seq) FROM audit_events WHERE session_id = '{session}'"

        def send(by: World) -> Eliminated:
            return by.agent.eliminate(
                session,
                source_id="s",
                observation_id="o",
                eliminated=["h1"],
                justification={},
                idempotency_key="key",
            )

        (receiver,) = (row[0] for row in two.standby.execute("SELECT pid FROM pg_stat_wal_receiver"))
        os.kill(receiver, signal.SIGSTOP)
        try:
            told = refused(Code.STORAGE_UNAVAILABLE, lambda: send(world))
            assert "it is not known whether it was written" in told.message
            refused(Code.STORAGE_UNAVAILABLE, lambda: send(other))
            assert two.leader.execute(seen, "house") == [(1,)]
            two.leader.kill()
            two.leader.start()
            assert two.leader.execute(seen, "house") == [(2,)]
            refused(Code.STORAGE_UNAVAILABLE, lambda: send(other))
        finally:
            os.kill(receiver, signal.SIGCONT)
        until_kept(two.standby)
        assert send(other).snapshot.seq == send(world).snapshot.seq == 2
        assert len(world.entries(session)) == 2


def until_kept(standby: PostgresServer) -> None:
    """The standby has what the leader has, and follows."""
    asyncio.run(asked(standby, "SELECT pid FROM pg_stat_wal_receiver WHERE status = 'streaming'"))
