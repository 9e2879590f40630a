"""A server that had tokens is never open again by accident: not on an empty, earlier or other store."""

import asyncio
import contextlib
import json
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.cli.marker import MARKER, address_of
from beliefd.cli.output import Exit
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Role
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.credentials import create_token, revoke_token
from beliefd.steward.tokens import Authenticator
from beliefd.stores.opening import open_store
from tests.cli.runner import answer, beliefd, finished, process
from tests.support.issuer import Issuer, settings
from tests.support.server import complaints

STOP_SECONDS = 30


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@contextlib.contextmanager
def serving(*arguments: str | Path) -> Iterator[str]:
    server = process("serve", "--port", "0", *arguments)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().removeprefix("beliefd is listening on ").strip()
    finally:
        server.terminate()
        server.communicate(timeout=STOP_SECONDS)


def make_token(*at: str | Path, name: str = "me") -> str:
    return str(answer("token", "create", "--name", name, "--role", "admin", *at)["token"])


def asked(url: str, token: str | None = None, path: str = "/v1/sessions") -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{url}{path}", headers=headers, verify=False)


def empty(data: Path) -> None:
    for file in data.glob("beliefd.db*"):
        file.unlink()


def verbs(data: Path) -> list[str]:
    told = answer("audit", "show", SYSTEM, "--data", data)
    return [one["verb"] for one in told["events"]]


@pytest.mark.slow
def test_an_empty_store_is_refused_where_there_were_tokens(data: Path) -> None:
    make_token("--data", data)
    with serving("--data", data) as url:
        assert asked(url).status_code == 401
    empty(data)
    refused = finished("serve", "--port", "0", "--data", data)
    assert refused.returncode == Exit.BAD_INPUT
    assert "--accept-new-store" in refused.stderr
    with serving("--data", data, "--accept-new-store") as url:
        assert asked(url).status_code == 200
    assert verbs(data) == ["DECLARE_SESSION", "RESTORE_STORE"]
    with serving("--data", data) as url:  # accepted once is enough
        assert asked(url).status_code == 200


@pytest.mark.slow
def test_whose_signatures_let_people_in_is_on_record(data: Path, tmp_path: Path) -> None:
    file = settings(Issuer(), tmp_path / "sign-in.json")
    for _ in range(2):
        with serving("--data", data, "--sign-in", file) as url:
            assert asked(url).status_code == 401
    events = answer("audit", "show", SYSTEM, "--data", data)["events"]
    assert [one["delta"]["name"] for one in events if one["verb"] == "CHANGE_KEY"].count("sign-in/corp") == 1


@pytest.mark.slow
def test_tokens_that_no_server_has_seen_yet_are_remembered_too(data: Path) -> None:
    make_token("--data", data)
    marker = data / MARKER
    assert stat.S_IMODE(marker.stat().st_mode) == 0o600
    assert json.loads(marker.read_bytes())["stores"]["beliefd.db"]["seq"] == 2
    empty(data)
    assert finished("serve", "--port", "0", "--data", data).returncode == Exit.BAD_INPUT


@pytest.mark.slow
def test_an_earlier_copy_of_the_store_is_refused_and_accepting_it_is_recorded(
    data: Path, tmp_path: Path
) -> None:
    first = make_token("--data", data)
    shutil.copy(data / "beliefd.db", tmp_path / "backup.db")
    second = make_token("--data", data, name="second")
    beliefd("token", "revoke", first.split("_")[1], "--data", data)
    empty(data)
    shutil.copy(tmp_path / "backup.db", data / "beliefd.db")
    refused = finished("serve", "--port", "0", "--data", data)
    assert (refused.returncode, "had 4 events" in refused.stderr) == (Exit.BAD_INPUT, True)
    with serving("--data", data, "--accept-new-store") as url:
        assert asked(url, second).status_code == 401
        assert asked(url, first).status_code == 200
    assert verbs(data) == ["DECLARE_SESSION", "MAKE_TOKEN", "RESTORE_STORE"]


@pytest.mark.slow
def test_a_table_that_is_emptied_under_a_running_server_does_not_open_it(data: Path) -> None:
    token = make_token("--data", data)
    with serving("--data", data) as url:
        assert asked(url, token).status_code == 200
        with contextlib.closing(sqlite3.connect(data / "beliefd.db")) as database, database:
            database.execute("DELETE FROM tokens")
        # What was read may be a second old; however often one asks, nobody is let in without a token.
        for _ in range(20):
            assert asked(url).status_code == 401
    assert beliefd("doctor", "--data", data).exit_code == 1
    with serving("--data", data) as url:
        assert asked(url).status_code == 401


