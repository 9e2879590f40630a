"""`beliefd policy show|adopt`: rules that hold after a restart, and on every server of a store."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.runner import answer, beliefd, finished
from tests.cli.test_serve import serving

STRICT = "uncertainty:\n  explain_above: 0.1\n  defer_above: 0.2\n"
PATIENCE_SECONDS = 30


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    path = tmp_path / "strict.yaml"
    path.write_text(STRICT)
    return path


def shown(url: str) -> Any:
    return httpx.get(f"{url}/v1/policy", verify=False).json()


def test_what_is_adopted_in_a_store_reaches_its_servers_and_outlives_them(data: Path, strict: Path) -> None:
    with serving("--data", data) as (one, _), serving("--data", data) as (two, _):
        assert [shown(url)["source"] for url in (one, two)] == ["default"] * 2
        adopted = answer("policy", "adopt", strict, "--data", data)
        assert (adopted["source"], adopted["policy"]["uncertainty"]["defer_above"]) == ("adopted", 0.2)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while [shown(url) for url in (one, two)] != [adopted] * 2:
            assert time.monotonic() < deadline, "the servers do not follow"
            time.sleep(0.1)
    with serving("--data", data) as (again, _):
        assert shown(again) == adopted
        assert answer("policy", "show", "--url", again) == adopted


def test_an_administrator_adopts_through_a_server_and_nobody_else_does(data: Path, strict: Path) -> None:
    made = {
        role: beliefd("token", "create", "--name", role, "--role", role, "--data", data).stdout.split()[-1]
        for role in ("admin", "approver")
    }
    with serving("--data", data) as (url, _):
        to = ("--url", url, "--token")
        assert beliefd("policy", "adopt", strict, *to, made["approver"]).exit_code != 0
        told = beliefd("policy", "adopt", strict, *to, made["admin"])
        assert told.exit_code == 0
        assert "adopted by" in told.stdout
        assert 'uncertainty: {"explain_above": 0.1, "defer_above": 0.2}' in told.stdout
    long = strict.with_name("guard.yaml")
    assert beliefd("policy", "init", "--preset", "guard", "-o", long).exit_code == 0
    shown = beliefd("policy", "adopt", long, "--data", data).stdout
    assert "constraint.guard.04_sinks" in shown
    assert ('"effect"' in shown, len(shown.splitlines()) < 30) == (False, True)
    assert "guarded: scope tools *, principals gateway://*" in shown
    assert "null" not in shown
    answer("policy", "adopt", strict, "--data", data)
    # Without a server the same rules are decided by.
    assert answer("policy", "show", "--data", data)["source"] == "adopted"


def test_a_server_with_a_file_keeps_to_it(data: Path, strict: Path, tmp_path: Path) -> None:
    answer("policy", "adopt", strict, "--data", data)
    token = beliefd("token", "create", "--name", "a", "--role", "admin", "--data", data).stdout.split()[-1]
    mild = tmp_path / "mild.yaml"
    mild.write_text("security:\n  rate_limit: 7\n")
    with serving("--data", data, "--policy", mild) as (url, _):
        to = ("--url", url, "--token", token)
        in_force = answer("policy", "show", *to)
        assert (in_force["source"], in_force["policy"]["security"]["rate_limit"]) == ("file", 7)
        refused = beliefd("policy", "adopt", strict, *to)
        assert refused.exit_code != 0
        assert "change the file" in refused.stderr
        assert answer("policy", "show", *to) == in_force


def test_a_file_that_does_not_check_is_not_adopted(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("uncertainty:\n  defer_above: 2\n")
    refused = finished("policy", "adopt", bad, "--data", data)
    assert refused.returncode == 2
    assert "line 2" in refused.stderr
    assert not data.exists()


def test_nobody_has_chosen(data: Path) -> None:
    with serving("--data", data) as (url, _):
        told = beliefd("policy", "show", "--url", url).stdout
    assert "the defaults hold" in told
