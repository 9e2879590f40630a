"""`beliefd serve` and `beliefd token`, as the processes that people and supervisors start."""

import json
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd.cli.commands.serve import FOR_TRYING_OUT
from beliefd.cli.marker import MARKER
from tests.cli.runner import answer, beliefd, finished, process

STOP_SECONDS = 30
BY = ("--source", "human://alice", "--observation", "o1")


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server on any free port, by the address it prints."""
    server = process("serve", "--port", "0", *arguments)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().removeprefix("beliefd is listening on ").strip(), server
    finally:
        server.terminate()
        server.communicate(timeout=STOP_SECONDS)


def test_it_prints_where_it_listens_once_it_answers(data: Path) -> None:
    with serving("--data", data) as (url, _):
        response = httpx.get(f"{url}/healthz", verify=False)
        assert response.json()["status"] == "ok"
        assert "server" not in response.headers
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert stat.S_IMODE((data / "beliefd.db").stat().st_mode) == 0o600


def test_the_webhook_key_is_kept_beside_a_store_that_is_elsewhere(data: Path, postgres_url: str) -> None:
    with serving("--data", data, "--store", postgres_url, "--webhook", "http://127.0.0.1:1/") as (url, _):
        assert httpx.get(f"{url}/healthz", verify=False).is_success
        assert stat.S_IMODE((data / "webhook.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_being_told_to_stop_is_not_a_failure_even_with_listeners(data: Path, how: signal.Signals) -> None:
    with serving("--data", data) as (url, server):
        made = answer("session", "declare", "a", "b", "--url", url)["session_id"]
        with httpx.stream("GET", f"{url}/v1/sessions/{made}/events", verify=False) as feed:
            lines = feed.iter_lines()
            assert next(lines).startswith(":")
            server.send_signal(how)
            for _ in lines:  # the feed is ended, not cut
                pass
        output, errors = server.communicate(timeout=STOP_SECONDS)
    new = f"a new store: nothing was ever kept in `{data}` before"
    link = re.sub(r"key=[\w-]+", "key=", errors.splitlines()[1])
    assert (server.returncode, output, errors.splitlines()[0]) == (0, "", new)
    assert (link, errors.count("\n")) == (f"look and decide at {url}/sign-in?key= ({FOR_TRYING_OUT})", 2)


def test_a_taken_port_is_said_plainly(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for command in ("serve", "demo"):
            result = finished(command, "--port", str(port), "--data", data)
            assert result.returncode == 1
            assert f"cannot listen on `127.0.0.1:{port}`: Address already in use" in result.stderr
            assert "Traceback" not in result.stderr


def test_other_machines_are_let_in_only_with_tokens(data: Path) -> None:
    refused = finished("serve", "--host", "0.0.0.0", "--port", "0", "--data", data)
    assert refused.returncode == 2
    assert "beliefd token create" in refused.stderr
    beliefd("token", "create", "--name", "ops", "--role", "admin", "--data", data)
    with serving("--host", "0.0.0.0", "--data", data) as (url, _):
        local = url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}/v1/sessions", verify=False).status_code == 401


def test_an_unknown_host_is_bad_input(data: Path) -> None:
    result = finished("serve", "--host", "no.such.host.invalid", "--data", data)
    assert (result.returncode, "no.such.host.invalid" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("demo", "--port", "0", "--once")])
def test_a_store_that_cannot_be_opened_is_said_plainly(data: Path, command: tuple[str, ...]) -> None:
    data.mkdir()
    (data / "beliefd.db").write_bytes(b"this is not a database, it only looks like a file" * 100)
    result = finished(*command, "--data", data)
    assert result.returncode == 1
    assert "cannot open" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_in_place_of_the_directory_is_said_plainly(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    assert beliefd("token", "create", "--name", "a", "--role", "agent", "--data", path / "in").exit_code == 1


@pytest.mark.parametrize("name", ["policy.yaml", "policy.json"])
def test_a_policy_file_rules(data: Path, tmp_path: Path, name: str) -> None:
    policy = tmp_path / name
    policy.write_text(json.dumps({"termination": {"force_roles": ["agent"]}}))
    with serving("--data", data, "--policy", policy) as (url, _):
        made = answer("session", "declare", "a", "b", "--url", url)["session_id"]
        ruling = answer("session", "terminate", made, "--force", "--url", url)
        assert ruling["reason"] == "forced by role `agent`"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("termination: {force_rolls: []}", "$.termination.force_rolls"),
        ("termination: {force_roles: [king]}", "$.termination.force_roles[0]"),
        ("- a", "expected `object`"),
        ("v: 1\nv: 1", "appears twice"),
        (
            "constraints:\n  c:\n    when: {op: eq, args: [a, 2026-01-31T12:00:00Z]}",
            "`2026-01-31T12:00:00Z` is read as a time, which JSON does not have; quote it as text at line 3",
        ),
        ("{", "not YAML"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(
    data: Path, tmp_path: Path, text: str, complaint: str
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(text)
    result = finished("serve", "--port", "0", "--data", data, "--policy", policy)
    assert result.returncode == 2
    assert complaint in result.stderr


def test_a_missing_policy_is_bad_input(data: Path, tmp_path: Path) -> None:
    result = finished("serve", "--port", "0", "--data", data, "--policy", tmp_path / "none.yaml")
    assert (result.returncode, "cannot read" in result.stderr) == (2, True)


def test_the_command_line_speaks_to_a_server_with_a_token(data: Path, tmp_path: Path) -> None:
    token = beliefd(
        "token", "create", "--name", "bot", "--role", "agent", "--data", data
    ).stdout.splitlines()[-1]
    with serving("--data", data) as (url, _):
        at = ("--url", url, "--token", token)
        made = answer("session", "declare", "a", "b", *at)["session_id"]
        assert answer("session", "eliminate", made, "a", *BY, *at)["applied_eliminated"] == ["a"]
        assert beliefd("session", "show", made, *at).exit_code == 0
        assert answer("session", "list", *at)["sessions"][0]["session_id"] == made
        assert "agent://bot" in beliefd("audit", "show", made, *at).stdout
        assert answer("audit", "verify", made, *at)["ok"] is True
        assert answer("audit", "verify", "--all", *at)["ok"] is True
        assert answer("audit", "replay", made, *at)["same"] is True
        path = tmp_path / "ledger.jsonl"
        assert answer("audit", "export", made, "-o", path, *at)["events"] == 2
        assert answer("audit", "import", path, *at, code=4)["error"]["code"] == "FORBIDDEN"
        assert beliefd("session", "show", made, "--url", url).exit_code == 4
        assert beliefd("session", "show", made, "--url", url, "--token", "bd_0_forged").exit_code == 4


@pytest.mark.parametrize(
    "command", [("session", "list"), ("session", "watch", "x"), ("audit", "verify", "x")]
)
def test_a_server_that_is_not_there_exits_with_1(command: tuple[str, ...]) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        result = beliefd(*command, "--url", url)
    assert result.exit_code == 1
    assert f"cannot reach `{url}`" in result.stderr


@pytest.mark.parametrize("url", ["not a url", "http://127.0.0.1:port", "ftp://x"])
@pytest.mark.parametrize("command", ["show", "watch"])
def test_an_address_that_is_none_is_said_plainly(url: str, command: str) -> None:
    result = beliefd("session", command, "x", "--url", url)
    assert result.exit_code == 2
    assert f"`{url}`" in result.stderr


@pytest.mark.parametrize("token", ["bd_é", "two\nlines"])
def test_a_token_that_no_header_can_carry_is_bad_input(token: str) -> None:
    assert beliefd("session", "list", "--token", token).exit_code == 2


@pytest.mark.parametrize("embedded", [False, True], ids=["server", "store"])
def test_watching_ends_when_the_session_does(data: Path, embedded: bool) -> None:
    with serving("--data", data) as (url, _):
        made = answer("session", "declare", "a", "b", "--url", url)["session_id"]
        where: tuple[str | Path, ...] = ("--data", data) if embedded else ("--url", url)
        watcher = process("session", "watch", made, "--json", *where)
        assert watcher.stdout is not None
        seen = [json.loads(watcher.stdout.readline())["verb"]]
        answer("session", "eliminate", made, "a", *BY, "--url", url)
        answer("session", "terminate", made, "--url", url)
        output, errors = watcher.communicate(timeout=STOP_SECONDS)
    seen += [json.loads(line)["verb"] for line in output.splitlines()]
    assert (seen, errors) == (["DECLARE_SESSION", "ELIMINATE", "REQUEST_TERMINATION"], "")
    assert watcher.returncode == 0


@pytest.mark.parametrize("embedded", [False, True], ids=["server", "store"])
def test_following_a_timeline_goes_on_until_interrupted(data: Path, embedded: bool) -> None:
    with serving("--data", data) as (url, _):
        declared = answer("session", "declare", "a", "b", "--url", url)
        made = declared["session_id"]
        where: tuple[str | Path, ...] = ("--data", data) if embedded else ("--url", url)
        since = ("--since", declared["audit_event_id"])
        follower = process("audit", "show", made, "--follow", *since, *where)
        assert follower.stdout is not None
        answer("session", "eliminate", made, "a", *BY, "--url", url)
        line = follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        _, errors = follower.communicate(timeout=STOP_SECONDS)
    assert line.startswith("#2")
    assert (follower.returncode, errors) == (0, "")


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(data: Path) -> None:
    made = beliefd(
        "token", "create", "--name", "alice", "--role", "approver", "--tier", "DELETE", "--data", data
    )
    secret = made.stdout.splitlines()[-1]
    token_id = secret.split("_")[1]
    listed: dict[str, Any] = answer("token", "list", "--data", data)
    assert [(item["token_id"], item["role"], item["tier"]) for item in listed["tokens"]] == [
        (token_id, "approver", "DELETE")
    ]
    assert "secret" not in json.dumps(listed)
    assert token_id in beliefd("token", "list", "--data", data).stdout
    with serving("--data", data) as (url, _):
        header = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{url}/v1/sessions", headers=header, verify=False).status_code == 200
        assert answer("token", "revoke", token_id, "--data", data) == {"revoked": token_id}
        assert beliefd("token", "revoke", token_id, "--data", data).exit_code == 2
    with serving("--data", data) as (url, _):
        assert httpx.get(f"{url}/v1/sessions", headers=header, verify=False).status_code == 401


@pytest.mark.parametrize(
    "arguments", [("--name", "", "--role", "agent"), ("--name", "a\nb", "--role", "agent")]
)
def test_a_token_needs_a_name_that_can_be_read(data: Path, arguments: tuple[str, ...]) -> None:
    assert beliefd("token", "create", *arguments, "--data", data).exit_code == 2


def test_tokens_are_not_looked_for_where_there_is_no_store(data: Path) -> None:
    assert beliefd("token", "list", "--data", data).exit_code == 1
    assert not data.exists()


def test_everything_works_on_postgresql_too(tmp_path: Path, postgres_url: str) -> None:
    at = ("--store", postgres_url)
    assert beliefd("token", "create", "--name", "bot", "--role", "agent", *at).exit_code == 0
    made = answer("session", "declare", "a", "b", *at)["session_id"]
    with serving(*at, "--data", tmp_path / "unused") as (url, _):
        assert httpx.get(f"{url}/v1/sessions/{made}", verify=False).status_code == 401
    assert answer("audit", "verify", made, *at)["ok"] is True
    assert beliefd("doctor", *at).exit_code == 0
    # What was seen of the store is kept where keys would be.
    kept = {one.name for one in (tmp_path / "unused").iterdir()}
    assert kept - {"scrub.json"} == {MARKER}, "where the scrub is, if it came so far"


def test_without_tokens_a_server_says_at_start_that_every_program_tells_what_the_user_said(
    tmp_path: Path,
) -> None:
    """The guard preset takes whoever comes without a token for a teller: nobody learns that by accident."""
    rules = tmp_path / "guard.yaml"
    beliefd("policy", "init", "--preset", "guard", "-o", str(rules))
    with serving("--data", tmp_path / "open", "--policy", rules) as (_, server):
        server.terminate()
        assert "`agent://local` in `context.tellers`" in server.communicate(timeout=STOP_SECONDS)[1]
    with serving("--data", tmp_path / "plain") as (_, server):
        server.terminate()
        assert "context.tellers" not in server.communicate(timeout=STOP_SECONDS)[1]
