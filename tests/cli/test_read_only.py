"""A store that can only be read is read: verified, shown and exported. And what is written is private."""

import ctypes
import json
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beliefd.cli.files import write_bytes
from beliefd.stores.sqlite.schema import MIGRATIONS
from beliefd.testing.world import World
from tests.claims.support import bundle, claim
from tests.cli.runner import answer, beliefd, finished

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
BY = ("--source", "human://alice", "--observation", "o1")
READING = (
    ("audit", "verify", "{session}"),
    ("audit", "verify", "--all"),
    ("audit", "show", "{session}"),
    ("audit", "replay", "{session}"),
    ("session", "show", "{session}"),
    ("session", "list"),
    ("inbox", "list"),
    ("policy", "show"),
)


def _without_power() -> None:
    """Root may write anywhere; a child without this capability may do what the modes of files say."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def asked(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return finished(*arguments, preexec_fn=_without_power)


@contextmanager
def sealed(data: Path) -> Iterator[Path]:
    """A folder in which nothing can be written, as on a read-only medium."""
    for file in data.iterdir():
        file.chmod(0o400)
    data.chmod(0o500)
    try:
        yield data
    finally:
        data.chmod(0o700)
        for file in data.iterdir():
            file.chmod(0o600)


@pytest.fixture
def told(data: Path, session: str) -> str:
    answer("session", "eliminate", session, "a", *BY, "--data", data)
    return session


def files(data: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in data.iterdir()}


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_what_only_reads_needs_no_room_to_write(data: Path, told: str, command: tuple[str, ...]) -> None:
    asking = [word.format(session=told) for word in command]
    usual = json.loads(beliefd(*asking, "--data", data, "--json").stdout)
    before = files(data)
    with sealed(data):
        got = asked(*asking, "--data", data, "--json")
    assert (got.returncode, got.stderr) == (0, "")
    assert json.loads(got.stdout) == usual
    assert files(data) == before


def test_what_is_long_due_can_still_be_listed(data: Path) -> None:
    data.mkdir()
    with World(data / "beliefd.db") as house:
        decision = claim(claim_type="DECISION", risk_tier="DELETE")
        waiting = house.agent.submit_claims(house.session(), bundle(decision)).approval_id
    with sealed(data):
        got = asked("inbox", "list", "--data", data, "--json")
    assert got.returncode == 0, got.stderr
    assert "could not be expired" in got.stderr
    assert [card["approval_id"] for card in json.loads(got.stdout)["approvals"]] == [waiting]
    assert answer("inbox", "list", "--data", data)["approvals"] == [], "where it can be written, it ends"


def test_what_writes_is_refused_and_says_why(data: Path, told: str) -> None:
    before = files(data)
    with sealed(data):
        got = asked("session", "eliminate", told, "b", *BY, "--data", data)
    assert got.returncode == 1
    assert "STORAGE_UNAVAILABLE" in got.stderr
    assert "readonly" in got.stderr
    assert files(data) == before


def test_a_log_that_was_left_behind_is_read_too(data: Path, told: str, tmp_path: Path) -> None:
    """As after a crash, or beside a server that runs: the newest entries stand in the log alone."""
    holding = sqlite3.connect(data / "beliefd.db")
    holding.execute("SELECT count(*) FROM sessions").fetchall()
    answer("session", "eliminate", told, "b", *BY, "--data", data)
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    holding.close()
    assert (copy / "beliefd.db-wal").stat().st_size > 0
    usual = answer("session", "show", told, "--data", data)
    with sealed(copy):
        shown = asked("session", "show", told, "--data", copy, "--json")
        verified = asked("audit", "verify", told, "--data", copy, "--json")
    assert json.loads(shown.stdout) == usual
    assert usual["survivors"] == ["c"]
    assert json.loads(verified.stdout)["ok"]
    (copy / "beliefd.db-shm").unlink()
    with sealed(copy):
        got = asked("session", "show", told, "--data", copy)
    assert got.returncode == 1, "without its index the log cannot be read"
    assert "open the copy" in got.stderr


def test_a_store_of_an_earlier_version_says_what_to_do(data: Path, told: str) -> None:
    with sqlite3.connect(data / "beliefd.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    connection.close()
    with sealed(data):
        got = asked("audit", "verify", told, "--data", data)
    assert got.returncode == 1
    assert "copy it, and open the copy" in got.stderr


# -- what is written ---------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _open_handed() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def written(data: Path, session: str, place: Path) -> dict[str, Any]:
    found: dict[str, Any] = answer("audit", "export", session, "-o", place, "--data", data)
    return found


def test_an_export_is_its_owners_business_only(data: Path, told: str, tmp_path: Path) -> None:
    place = tmp_path / "ledger.jsonl"
    assert written(data, told, place)["events"] == 2
    assert mode(place) == 0o600
    place.write_bytes(b"x" * 100_000)
    place.chmod(0o644)
    written(data, told, place)
    assert mode(place) == 0o600
    assert answer("audit", "verify", "--file", place)["ok"]


def test_content_that_is_written_to_a_file_is_private(data: Path, told: str, tmp_path: Path) -> None:
    source, place = tmp_path / "source", tmp_path / "place"
    source.write_text("a secret")
    known = answer("content", "put", source, "--data", data)["sha256"]
    answer("content", "get", known, "-o", place, "--data", data)
    assert (place.read_text(), mode(place)) == ("a secret", 0o600)


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    write_bytes(Path(os.devnull), b"gone")
    assert mode(Path(os.devnull)) != 0o600
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(pipe, b"through")
    assert (os.read(reader, 100), mode(pipe)) == (b"through", 0o644)
    os.close(reader)
