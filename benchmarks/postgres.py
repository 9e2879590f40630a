"""Durable appends on one PostgreSQL: beside a peer, and by two processes beside one."""

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Final

from tests.support.postgres import PostgresServer

import beliefd
from beliefd.stores.postgres.store import CONNECTIONS
from benchmarks import peer
from benchmarks.append import appended, declared, peers_appended
from benchmarks.figures import FASTER, Figure, Run, Target, alternate
from benchmarks.workload import CALLERS

SERVERS: Final = 2


def postgres(run: Run) -> list[Figure]:
    with PostgresServer() as server:
        return [_beside_a_peer(run, server), _by_two(run, server)]


def _beside_a_peer(run: Run, server: PostgresServer) -> Figure:
    with asyncio.Runner() as runner:
        ledger = runner.run(beliefd.open_async(server.create_database()))
        ours = [runner.run(declared(ledger)) for _ in range(CALLERS)]
        theirs = peer.on_postgres(server.create_database(), CONNECTIONS)
        others = [theirs.declare() for _ in range(CALLERS)]
        own, other = alternate(
            run.size(9, 1),
            lambda: runner.run(appended(ledger, ours, run.size(60, 1))),
            lambda: peers_appended(theirs, others, run.size(8, 1)),
        )
        runner.run(ledger.close())
        theirs.close()
    return Figure(
        benchmark="postgres",
        what=f"durable appends, {CALLERS} callers, {CALLERS} sessions",
        unit="events/s",
        ours=own,
        peer=other,
        peer_is="eventsourcing, PostgreSQL",
        ratio=own / other,
        ratio_is=FASTER,
        target=Target(at_least=10),
    )


def _by_two(run: Run, server: PostgresServer) -> Figure:
    """Each process has sessions of its own, as behind a balancer that keeps a session on a server."""
    url, each = server.create_database(), run.size(60, 1)
    spawn = multiprocessing.get_context("spawn")
    servers = []
    for _ in range(SERVERS):
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_serve, args=(url, each, theirs), daemon=True)
        process.start()
        ours.recv()
        servers.append((process, ours))
    try:
        two, one = alternate(
            run.size(9, 1),
            lambda: _together([ours for _, ours in servers], each),
            lambda: _together([servers[0][1]], each),
        )
    finally:
        for process, ours in servers:
            ours.send(False)
            process.join(60)
    return Figure(
        benchmark="postgres",
        what=f"durable appends by {SERVERS} processes, {CALLERS} sessions each",
        unit="events/s",
        ours=two,
        peer=one,
        peer_is="one process",
        ratio=two / one,
        ratio_is=FASTER,
        target=Target(at_least=1.4),
    )


def _together(servers: list[Connection], each: int) -> float:
    started = time.perf_counter()
    for server in servers:
        server.send(True)
    for server in servers:
        server.recv()
    return len(servers) * CALLERS * each / (time.perf_counter() - started)


def _serve(url: str, each: int, told: Connection) -> None:
    """A process with a ledger of its own on the database; it appends whenever it is told to."""
    with asyncio.Runner() as runner:
        ledger = runner.run(beliefd.open_async(url))
        sessions = [runner.run(declared(ledger)) for _ in range(CALLERS)]
        told.send(None)
        while told.recv():
            runner.run(appended(ledger, sessions, each))
            told.send(None)
        runner.run(ledger.close())
