"""Runs that end badly: a worker or the server is killed. What is left is a record, and no evidence."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.testing.world import ONTOLOGY
from tests.support.server import server_process

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 60
LONG: dict[str, Any] = {
    "claim_id": "c",
    "template": "model_simulation",
    "params": {
        "model": {"language": "expression", "expression": "x"},
        "inputs": [{"name": "x", "distribution": {"is": "normal", "mean": 0.0, "std": 1.0}}],
        "region": {"region": "ordering", "side": "above", "than": 0.0},
    },
    "criterion": {"region": "probability", "at_least": 0.5},
    "budget": {"seconds": 30, "replicates": 10_000_000},
}
SHORT: dict[str, Any] = {
    "claim_id": "c",
    "template": "threshold_check",
    "params": {"values": [2.0, 2.1, 1.9, 2.05, 1.95, 2.0], "threshold": 1.0, "direction": "above"},
}


def children() -> dict[int, list[int]]:
    """Processes by their parents, as the system tells it."""
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    found: dict[int, list[int]] = {}
    for line in told.stdout.splitlines():
        pid, parent = line.split()
        found.setdefault(int(parent), []).append(int(pid))
    return found


def workers(server: int) -> list[int]:
    """What the fork server of a server has forked."""
    below = children()
    return [worker for child in below.get(server, []) for worker in below.get(child, [])]


def ended(client: Any, session_id: str, experiment_id: str) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        view = client.show_experiment(session_id, experiment_id)
        if view.run.status != "running":
            return view
        time.sleep(0.05)
    raise AssertionError("the run did not end")


def gone(pids: list[int]) -> bool:
    """Workers end with their server, however that ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if not {pid for each in children().values() for pid in each} & set(pids):
            return True
        time.sleep(0.05)
    return False


def under_way(client: Any, session_id: str, experiment_id: str) -> None:
    """Blocks are being drawn: there are workers to kill."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        progress = client.show_experiment(session_id, experiment_id).progress
        if progress is not None and progress.replicates > 0:
            return
        time.sleep(0.02)
    raise AssertionError("the run did not begin")


def test_a_worker_that_dies_fails_its_run_and_nothing_else(tmp_path: Path) -> None:
    with server_process(tmp_path) as server, server.client() as client:
        session_id = client.declare_session(["a", "b"], ONTOLOGY).session_id
        planned = client.design_experiment(session_id, spec=LONG)
        client.run_experiment(session_id, planned.experiment_id, wait=False)
        under_way(client, session_id, planned.experiment_id)
        for pid in workers(server.pid):
            os.kill(pid, signal.SIGKILL)
        failed = ended(client, session_id, planned.experiment_id)
        assert failed.run.status == "failed"
        assert client.list_evidence(session_id).evidence == []
        with pytest.raises(BeliefdError) as refused:
            client.link_evidence(session_id, claim_id="c", run_id=failed.run_id, role="support")
        assert refused.value.code == "CONFLICT"
        other = client.design_experiment(session_id, spec=SHORT)
        again = client.run_experiment(session_id, other.experiment_id).run
        assert again is not None
        assert again.status == "completed"
        assert client.verify(session_id).ok


def test_a_server_killed_half_way_leaves_a_run_without_an_end_and_no_evidence(tmp_path: Path) -> None:
    with server_process(tmp_path) as server, server.client() as client:
        session_id = client.declare_session(["a", "b"], ONTOLOGY).session_id
        planned = client.design_experiment(session_id, spec=LONG)
        client.run_experiment(session_id, planned.experiment_id, wait=False)
        under_way(client, session_id, planned.experiment_id)
        orphans = workers(server.pid)
        assert orphans
        server.kill()
        assert gone(orphans)
    with server_process(tmp_path) as server, server.client() as client:
        view = client.show_experiment(session_id, planned.experiment_id)
        assert view.run is not None
        assert (view.run.status, view.progress) == ("running", None)
        assert client.list_evidence(session_id).evidence == []
        with pytest.raises(BeliefdError):
            client.link_evidence(session_id, claim_id="c", run_id=view.run_id or "", role="support")
        assert client.verify(session_id).ok