@pytest.mark.slow
def test_a_token_can_be_required_on_loopback(data: Path) -> None:
    refused = finished("serve", "--port", "0", "--data", data, "--require-token")
    assert (refused.returncode, "token create" in refused.stderr) == (Exit.BAD_INPUT, True)
    token = make_token("--data", data)
    with serving("--data", data, "--require-token") as url:
        assert asked(url).status_code == 401
        assert asked(url, token).status_code == 200


@pytest.mark.slow
def test_a_new_folder_says_so_once(data: Path) -> None:
    server = process("serve", "--port", "0", "--data", data)
    assert server.stdout is not None
    server.stdout.readline()
    server.terminate()
    assert "a new store" in server.communicate(timeout=STOP_SECONDS)[1]
    make_token("--data", data)
    server = process("serve", "--port", "0", "--data", data)
    assert server.stdout is not None
    server.stdout.readline()
    server.terminate()
    assert complaints(server.communicate(timeout=STOP_SECONDS)[1]) == []


@pytest.mark.slow
def test_another_database_under_the_same_address_is_refused(data: Path, postgres_url: str) -> None:
    data.mkdir()
    at = ("--data", data, "--store", postgres_url)
    make_token(*at)
    marker = data / MARKER
    seen = json.loads(marker.read_bytes())
    assert list(seen["stores"]) == [address_of(postgres_url)]
    seen["stores"][address_of(postgres_url)]["hash"] = "0" * 64
    marker.write_text(json.dumps(seen))
    assert finished("serve", "--port", "0", *at).returncode == Exit.BAD_INPUT


def test_an_unreadable_marker_is_not_one_that_says_nothing(data: Path) -> None:
    make_token("--data", data)
    (data / MARKER).write_text("{}}")
    refused = finished("serve", "--port", "0", "--data", data)
    assert refused.returncode != 0
    assert MARKER in refused.stderr


@pytest.mark.slow
def test_policies_from_files_and_keys_are_on_record(data: Path, tmp_path: Path) -> None:
    token = make_token("--data", data)
    file = tmp_path / "policy.yaml"
    file.write_text("uncertainty: {defer_above: 0.7}\n")
    arguments = ("--data", data, "--policy", file, "--webhook", "http://127.0.0.1:1/")
    for _ in range(2):  # the same again is no news
        with serving(*arguments) as url:
            told = asked(url, token, f"/v1/sessions/{SYSTEM}/audit").json()["events"]
    assert [one["verb"] for one in told][2:] == ["ADOPT_POLICY", "CHANGE_KEY"]
    (data / "webhook.key").unlink()
    with serving(*arguments) as url:
        told = asked(url, token, f"/v1/sessions/{SYSTEM}/audit").json()["events"]
    assert [one["delta"].get("name") for one in told][3:] == ["webhook.key", "webhook.key"]
    assert told[-1]["delta"]["fingerprint"] != told[-2]["delta"]["fingerprint"]


def test_the_doctor_and_the_check_of_projections_name_a_planted_token(data: Path) -> None:
    make_token("--data", data)
    with contextlib.closing(sqlite3.connect(data / "beliefd.db")) as database, database:
        database.execute(
            "INSERT INTO tokens (token_id, name, role, tier, secret_hash, created_at)"
            " VALUES ('666', 'x', 'admin', 'PRIVILEGE', '00', '2026')"
        )
    told = answer("doctor", "--data", data, code=1)
    assert any("`666` was made by no event" in one["message"] for one in told["findings"])
    checked = answer("projection", "check", "--data", data, code=5)
    assert checked["tokens"] == [{"token_id": "666", "problem": "planted"}]


def test_a_space_that_no_event_made_is_not_there_and_is_named_by_the_doctor(data: Path) -> None:
    token = make_token("--data", data)
    answer("space", "create", "lab", "--data", data)
    with contextlib.closing(sqlite3.connect(data / "beliefd.db")) as database, database:
        database.execute("INSERT INTO spaces VALUES ('forged', '2026-01-01T00:00:00Z', 'human://ana')")
        database.execute("UPDATE spaces SET created_by = 'human://ana' WHERE name = 'lab'")
    with serving("--data", data) as url:
        spaces = asked(url, token, "/v1/spaces").json()["spaces"]
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.post("/v1/sessions", json=declaring("forged")).status_code == 404
            assert client.post("/v1/sessions", json=declaring("lab")).status_code == 201
    assert [(one["name"], one.get("created_by")) for one in spaces] == [
        ("default", None),
        ("lab", "operator://local"),
    ]
    told = answer("doctor", "--data", data, code=1)
    assert [one["message"] for one in told["findings"] if one["level"] == "wrong"] == [
        "space `forged` was made by no event: it is not honoured"
    ]


