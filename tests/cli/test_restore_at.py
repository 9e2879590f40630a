"""`beliefd store restore --at`: every session as it was then, and nothing taken back that must not be."""

import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import beliefd as library
from beliefd.cli.output import Exit
from beliefd.kernel.system.state import SYSTEM
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.testing.world import ONTOLOGY_JSON, policy
from tests.claims.support import bundle, claim
from tests.cli.runner import answer, beliefd


def opened(data: Path) -> Any:
    return library.open(str(data / "beliefd.db"), principal=LOCAL_OPERATOR)


def moment() -> str:
    """A time that lies between what was written before and what comes after."""
    time.sleep(0.002)
    now = datetime.now(UTC).isoformat()
    time.sleep(0.002)
    return now


def eliminate(calls: Any, session: str, number: int, **more: Any) -> Any:
    return calls.eliminate(
        session, source_id="s", observation_id=f"o{number}", eliminated=["abc"[number % 3]], **more
    )


@pytest.fixture
def old(tmp_path: Path) -> Path:
    data = tmp_path / "old"
    data.mkdir(mode=0o700)
    return data


def backed_up(old: Path) -> Path:
    file = old.parent / "copy.db"
    assert beliefd("store", "backup", file, "--data", old).exit_code == 0
    return file


def restored(file: Path, at: str, *place: str | Path) -> Any:
    result = beliefd("store", "restore", file, "--at", at, *place, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def heads(*place: str | Path) -> dict[str, int]:
    told = answer("audit", "verify", "--all", *place)
    assert told["ok"]
    return {name: one["checked"] for name, one in told["sessions"].items() if name != SYSTEM}


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_every_session_is_what_it_was_and_all_that_is_derived_agrees(
    old: Path, where: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with opened(old) as calls:
        calls.adopt_policy(policy(uncertainty={"explain_above": 0.4, "defer_above": 0.7}))
        first = calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON).session_id
        eliminate(calls, first, 0, idempotency_key="early")
        ended = calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON).session_id
        before = {name: calls.export(name) for name in (first, ended)}
        at = moment()
        eliminate(calls, first, 1, idempotency_key="late")
        calls.submit_claims(first, bundle(claim("DELETE")))
        calls.stage_intent(
            first, {"type": "create_proposition", "claim_id": "w", "statement": "a wait takes long"}
        )
        calls.seal_session(ended, reason="done")
        calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON)
    assert beliefd("log", "checkpoint", "--now", "--data", old).exit_code == 0
    assert answer("inbox", "list", "--data", old)["approvals"]
    file = backed_up(old)
    bytes_before = file.read_bytes()
    new = tmp_path / "new"
    other = ["--store", request.getfixturevalue("postgres_url")] if where == "postgres" else []
    done = restored(file, at, "--data", new, *other)
    place = other or ["--data", new]
    assert heads(*place) == {first: 2, ended: 1}
    assert done["left_out"]["begun_later"] == 1
    assert done["left_out"]["sessions"] == 3
    assert done["left_out"]["events"] >= 4
    assert file.read_bytes() == bytes_before
    assert answer("projection", "check", *place)["ok"]
    assert answer("log", "check", *place)["ok"]
    assert answer("inbox", "list", *place)["approvals"] == []
    last = answer("audit", "show", SYSTEM, *place)["events"][-1]
    assert last["verb"] == "RESTORE_STORE"
    assert last["delta"]["left_out"] == done["left_out"]["events"]
    assert last["delta"]["at"] == done["at"]
    with library.open(str(other[1] if other else new / "beliefd.db"), principal=LOCAL_OPERATOR) as calls:
        assert {name: calls.export(name) for name in before} == before
        store = calls.steward.store
        assert calls.run(lambda: store.open_sessions(LOCAL_OPERATOR.id)) == 3  # and its own
        # A key that was used later is free again; one from before still gives its answer.
        assert eliminate(calls, first, 0, idempotency_key="early").snapshot.seq == 2
        assert eliminate(calls, first, 2, idempotency_key="late").snapshot.seq == 3
        assert eliminate(calls, ended, 2).snapshot.seq == 2


def test_what_was_revoked_or_taken_in_since_is_still_known(old: Path, tmp_path: Path) -> None:
    """A token that is valid again, or a ledger from elsewhere that is authority, would be a way in."""
    with opened(old) as calls:
        elsewhere = calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON).session_id
    ledger = tmp_path / "ledger.jsonl"
    beliefd("audit", "export", elsewhere, "--data", old, "-o", ledger)
    shutil.rmtree(old)
    old.mkdir(mode=0o700)
    beliefd("token", "create", "--name", "gone", "--role", "admin", "--data", old)
    (token,) = answer("token", "list", "--data", old)["tokens"]
    at = moment()
    assert beliefd("token", "revoke", token["token_id"], "--data", old).exit_code == 0
    assert beliefd("audit", "import", ledger, "--data", old).exit_code == 0
    new = tmp_path / "new"
    restored(backed_up(old), at, "--data", new)
    (token,) = answer("token", "list", "--data", new)["tokens"]
    assert token["revoked_at"] is not None
    with opened(new) as calls:
        assert calls.query_belief(elsewhere).foreign is not None


def test_an_erasure_is_not_taken_back(old: Path, tmp_path: Path) -> None:
    with opened(old) as calls:
        session = calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON).session_id
        name = calls.store_content(b"the paper").sha256
        calls.eliminate(session, source_id="s", observation_id=name, eliminated=["a"])
        at = moment()
        calls.erase(session, "asked for", digests=[name])
        eliminate(calls, session, 1)
    new = tmp_path / "new"
    done = restored(backed_up(old), at, "--data", new)
    assert heads("--data", new) == {session: 3}
    assert done["left_out"]["longer"] == 1
    assert done["left_out"]["events"] == 1
    with opened(new) as calls, pytest.raises(library.BeliefdError, match="erased"):
        calls.store_content(b"the paper")


def test_a_checkpoint_that_was_signed_of_more_is_never_signed_over(old: Path) -> None:
    """In the folder with the key: the log was put back, and says so instead of signing another history."""
    with opened(old) as calls:
        session = calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON).session_id
        at = moment()
        for number in range(5):
            eliminate(calls, session, number)
    assert beliefd("log", "checkpoint", "--now", "--data", old).exit_code == 0
    file = backed_up(old)
    for one in old.glob("beliefd.db*"):
        one.unlink()
    restored(file, at, "--data", old)
    told = beliefd("log", "checkpoint", "--now", "--data", old)
    assert told.exit_code != 0
    assert "LOG_ROLLED_BACK" in told.output


@pytest.mark.parametrize("time", ["yesterday", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z"])
def test_a_time_that_can_be_read_in_two_ways_or_in_none_is_refused(old: Path, time: str) -> None:
    with opened(old) as calls:
        calls.declare_session(["a", "b", "c"], ONTOLOGY_JSON)
    told = beliefd("store", "restore", backed_up(old), "--at", time, "--data", old.parent / "new")
    assert told.exit_code == Exit.BAD_INPUT
    assert not (old.parent / "new" / "beliefd.db").exists()
