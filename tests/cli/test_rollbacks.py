"""A copy that lacks what a checkpoint of this folder covers is named, and nobody starts on it by accident."""

import json
from pathlib import Path
from typing import Any

import pytest

import beliefd as library
from beliefd.cli.output import Exit
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.notes import read_checkpoint, read_note
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.testing.world import ONTOLOGY_JSON
from tests.cli.runner import answer, beliefd, finished
from tests.support.server import ServerProcess


def opened(data: Path) -> Any:
    return library.open(str(data / "beliefd.db"), principal=LOCAL_OPERATOR)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str | Path, ...]:
    """Where copies are put back to: beside the keys of the server, on both stores."""
    data = ("--data", tmp_path / "data")
    return data if request.param == "sqlite" else (*data, "--store", request.getfixturevalue("postgres_url"))


def early_copy(data: Path) -> Path:
    """A backup, after which only an event of a session came, and a checkpoint over it. No store is left."""
    data.mkdir(mode=0o700)
    file = data.parent / "early.db"
    with opened(data) as calls:
        session = calls.declare_session(["a", "b"], ONTOLOGY_JSON).session_id
    answer("log", "checkpoint", "--now", "--data", data)
    assert beliefd("store", "backup", file, "--data", data).exit_code == 0
    with opened(data) as calls:
        calls.eliminate(session, source_id="s", observation_id="o", eliminated=["a"])
    answer("log", "checkpoint", "--now", "--data", data)
    for end in ("", "-wal", "-shm"):
        (data / f"beliefd.db{end}").unlink(missing_ok=True)
    return file


def put_back(place: tuple[str | Path, ...], file: Path) -> str:
    told = answer("store", "restore", file, *place, code=Exit.DEFERRED)
    return str(told["rollback"])


def test_a_copy_that_lacks_only_events_of_sessions_is_named_as_a_rollback(
    tmp_path: Path, place: tuple[str | Path, ...]
) -> None:
    told = put_back(place, early_copy(tmp_path / "data"))
    assert "log.checkpoint` was signed over 4 events of all sessions, and this store has 3 of them" in told
    assert "put back a newer copy, or start once with --accept-new-store" in told
    assert "tokens" not in told  # the server's own ledger has lost nothing


@pytest.mark.slow
def test_nobody_starts_on_it_unless_they_say_so_and_that_is_recorded_once(
    tmp_path: Path, place: tuple[str | Path, ...]
) -> None:
    data = tmp_path / "data"
    put_back(place, early_copy(data))
    refused = finished("serve", "--port", "0", *place)
    assert refused.returncode == Exit.BAD_INPUT, refused.stderr
    assert "was signed over 4 events of all sessions, and this store has 3 of them" in refused.stderr
    assert "start once with --accept-new-store" in refused.stderr
    store = None if len(place) == 2 else str(place[-1])
    for options in (("--accept-new-store",), (), ()):  # accepted once is enough
        server = ServerProcess(data, store, options=options)
        with server.client() as client:
            # A fork however long is not what was signed.
            client.declare_session(["x"], ONTOLOGY_JSON)
        server.stop()
        server.forget()
    events = answer("audit", "show", SYSTEM, *place)["events"]
    (restored,) = [one["delta"] for one in events if one["verb"] == "RESTORE_STORE"]
    assert (restored["signed"], restored["leaves"]) == (4, 3)
    shown = beliefd("audit", "show", SYSTEM, *place).output
    assert "4 leaves of the log were signed, and 3 were found" in shown


def test_checkpoints_go_on_under_another_name_and_are_held_against_later_copies(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file, place = early_copy(data), ("--data", tmp_path / "data")
    put_back(place, file)
    assert "LOG_ROLLED_BACK" in beliefd("log", "checkpoint", "--now", *place).output
    assert beliefd("log", "key", "rotate", "--origin", "new.example/log", *place).exit_code == 0
    answer("log", "checkpoint", "--now", *place)
    signed = read_checkpoint(read_note((data / "log.checkpoint").read_text()))
    assert signed.origin == "new.example/log"
    (data / "beliefd.db").unlink()
    assert f"was signed over {signed.size} events" in put_back(place, file)


@pytest.mark.slow
def test_a_copy_that_went_on_is_no_continuation_of_what_was_signed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    put_back(("--data", data), early_copy(data))
    with opened(data) as calls:
        for _ in range(4):
            calls.declare_session(["x"], ONTOLOGY_JSON)
    answer("log", "rebuild", "--data", data)
    refused = finished("serve", "--port", "0", "--data", data)
    assert (refused.returncode, "others among them" in refused.stderr) == (Exit.BAD_INPUT, True)


def test_a_copy_that_has_everything_is_none_even_if_its_events_have_no_leaves_yet(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with opened(data) as calls:
        calls.declare_session(["a", "b"], ONTOLOGY_JSON)
    answer("log", "checkpoint", "--now", "--data", data)
    assert beliefd("store", "backup", tmp_path / "all.db", "--data", data).exit_code == 0
    (data / "beliefd.db").unlink()
    told = json.loads(beliefd("store", "restore", tmp_path / "all.db", "--data", data, "--json").stdout)
    assert told["rollback"] is None


def test_whoever_asks_for_an_earlier_time_has_said_so(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "all.db"
    data.mkdir(mode=0o700)
    with opened(data) as calls:
        session = calls.declare_session(["a", "b"], ONTOLOGY_JSON).session_id
        time = calls.audit_trace(session).events[-1]["ts"]
        calls.eliminate(session, source_id="s", observation_id="o", eliminated=["a"])
    answer("log", "checkpoint", "--now", "--data", data)
    assert beliefd("store", "backup", file, "--data", data).exit_code == 0
    (data / "beliefd.db").unlink()
    told = answer("store", "restore", file, "--at", time, "--data", data)
    assert (told["rollback"], told["left_out"]["events"]) == (None, 1)


def test_a_key_that_cannot_be_used_hides_no_rollback(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file = early_copy(data)
    (data / "log.key").chmod(0o644)
    (data / "log.checkpoint").chmod(0o644)
    assert "was signed over 4 events" in put_back(("--data", data), file)
