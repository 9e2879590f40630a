"""`beliefd doctor` finds what is wrong and says what to do."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from beliefd.cli.commands import doctor
from tests.cli.runner import answer, beliefd
from tests.cli.test_audit import tamper

BY = ("--source", "human://alice", "--observation", "o1")


def level(findings: dict[str, Any], check: str) -> str:
    found = {item["level"] for item in findings["findings"] if item["check"] == check}
    return "wrong" if "wrong" in found else "/".join(sorted(found))


def test_a_healthy_store_passes_every_check(data: Path, session: str) -> None:
    findings = answer("doctor", "--data", data)
    assert findings["ok"] is True
    checks = ("python", "sqlite", "permissions", "schema", "store", "tokens", "ledgers", "log", "clock")
    assert {check: level(findings, check) for check in checks} == dict.fromkeys(checks, "ok")
    assert "1 verified" in beliefd("doctor", "--data", data).stdout


def test_no_store_yet_is_no_illness(data: Path) -> None:
    data.mkdir()
    findings = answer("doctor", "--data", data)
    assert (findings["ok"], level(findings, "store")) == (True, "note")
    assert list(data.iterdir()) == []


def test_a_folder_that_is_not_there_is_wrong_and_says_what_to_do(data: Path) -> None:
    findings = answer("doctor", "--data", data, code=1)
    assert (findings["ok"], level(findings, "store")) == (False, "wrong")
    told = beliefd("doctor", "--data", data).stdout
    assert "does not exist; name the right one with `--data`, or begin there" in told
    assert not data.exists(), "looking makes nothing"


@pytest.mark.parametrize("inside", ["", "beliefd.db"])
def test_doors_that_stand_open_are_reported(data: Path, session: str, inside: str) -> None:
    (data / inside).chmod(0o755)
    findings = answer("doctor", "--data", data, code=1)
    assert level(findings, "permissions") == "wrong"
    assert "chmod" in beliefd("doctor", "--data", data).stdout


def test_a_broken_ledger_is_named_and_exits_with_5(data: Path, session: str) -> None:
    answer("session", "eliminate", session, "a", *BY, "--data", data)
    tamper(data, 2)
    findings = answer("doctor", "--data", data, code=5)
    assert level(findings, "ledgers") == "wrong"
    assert level(findings, "schema") == "wrong"
    told = beliefd("doctor", "--data", data).stdout
    assert f"session {session}, event 2 (" in told
    assert "audit_events_keep_delete` is gone" in told
    assert "the inbox is what the ledgers that verify say" in told, "nothing is said of one that does not"


def test_the_log_is_described_and_what_keeps_it_from_being_signed(data: Path, session: str) -> None:
    def log() -> tuple[str, str]:
        found = beliefd("doctor", "--data", data, "--json").stdout
        (one,) = [item for item in json.loads(found)["findings"] if item["check"] == "log"]
        return one["level"], one["message"]

    assert "no checkpoint was signed yet" in log()[1]
    key = data / "log.key"
    assert not key.exists(), "looking makes no key"
    shutil.copy(data / "beliefd.db", data / "before.db")
    size = answer("log", "checkpoint", "--now", "--data", data)["size"]
    well, told = log()
    assert (well, f"{size} covered by a checkpoint" in told, "is for its owner only" in told) == (
        "ok",
        True,
        True,
    )
    key.chmod(0o644)
    assert (log()[0], "can be read by others; `chmod 600` it" in log()[1]) == ("wrong", True)
    key.rename(data / "elsewhere.key")
    assert (log()[0], "does not hold that key" in log()[1]) == ("note", True)
    (data / "elsewhere.key").rename(key)
    key.chmod(0o600)
    assert log()[0] == "ok"
    # The store is put back to what it was before the checkpoint, which is remembered beside the key.
    for left in data.glob("beliefd.db*"):
        left.unlink()
    (data / "before.db").rename(data / "beliefd.db")
    assert (log()[0], f"and had {size} when this checkpoint was signed" in log()[1]) == ("wrong", True)


def test_a_file_from_the_future_is_reported(data: Path, session: str) -> None:
    connection = sqlite3.connect(data / "beliefd.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    findings = answer("doctor", "--data", data, code=1)
    assert level(findings, "schema") == "wrong"
    assert level(findings, "store") == "wrong"


def test_a_file_that_is_no_database_is_reported(data: Path, session: str) -> None:
    (data / "beliefd.db").write_bytes(b"nothing of the kind " * 500)
    assert level(answer("doctor", "--data", data, code=1), "store") == "wrong"


def test_a_clock_that_went_back_is_noticed(data: Path, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beliefd.steward.environment.now", lambda: "2025-06-01T00:00:00.000000Z")
    findings = answer("doctor", "--data", data, code=1)
    assert level(findings, "clock") == "wrong"
    monkeypatch.setattr("beliefd.steward.environment.now", lambda: "1970-01-01T00:00:00.000000Z")
    assert level(answer("doctor", "--data", data, code=1), "clock") == "wrong"


def test_an_old_sqlite_is_reported(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "OLDEST_SQLITE", (99, 0, 0))
    assert level(answer("doctor", "--data", data, code=1), "sqlite") == "wrong"


def test_a_missing_extra_is_a_note(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.mkdir()
    monkeypatch.setattr(doctor, "EXTRAS", {"no_such_module": "nothing"})
    assert level(answer("doctor", "--data", data), "extras") == "note"


def test_revoking_every_token_is_worth_a_note(data: Path, session: str) -> None:
    secret = beliefd("token", "create", "--name", "a", "--role", "agent", "--data", data).stdout
    assert level(answer("doctor", "--data", data), "tokens") == "ok"
    beliefd("token", "revoke", secret.split("_")[1], "--data", data)
    assert level(answer("doctor", "--data", data), "tokens") == "note"
