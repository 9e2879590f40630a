"""Create a session, eliminate twice, read snapshot and audit log, and get the survivors back from the log.

The log is replayed two ways that share no code: by folding its deltas in plain Python here, and by beliefd's
own verification, which recomputes every hash and decides every recorded command again.

    python examples/replay_demo.py                             starts a server of its own
    python examples/replay_demo.py --url http://127.0.0.1:8642 --token ...
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from beliefd import Client
from beliefd.ledger.transfer import read_export
from beliefd.ledger.verify import verify

HYPOTHESES = ["bad_deploy", "cpu_throttle", "disk_full", "network_partition", "replication_lag"]
ONTOLOGY = {
    "hypothesis_space_id": "replay-demo",
    "hypothesis_version": "1",
    "causal_graph_ref": "graphstore://postgres-repl",
    "causal_graph_version": "v17",
}


def fold(events: list[dict[str, Any]]) -> list[str]:
    """The survivors according to the log alone."""
    survivors: set[str] = set()
    for event in events:
        if event["verb"] == "DECLARE_SESSION":
            survivors = set(event["payload"]["hypotheses"])
        survivors -= set(event["delta"]["eliminated"])
    return sorted(survivors)


def run(client: Client) -> bool:
    session = client.declare_session(HYPOTHESES, ONTOLOGY).session_id
    client.eliminate(
        session,
        source_id="tool://node-exporter",
        observation_id="metrics-14:02",
        eliminated=["cpu_throttle", "disk_full"],
        justification={"because": "disk and CPU are flat"},
    )
    client.eliminate(
        session,
        source_id="tool://blackbox-exporter",
        observation_id="ping-14:03",
        eliminated=["network_partition", "cpu_throttle"],
        justification={"because": "no packet is lost"},
    )
    snapshot = client.query_belief(session)
    print(f"snapshot:        {snapshot.survivors}")

    events = client.audit_trace(session).events
    folded = fold(events)
    print(f"folded by hand:  {folded}  ({len(events)} events)")

    exported = read_export(client.export(session).splitlines())
    header = exported.header
    result, position = verify(exported.entries, header.session_id, header.policies, header.head)
    replayed = [] if position is None else list(position.session.beliefs.survivors)
    print(f"decided again:   {replayed}  (chain verified: {result.ok})")

    same_hash = position is not None and position.session.beliefs.survivors.digest == snapshot.survivors_hash
    return result.ok and same_hash and snapshot.survivors == folded == replayed


@contextmanager
def own_server() -> Iterator[str]:
    """`beliefd serve` on a free port and a new directory, both gone afterwards."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "beliefd", "serve", "--port", "0", "--data", data]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                line = server.stdout.readline()
                if not line:
                    raise SystemExit("the server did not start")
                yield line.split()[-1]
            finally:
                server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description="the audit log is enough to get the belief back")
    parser.add_argument("--url", help="a running server; without it one is started")
    parser.add_argument("--token", default=os.environ.get("BELIEFD_TOKEN"))
    given = parser.parse_args()
    if given.url:
        with Client(given.url, given.token) as client:
            same = run(client)
    else:
        with own_server() as url, Client(url) as client:
            same = run(client)
    print("replay reproduces the snapshot" if same else "REPLAY DOES NOT REPRODUCE THE SNAPSHOT")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
