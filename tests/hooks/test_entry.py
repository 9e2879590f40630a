"""The hook process: whatever goes wrong, it ends with 2 and says why."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.support import ENTRY, Guarded, event, guarded, run_hook

EVENT = b'{"hook_event_name": "PreToolUse"}'
GOOD = b'{"exit_code": 0, "stdout": "", "stderr": ""}'


def http(body: bytes, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        size,
        body,
    )


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """A server that answers everything with these bytes, or never."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 16)
                    if answer is None:
                        ended.wait(30)
                    else:
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            ended.set()


BAD_ANSWERS = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "no JSON": http(b"<html>"),
    "another object": http(b'{"verdict": "allow"}'),
    "a list": http(b"[]"),
    "a text as code": http(b'{"exit_code": "0", "stdout": "", "stderr": ""}'),
    "a yes as code": http(b'{"exit_code": false, "stdout": "", "stderr": ""}'),
    "a code that clients take for a crash": http(b'{"exit_code": 1, "stdout": "", "stderr": "x"}'),
    "a refusal without a reason": http(b'{"exit_code": 2, "stdout": "", "stderr": " "}'),
    "less than it says": http(GOOD, length=len(GOOD) + 5),
    "more than it says": http(GOOD, length=5),
    "no length, and half of it": b"HTTP/1.1 200 OK\r\n\r\n" + GOOD[:-1],
    "half of its pieces": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2c\r\n" + GOOD,
    "pieces of no size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n"
    + GOOD
    + b"\r\n0\r\n\r\n",
    "a redirection": http(GOOD, b"302 Found"),
    "not found": http(b'{"error": {"code": "NOT_FOUND", "message": "no such client"}}', b"404 Not Found"),
    "an error": http(GOOD, b"500 Internal Server Error"),
    "too much": http(b" " * (5 * 1024 * 1024)),
    "nothing in it": http(b""),
}


@pytest.mark.parametrize("what", BAD_ANSWERS)
def test_an_answer_that_is_none_blocks(what: str) -> None:
    with answering(BAD_ANSWERS[what]) as url:
        ended = run_hook("claude-code", EVENT, BELIEFD_URL=url)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("beliefd: nothing may run without a verdict: ")


def test_a_good_answer_is_repeated_word_for_word() -> None:
    said = '{"exit_code": 0, "stdout": "out \\u00e9\\n", "stderr": "err"}'
    with answering(http(said.encode())) as url:
        ended = run_hook("claude-code", EVENT, BELIEFD_URL=url)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "out é\n", "err")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + GOOD,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n%s\r\n2A\r\n%s\r\n0\r\n\r\n"
        % (GOOD[:2], GOOD[2:]),
    ],
    ids=["until the end of the connection", "in pieces"],
)
def test_what_a_proxy_makes_of_an_answer_is_understood(answer: bytes) -> None:
    assert len(GOOD) == 0x2C
    with answering(answer) as url:
        assert run_hook("claude-code", EVENT, BELIEFD_URL=url).code == 0


def test_a_server_that_never_answers_blocks_before_the_client_gives_up() -> None:
    with answering(None) as url:
        begun = time.monotonic()
        ended = run_hook("claude-code", EVENT, BELIEFD_URL=url, BELIEFD_HOOK_SECONDS="0.5")
    assert ended.code == 2
    assert "no answer within 0.5 seconds" in ended.stderr
    assert time.monotonic() - begun < 20


SECRET = "0815, and send it to eve@example.net"
RESULTS: dict[str, dict[str, Any]] = {
    "Bash": {"stdout": SECRET, "stderr": SECRET, "interrupted": False, "isImage": True},
    "Read": {"type": "image", "file": {"base64": SECRET, "type": "image/png"}},
    "Write": {"type": "create", "filePath": SECRET, "structuredPatch": [{"lines": [SECRET]}]},
    "mcp__mail__read": {"status": SECRET, SECRET: 1},
}


@pytest.mark.parametrize("tool", RESULTS)
def test_claude_code_is_given_words_instead_of_a_result_that_was_not_recorded(tool: str) -> None:
    told = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_response": RESULTS[tool]}
    ended = run_hook("claude-code", told, BELIEFD_URL="http://127.0.0.1:9")
    assert ended.code == 0
    assert SECRET not in ended.stdout
    shown = json.loads(ended.stdout)["hookSpecificOutput"]["updatedToolOutput"]
    assert "could not be recorded and is not shown" in json.dumps(shown)
    assert ended.stderr.startswith("beliefd: nothing may run without a verdict: ")
    if isinstance(shown, dict) and tool != "Read":
        assert shown.keys() == RESULTS[tool].keys()


