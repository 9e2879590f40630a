"""Files that disappear, turn into junk, go back in time or cannot be written: no loss goes unseen."""

import asyncio
import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

import beliefd
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.testing.world import ONTOLOGY
from tests.faults.load import (
    HYPOTHESES,
    Failure,
    Log,
    Request,
    audit,
    client,
    declare,
    requests,
    send,
    snapshot,
)
from tests.faults.place import Place

SEED = 5

pytestmark = pytest.mark.slow


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    junk = file.with_name("junk")
    junk.write_bytes(b"junk" * 10_000)
    junk.rename(file)


@pytest.mark.parametrize(
    ("damage", "suffix"), [(remove, ""), (replace, ""), (remove, "-wal"), (remove, "-shm")]
)
def test_a_file_that_is_gone_takes_no_writes_but_its_ledger_can_still_be_saved(
    file_place: Place, tmp_path: Path, damage: Callable[[Path], None], suffix: str
) -> None:
    async def story(url: str) -> bytes:
        log = Log()
        async with client(url) as http:
            session_id = await declare(http, {})
            await write(http, log, session_id, 20)
            damaged = file_place.file.with_name(file_place.file.name + suffix)
            damage(damaged)
            before = sorted(file_place.data.iterdir())
            failures = [await refused(http, session_id), await refused(http, session_id)]
            assert all(str(damaged) in failure.message for failure in failures)
            assert (await http.get("/readyz")).status_code == 503
            assert sorted(file_place.data.iterdir()) == before, "an empty store was put in its place"
            log.check(session_id, await audit(http, session_id))
            response = await http.get(f"/v1/sessions/{session_id}/audit/export")
            assert response.is_success, response.text
            return response.content

    with file_place.server() as server:
        saved = asyncio.run(story(server.url))
    with beliefd.open(tmp_path / "new.db", principal=LOCAL_OPERATOR) as ledgers:
        imported = ledgers.import_ledger(saved)
        assert imported.events == 21
        assert ledgers.verify(imported.session_id).ok


def test_a_folder_that_was_moved_and_comes_back_is_written_again_without_a_restart(file_place: Place) -> None:
    async def story(url: str) -> None:
        log = Log()
        async with client(url) as http:
            session_id = await declare(http, {})
            await write(http, log, session_id, 5)
            elsewhere = file_place.data.rename(file_place.data.with_name("elsewhere"))
            await refused(http, session_id)
            elsewhere.rename(file_place.data)
            await write(http, log, session_id, 5)
            log.check(session_id, await audit(http, session_id))

    with file_place.server() as server:
        asyncio.run(story(server.url))
    assert file_place.check_whole() == 11


def test_junk_written_into_the_open_file_never_reaches_a_client_as_a_defect(file_place: Place) -> None:
    async def story(url: str) -> None:
        async with client(url) as http:
            session_ids = [await declare(http, {"number": number}) for number in range(40)]
            with file_place.file.open("r+b") as file:
                file.write(b"junk" * (file_place.file.stat().st_size // 4))
            for session_id in session_ids:
                for response in (
                    await http.post(Request(session_id, "o", ()).url, json=Request(session_id, "o", ()).body),
                    await http.get(f"/v1/sessions/{session_id}"),
                    await http.get(f"/v1/sessions/{session_id}/audit"),
                ):
                    if response.is_error:
                        assert response.status_code in (422, 503), response.text
                        assert response.json()["error"]["code"] in ("LEDGER_BROKEN", "STORAGE_UNAVAILABLE")

    with file_place.server() as server:
        asyncio.run(story(server.url))


def test_a_backup_restored_under_a_running_server_becomes_the_truth(
    file_place: Place, tmp_path: Path
) -> None:
    async def story(url: str) -> None:
        kept, lost = Log(), Log()
        async with client(url) as http:
            session_id = await declare(http, {})
            await write(http, kept, session_id, 10)
            copy(file_place.file, tmp_path / "backup.db")
            await write(http, lost, session_id, 10)
            newer = await declare(http, {})
            copy(tmp_path / "backup.db", file_place.file)
            kept.check(session_id, await audit(http, session_id))
            assert (await snapshot(http, session_id))["seq"] == 11
            with pytest.raises(Failure, match="404 SESSION_NOT_FOUND"):
                await snapshot(http, newer)
            await write(http, kept, session_id, 10)
            kept.check(session_id, await audit(http, session_id))

    with file_place.server() as server:
        asyncio.run(story(server.url))
    assert file_place.check_whole() == 21


def test_what_is_no_store_is_refused_by_name_at_the_start(file_place: Place, tmp_path: Path) -> None:
    file_place.data.mkdir()
    file_place.file.write_bytes(b"this is not a ledger\n" * 1_000)
    status, message = serve(file_place.data)
    assert status == 1
    assert str(file_place.file) in message
    assert "not a database" in message
    file_place.file.unlink()
    file_place.file.mkdir()
    status, message = serve(file_place.data)
    assert status == 1
    assert str(file_place.file) in message
    file = tmp_path / "file"
    file.touch()
    status, message = serve(file / "data")
    assert status == 1
    assert str(file) in message


def test_a_folder_that_cannot_be_written_is_named_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o500)
    status, message = serve(data)
    assert status == 1
    assert f"cannot open `{data / 'beliefd.db'}`: Permission denied" in message


def test_opening_a_file_twice_in_one_process_does_not_let_another_take_its_log_away(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with beliefd.open(path) as here:
        session_id = here.declare_session(HYPOTHESES, ONTOLOGY).session_id
        with beliefd.open(path):
            pass
        passing_by = "import sys, beliefd; beliefd.open(sys.argv[1]).close()"
        subprocess.run([sys.executable, "-c", passing_by, path], check=True)
        here.eliminate(session_id, source_id="s", observation_id="o", eliminated=["h001"])
        shutil.copytree(tmp_path, tmp_path / "as a crash would leave it")
    with beliefd.open(tmp_path / "as a crash would leave it" / path.name) as there:
        assert there.query_belief(session_id).seq == 2


async def write(http: httpx.AsyncClient, log: Log, session_id: str, count: int) -> None:
    todo = requests(f"at{len(log.acknowledged)}", [session_id], SEED)
    for request, _ in zip(todo, range(count), strict=False):
        log.keep(request, await send(http, request))


async def refused(http: httpx.AsyncClient, session_id: str) -> Failure:
    with pytest.raises(Failure, match="503 STORAGE_UNAVAILABLE: nothing was written") as failure:
        await send(http, Request(session_id, "refused", ()))
    return failure.value


def copy(source: Path, target: Path) -> None:
    """A backup as SQLite makes it: page by page, in one transaction of the target."""
    with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
        there.backup(here)


def serve(data: Path) -> tuple[int, str]:
    """Start a server that cannot start."""
    command = [sys.executable, "-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(data)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, preexec_fn=_obey_permissions
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def _obey_permissions() -> None:
    """Root may write everywhere; a process without these two capabilities may not."""
    if os.geteuid() == 0:
        drop_from_bounding_set = 24
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)
