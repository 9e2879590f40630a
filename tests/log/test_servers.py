"""Several servers on one store share one log: every event has one leaf, and one key signs."""

import asyncio
import time
from itertools import pairwise
from pathlib import Path

from beliefd.ledger.checkpoints import Trust, trusted_text
from beliefd.ledger.notes import read_key
from beliefd.stores.log import Run
from beliefd.stores.postgres import PostgresStore
from beliefd.testing.world import ONTOLOGY
from tests.support.server import ServerProcess

PATIENCE_SECONDS = 120


async def runs_of(url: str) -> list[Run]:
    store = await PostgresStore.open(url)
    try:
        return await store.runs(0, 10_000)
    finally:
        await store.close()


def test_two_servers_on_one_database_give_each_event_one_leaf_and_sign_with_one_key(
    tmp_path: Path, postgres_url: str
) -> None:
    options = ("--checkpoint-every", "0.2", "--log-key", str(tmp_path / "shared.key"))
    servers = [ServerProcess(tmp_path / name, store=postgres_url, options=options) for name in ("one", "two")]
    try:
        clients = [server.client() for server in servers]
        sessions = [client.declare_session(["a", "b"], ONTOLOGY).session_id for client in clients]
        events = len(sessions)
        for number in range(10):
            for client in clients:
                for session in sessions:
                    client.eliminate(
                        session, source_id="s", observation_id=f"{number}", eliminated=["a"], justification={}
                    )
                    events += 1
        until = time.monotonic() + PATIENCE_SECONDS
        while (told := clients[0].log_state()).covered < events and time.monotonic() < until:
            time.sleep(0.05)
        assert told.covered >= events
        (key,) = told.keys
        for client in clients:
            checkpoint = trusted_text(client.log_checkpoint().note, Trust((read_key(key),)))
            assert client.audit_proof(sessions[0], size=checkpoint.size).root == checkpoint.root.hex()
    finally:
        for server in servers:
            server.stop()
            server.forget()
    runs = asyncio.run(runs_of(postgres_url))
    assert all(one.first_leaf + one.length == following.first_leaf for one, following in pairwise(runs))
    for session in sessions:  # each in its order, none twice, none left out
        seqs = [
            seq for run in runs if run.session_id == session for seq in range(run.first_seq, run.last_seq + 1)
        ]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) == 21
