"""`beliefd content`: put, get, show, collect."""

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role, shown_time
from beliefd.stores.sqlite import SqliteStore
from tests.cli.runner import answer, beliefd, in_terminal

OLD = (datetime.now(UTC) - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_file_is_put_shown_and_got_back(data: Path, tmp_path: Path) -> None:
    path, copy = tmp_path / "paper.bin", tmp_path / "copy.bin"
    path.write_bytes(b"\x00\xff paper")
    name = hashlib.sha256(path.read_bytes()).hexdigest()
    assert answer("content", "put", path, "--data", data) == {"sha256": name, "size": 8}
    assert f"{name}  8 bytes" in beliefd("content", "put", path, "--data", data).stdout
    shown = beliefd("content", "show", name, "--data", data).stdout
    assert "8 bytes" in shown
    assert "brought by operator://local (admin) at" in shown
    assert beliefd("content", "get", name, "--data", data).stdout_bytes == path.read_bytes()
    got = answer("content", "get", name, "-o", copy, "--data", data)
    assert got == {"size": 8, "output": str(copy)}
    assert copy.read_bytes() == path.read_bytes()
    missing = beliefd("content", "get", "ab" * 32, "--data", data)
    assert (missing.exit_code, "CONTENT_NOT_FOUND" in missing.stderr) == (2, True)


def test_what_comes_in_on_stdin_is_put(data: Path) -> None:
    put = beliefd("content", "put", "-", "--data", data, "--json", stdin=b"from a pipe")
    assert hashlib.sha256(b"from a pipe").hexdigest() in put.stdout


@pytest.mark.slow
def test_bytes_that_a_terminal_would_obey_are_not_written_to_it(data: Path) -> None:
    beliefd("content", "put", "-", "--data", data, stdin=b"\x1b]0;owned\x07")
    name = hashlib.sha256(b"\x1b]0;owned\x07").hexdigest()
    code, shown = in_terminal("content", "get", name, "--data", data)
    assert code == 2
    assert "owned" not in shown
    assert "`-o`" in shown
    beliefd("content", "put", "-", "--data", data, stdin=b"plain text")
    code, shown = in_terminal("content", "get", hashlib.sha256(b"plain text").hexdigest(), "--data", data)
    assert code == 0
    assert shown.rpartition("\x1b[2K")[2] == "plain text", (
        "after what was told while it took long, and wiped away"
    )


def put_long_ago(data: Path, content: bytes) -> str:
    import asyncio

    name = hashlib.sha256(content).hexdigest()

    async def put() -> None:
        store = await SqliteStore.open(data / "beliefd.db")
        await store.put_content(name, content, Bringer(id="agent://a", role=Role.AGENT, at=OLD))
        await store.close()

    asyncio.run(put())
    return name


def test_what_nobody_cites_is_collected_after_a_while(data: Path, session: str) -> None:
    old, cited = put_long_ago(data, b"old"), put_long_ago(data, b"cited")
    beliefd("content", "put", "-", "--data", data, stdin=b"young")
    beliefd(
        *("session", "eliminate", session, "a", "--source", "s", "--observation", "o"),
        *("--because", f"see {cited.upper()}", "--data", data),
    )
    tried = answer("content", "collect", "--dry-run", "--data", data)
    assert (tried["dry_run"], tried["items"], tried["bytes"]) == (True, 1, 3)
    assert answer("content", "collect", "--older-than", "4d", "--data", data)["items"] == 0
    told = beliefd("content", "collect", "--older-than", "1d", "--data", data).stdout
    assert told.splitlines() == [
        f"{old}  3 bytes, last brought {shown_time(OLD)}",
        "removed: 1 items, 3 bytes",
    ]
    assert answer("content", "collect", "--data", data)["items"] == 0
    assert beliefd("content", "get", cited, "--data", data).stdout == "cited"
    assert beliefd("content", "get", old, "--data", data).exit_code == 2


@pytest.mark.parametrize("age", ["1", "d", "-1d", "1y", "1.5h", "1d ", ""])
def test_a_duration_is_a_number_and_a_unit(data: Path, session: str, age: str) -> None:
    result = beliefd("content", "collect", "--older-than", age, "--data", data)
    assert result.exit_code == 2
    assert "no duration" in result.stderr


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert beliefd("content", "collect", "--data", tmp_path / "none").exit_code == 1
    assert not (tmp_path / "none").exists()
