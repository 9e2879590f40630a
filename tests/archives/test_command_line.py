"""`beliefd store archive`, over a store and over HTTP; archived sessions in copies of a store."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

import beliefd as library
from beliefd.cli.marker import Marker
from beliefd.kernel.system.state import SYSTEM
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.stores.opening import open_store
from beliefd.testing.world import ONTOLOGY_JSON, World
from tests.claims.support import bundle, claim
from tests.cli.runner import answer, beliefd
from tests.conformance.node import run_node
from tests.support.server import ServerProcess

opened = partial(library.open, principal=LOCAL_OPERATOR)


def filled(data: Path) -> dict[str, str]:
    """Sessions by what is to become of them."""
    data.mkdir(mode=0o700)
    with World(data / "beliefd.db") as calls:
        names = {
            name: calls.declare_session(["a", "b"], ONTOLOGY_JSON).session_id
            for name in ("ended", "open", "waiting")
        }
        calls.eliminate(names["ended"], source_id="s", observation_id="o", eliminated=["a"])
        assert calls.request_termination(names["ended"]).approved
        calls.agent.submit_claims(names["waiting"], bundle(claim("DELETE")))
    return names


def test_sessions_are_chosen_by_age_or_end_and_what_waits_is_left(tmp_path: Path) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    names = filled(data)
    done = answer("store", "archive", "--ended", "--to", away, "--data", data)
    assert [one["session_id"] for one in done["archived"]] == [names["ended"]]
    assert answer("store", "archive", "--idle", "1e6", "--to", away, "--data", data)["archived"] == []
    done = answer("store", "archive", "--idle", "1", "--to", away, "--data", data, code=3)
    assert [one["session_id"] for one in done["archived"]] == [names["open"]]
    assert [one["session_id"] for one in done["left"]] == [names["waiting"]]
    assert "waits for a person" in done["left"][0]["why"]
    ends = (".jsonl", ".checkpoint", ".proof.json")
    kept = {f"{names[name]}{end}" for name in ("ended", "open") for end in ends}
    assert {path.name for path in away.iterdir()} == kept
    listed = beliefd("session", "list", "--data", data).output
    assert listed.count("is archived") == 2
    shown = beliefd("session", "show", names["ended"], "--data", data)
    assert (shown.exit_code, "SESSION_ARCHIVED" in shown.output) == (4, True)
    for words in (("store", "archive", "--to", away), ("store", "archive", "x", "--ended", "--to", away)):
        assert beliefd(*words, "--data", data).exit_code == 2


def test_parts_of_ids_name_the_sessions(tmp_path: Path) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    names = filled(data)
    part = names["ended"][-8:]
    done = answer("store", "archive", part, "--to", away, "--data", data)
    assert [one["session_id"] for one in done["archived"]] == [names["ended"]]


def test_a_folder_that_cannot_be_made_is_named_and_nothing_is_sealed(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "file"
    names, place = filled(data), file / "below"
    file.write_text("no folder")
    refused = beliefd("store", "archive", names["open"], "--to", place, "--data", data)
    assert (refused.exit_code, f"cannot make the folder `{place}`" in refused.output) == (2, True)
    assert answer("session", "show", names["open"], "--data", data)["status"] == "open"


def test_an_outsider_verifies_an_archive_with_its_checkpoint_and_proof(tmp_path: Path) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    name = filled(data)["ended"]
    answer("store", "archive", name, "--to", away, "--data", data)
    key = tmp_path / "key"
    key.write_text(beliefd("log", "key", "show", "--data", data).stdout)
    files = ("--ledger", away / f"{name}.jsonl", "--checkpoint", away / f"{name}.checkpoint")
    found = answer("audit", "verify", *files, "--proof", away / f"{name}.proof.json", "--key", key)
    assert (found["covering"]["covered"], found["covering"]["not_covered"]) == (4, 0)
    assert run_node("verify.mjs", str(away / f"{name}.jsonl")).code == 0


@pytest.mark.parametrize("name", ["../escaped", "{}/log", "sub/dir", "..", "é" * 128])
def test_the_files_of_a_session_are_in_the_folder_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    """Ids come with ledgers that were taken in, and from other servers."""
    data, away = tmp_path / "data", tmp_path / "deep" / "away"
    data.mkdir(mode=0o700)
    name = name.format(data)
    with World(data / "beliefd.db") as calls:
        ids = iter([name])
        new_id = calls.steward.environment.new_id
        calls.steward.environment = replace(
            calls.steward.environment, new_id=lambda: next(ids, None) or new_id()
        )
        assert calls.session() == name
    before = {path for path in tmp_path.rglob("*") if away not in path.parents}
    answer("store", "archive", name, "--to", away, "--data", data)
    after = {path for path in tmp_path.rglob("*") if away not in path.parents}
    assert {path.name for path in after - before} <= {"deep", "away", "log.key", "log.checkpoint"}
    files = sorted(path.name for path in away.iterdir())
    assert [one.rpartition(".")[2] for one in files] == ["checkpoint", "jsonl", "json"]
    (ledger,) = away.glob("*.jsonl")
    assert answer("store", "unarchive", ledger, "--data", data)["events"] == {str(ledger): 2}


def test_over_http_and_back(tmp_path: Path) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    names = filled(data)
    token = beliefd("token", "create", "--name", "ops", "--role", "admin", "--data", data).stdout.strip()
    server = ServerProcess(data)
    try:
        at = ("--url", server.url, "--token", token)
        assert answer("store", "archive", names["ended"], "--to", away, *at)["left"] == []
        shown = beliefd("session", "show", names["ended"], *at, "--json")
        error = json.loads(shown.output)["error"]
        assert (error["code"], error["details"]["events"]) == ("SESSION_ARCHIVED", 4)
        path = away / f"{names['ended']}.jsonl"
        assert answer("store", "unarchive", path, *at)["events"] == {str(path): 4}
        assert answer("audit", "verify", names["ended"], *at)["ok"]
    finally:
        server.kill()


def test_archived_sessions_move_with_their_store(tmp_path: Path, postgres_url: str) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    name = filled(data)["ended"]
    answer("store", "archive", name, "--to", away, "--data", data)
    assert answer("store", "migrate", data, postgres_url)["sessions"] == 3
    assert answer("store", "migrate", data, postgres_url)["added"] == 0
    assert answer("log", "check", "--store", postgres_url)["ok"]
    answer("store", "unarchive", away / f"{name}.jsonl", "--store", postgres_url, "--data", data)
    assert answer("audit", "verify", name, "--store", postgres_url, "--data", data)["ok"]
    answer("store", "backup", tmp_path / "copy.db", "--data", data)
    restored = tmp_path / "restored"
    answer("store", "restore", tmp_path / "copy.db", "--data", restored)
    answer("store", "unarchive", away / f"{name}.jsonl", "--data", restored)
    assert answer("audit", "verify", "--all", "--data", restored)["ok"]


@pytest.mark.slow
def test_a_store_that_was_put_back_to_an_earlier_time_is_named_against_what_was_signed_since(
    tmp_path: Path,
) -> None:
    """Whoever keeps a checkpoint names it, and so does the folder that has seen more."""
    data = tmp_path / "data"
    names = filled(data)
    answer("log", "checkpoint", "--now", "-o", tmp_path / "first", "--data", data)
    answer("store", "backup", tmp_path / "early.db", "--data", data)
    with opened(str(data / "beliefd.db")) as calls:
        calls.eliminate(names["open"], source_id="s", observation_id="o", eliminated=["a"])
    beliefd("token", "create", "--name", "late", "--role", "agent", "--data", data)
    answer("log", "checkpoint", "--now", "-o", tmp_path / "second", "--data", data)
    key = tmp_path / "key"
    key.write_text(beliefd("log", "key", "show", "--data", data).stdout)
    asyncio.run(_noted(data))
    for end in ("", "-wal", "-shm"):
        (data / f"beliefd.db{end}").unlink(missing_ok=True)
    done = answer("store", "restore", tmp_path / "early.db", "--data", data, code=3)
    assert "this is a rollback" in done["rollback"]
    assert beliefd("log", "consistency", tmp_path / "first", "--key", key, "--data", data).exit_code == 0
    late = beliefd("log", "consistency", tmp_path / "second", "--key", key, "--data", data)
    assert (late.exit_code, "LOG_ROLLED_BACK" in late.output) == (5, True)


async def _noted(data: Path) -> None:
    """As a server does: it notes beside the store how far its own ledger has come."""
    store = await open_store(str(data / "beliefd.db"))
    try:
        head = await store.head(SYSTEM)
        assert head is not None
        Marker(data, str(data / "beliefd.db")).write(head)
    finally:
        await store.close()