def declaring(space: str) -> dict[str, object]:
    names = ("hypothesis_space_id", "hypothesis_version", "causal_graph_ref", "causal_graph_version")
    return {"hypotheses": ["a", "b"], "ontology": dict.fromkeys(names, "1"), "space": space}


def test_a_calibration_set_that_was_changed_is_not_used_and_is_named_by_the_doctor(data: Path) -> None:
    token = make_token("--data", data)
    kept = {"model": "m", "score": "lac", "scores": [0.05 * one for one in range(20)]}
    bearer = {"Authorization": f"Bearer {token}"}
    question = {"probabilities": [0.6, 0.3, 0.1], "calibration_set": "set", "alpha": 0.2}
    with serving("--data", data) as url:
        assert httpx.put(f"{url}/v1/calibrations/set", json=kept, headers=bearer).is_success
        assert httpx.post(f"{url}/v1/uncertainty/conformal_set", json=question, headers=bearer).is_success
    with contextlib.closing(sqlite3.connect(data / "beliefd.db")) as database, database:
        database.execute("UPDATE calibrations SET document = CAST(replace(document, '0.95', '0.05') AS BLOB)")
    with serving("--data", data) as url:
        used = httpx.post(f"{url}/v1/uncertainty/conformal_set", json=question, headers=bearer)
        shown = httpx.get(f"{url}/v1/calibrations/set", headers=bearer)
    assert [one.json()["error"]["code"] for one in (used, shown)] == ["CONTENT_DAMAGED"] * 2
    told = answer("doctor", "--data", data, code=1)
    (wrong,) = [one for one in told["findings"] if one["level"] == "wrong"]
    assert (wrong["check"], "version 1 of `set` does not hash to" in wrong["message"]) == (
        "calibrations",
        True,
    )


def test_a_store_that_was_never_served_has_no_ledger_of_its_own(data: Path) -> None:
    answer("session", "declare", "a", "b", "--data", data)

    async def head() -> object:
        store = await open_store(data / "beliefd.db")
        try:
            return await store.head(SYSTEM)
        finally:
            await store.close()

    assert asyncio.run(head()) is None


@pytest.mark.slow
def test_a_fork_however_long_is_not_the_store_that_was_seen(data: Path, tmp_path: Path) -> None:
    old = make_token("--data", data, name="old")
    shutil.copytree(data, tmp_path / "backup")
    make_token("--data", data)
    beliefd("token", "revoke", old.split("_")[1], "--data", data)
    shutil.copy(tmp_path / "backup" / "beliefd.db", data / "beliefd.db")
    for command in (
        ("token", "create", "--name", "x", "--role", "admin"),
        ("token", "revoke", old.split("_")[1]),
    ):
        told = beliefd(*command, "--data", data)
        assert (told.exit_code, "--accept-new-store" in told.output) == (Exit.REFUSED, True)
    assert verbs(data) == ["DECLARE_SESSION", "MAKE_TOKEN"], "nothing was written to it"
    refused = finished("serve", "--port", "0", "--data", data)
    assert refused.returncode == Exit.BAD_INPUT


def test_a_revocation_that_was_seen_stays_if_an_earlier_store_takes_the_place(tmp_path: Path) -> None:
    async def story() -> None:
        store = await open_store(tmp_path / "a.db")
        directory = bootstrap(store).directory
        secret = await create_token(store, "ann", Role.AGENT)
        with sqlite3.connect(tmp_path / "a.db") as now, sqlite3.connect(tmp_path / "b.db") as earlier:
            now.backup(earlier)
        assert await revoke_token(store, secret.split("_")[1])
        guard = Authenticator(directory)
        for _ in range(2):
            with pytest.raises(BeliefdError):
                await guard.authenticate(f"Bearer {secret}")
            with sqlite3.connect(tmp_path / "b.db") as earlier, sqlite3.connect(tmp_path / "a.db") as now:
                earlier.backup(now)
        await directory.refresh(force=True)
        assert directory.tokens, "the earlier store is read"
        await store.close()

    asyncio.run(story())
