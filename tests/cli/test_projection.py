"""A row of the inbox that was lost: noticed, mended, and the approval can be decided after all."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.runner import answer, beliefd
from tests.cli.test_claims import bundle
from tests.support.server import server_process


@pytest.mark.slow
def test_a_lost_approval_is_found_and_can_be_decided_again(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(bundle("DELETE")))
    with server_process(data) as server:

        def token(name: str, *role: str) -> tuple[str, ...]:
            made = beliefd("token", "create", "--data", data, "--name", name, "--role", *role)
            return ("--url", server.url, "--token", made.stdout.splitlines()[-1])

        agent, ana = token("writer", "agent", "--tier", "DELETE"), token("ana", "approver")
        session = answer("session", "declare", "a", "b", *agent)["session_id"]
        approval_id = answer("claim", "submit", session, path, *agent, code=3)["approval_id"]
        assert "the inbox is what the ledgers say" in beliefd("doctor", "--data", data).stdout
        with sqlite3.connect(data / "beliefd.db") as connection:
            connection.execute("DELETE FROM inbox WHERE approval_id = ?", (approval_id,))
        assert beliefd("inbox", "approve", approval_id, "--yes", *ana).exit_code == 2

        checked = beliefd("projection", "check", "--data", data)
        assert checked.exit_code == 5
        assert f"session {session}: `{approval_id}` of the inbox is missing" in checked.stdout
        looked = beliefd("doctor", "--data", data)
        assert looked.exit_code == 5
        assert f"session {session}, `{approval_id}` is missing" in looked.stdout
        assert f"`beliefd projection rebuild inbox --data {data}` mends it" in looked.stdout

        assert answer("projection", "rebuild", "inbox", "--data", data)["changed"] == {"inbox": 1}
        assert beliefd("projection", "check", "--data", data).exit_code == 0
        assert beliefd("doctor", "--data", data).exit_code == 0
        assert answer("inbox", "approve", approval_id, "--yes", *ana)["outcome"] == "PUBLISH"