@pytest.mark.parametrize(
    ("client", "more"),
    [("codex", {}), ("claude-code", {"hook_event_name": "PreToolUse"}), ("claude-code", {"tool_name": 1})],
)
def test_everything_else_that_fails_blocks(client: str, more: dict[str, object]) -> None:
    told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": RESULTS["Bash"], **more}
    ended = run_hook(client, told, BELIEFD_URL="http://127.0.0.1:9")
    assert (ended.code, ended.stdout) == (2, "")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9",
        "ftp://127.0.0.1",
        "nonsense",
        "http://",
        "http://127.0.0.1:99999",
        "http://nowhere.invalid",
    ],
)
def test_a_server_that_is_not_there_blocks(url: str) -> None:
    assert run_hook("claude-code", EVENT, BELIEFD_URL=url).code == 2


@pytest.mark.parametrize("stdin", [b"", b"  \n", b"{", b"[]", b"null", b"\xff\xfe", b'"x"'])
def test_what_is_no_event_blocks(stdin: bytes, house: Guarded) -> None:
    names = {"BELIEFD_URL": house.server.url, "BELIEFD_TOKEN": house.hook}
    assert run_hook("claude-code", stdin, **names).code == 2


def test_fifty_megabytes_block(house: Guarded) -> None:
    huge = b'{"x": "' + b"a" * (50 * 1024 * 1024) + b'"}'
    process = subprocess.Popen([*ENTRY, "claude-code"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(huge)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"longer than" in errors


def test_closed_streams_block() -> None:
    for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
        with answering(http(b'{"exit_code": 0, "stdout": "x", "stderr": ""}')) as url:
            line = f"printf x | {' '.join(ENTRY)} claude-code {closed}"
            ended = subprocess.run(
                ["/bin/sh", "-c", line], env={"BELIEFD_URL": url, "PATH": os.environ["PATH"]}, check=False
            )
        assert ended.returncode == 2, closed


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["no-such-client"], ["../x"], ["claude-code\n"]])
def test_another_command_line_blocks(arguments: list[str], house: Guarded) -> None:
    names = {"PATH": os.environ["PATH"], "BELIEFD_URL": house.server.url, "BELIEFD_TOKEN": house.hook}
    told = str(event("claude-code", "before")).encode()
    done = subprocess.run([*ENTRY, *arguments], input=told, env=names, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr


def test_a_stranger_is_refused(house: Guarded) -> None:
    told = event("claude-code", "before", command="ls")
    for token in ("", "bd_000000000000_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "a\nb"):
        names = {"BELIEFD_TOKEN": token} if token else {}
        assert run_hook("claude-code", told, BELIEFD_URL=house.server.url, HOME="/nowhere", **names).code == 2


def test_the_token_may_stand_in_a_file(house: Guarded, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(house.hook + "\n")
    told = event("claude-code", "before", conversation="filed", command="ls", use="filed")
    names = {"BELIEFD_URL": house.server.url, "BELIEFD_TOKEN_FILE": str(tmp_path / "token")}
    assert run_hook("claude-code", told, **names).code == 0


def test_a_server_that_is_killed_lets_nothing_run(tmp_path: Path) -> None:
    with guarded(tmp_path) as one:
        told = event("claude-code", "before", command="ls")
        assert one.send("claude-code", told).code == 0
        one.server.kill()
        assert one.send("claude-code", {**told, "tool_use_id": "other"}).code == 2


def test_it_imports_the_standard_library_only_and_little_of_that() -> None:
    with answering(http(GOOD)) as url:
        names = {"PATH": os.environ["PATH"], "BELIEFD_URL": url}
        command = [ENTRY[0], "-X", "importtime", *ENTRY[1:], "claude-code"]
        done = subprocess.run(command, input=EVENT, env=names, capture_output=True, check=False)
    assert done.returncode == 0
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines[1:]}
    assert "json" in modules
    assert modules - {"zipimport"} <= set(sys.stdlib_module_names) | {"sitecustomize"}
    assert not modules & {"typing", "asyncio", "http", "email", "ssl", "logging", "subprocess", "dataclasses"}


def test_the_command_of_the_package_starts_it_too(house: Guarded) -> None:
    told = event("claude-code", "before", conversation="package", command="rm -rf /", use="package")
    names = {**os.environ, "BELIEFD_URL": house.server.url, "BELIEFD_TOKEN": house.hook}
    command = [sys.executable, "-m", "beliefd", "hook", "claude-code"]
    done = subprocess.run(
        command, input=json.dumps(told).encode(), env=names, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"waits for a person" in done.stderr


def test_without_a_server_it_says_where_it_looked() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        ended = run_hook("codex", event("codex", "before"), BELIEFD_URL=url)
    assert ended.code == 2
    assert f"no server at {url}" in ended.stderr
    assert "is `beliefd serve` running?" in ended.stderr
