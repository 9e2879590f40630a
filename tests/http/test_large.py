"""Sizes at which careless servers fall over: long bodies, long lists, a million hypotheses."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from beliefd.testing.world import ONTOLOGY_JSON
from tests.http.calls import ELIMINATE, JSON, LINES, declare, eliminate, error_of, head, url
from tests.http.raw import connected
from tests.support.server import ServerProcess

T = TypeVar("T")
MILLION = 1_000_000
CHUNK = b"x" * 1_000_000


def stream(megabytes: int) -> Iterator[bytes]:
    yield b'{"justification": "'
    for _ in range(megabytes):
        yield CHUNK


@pytest.mark.slow
@pytest.mark.parametrize("announced", [True, False], ids=["with length", "chunked"])
def test_a_hundred_megabytes_are_refused_and_the_connection_lives_on(
    announced: bool, http: httpx.Client, session_id: str
) -> None:
    before = head(http, session_id)
    length = {"Content-Length": str(100 * len(CHUNK) + 19)} if announced else {}
    answer = http.post(
        f"/v1/sessions/{session_id}/eliminate", content=stream(100), headers={**JSON, **length}
    )
    error = error_of(answer, 413, Code.PAYLOAD_TOO_LARGE)
    assert error["details"] == {"path": "$", "limit": BY_NAME["eliminate"].max_body}
    assert head(http, session_id) == before


def test_the_answer_arrives_even_if_the_caller_wants_to_hang_up(
    server: ServerProcess, session_id: str
) -> None:
    size = BY_NAME["eliminate"].max_body + 1
    with connected(server) as connection:
        headers = {"Connection": "close", "Content-Length": str(size)}
        connection.request("POST", f"/v1/sessions/{session_id}/eliminate", b"", headers)
        connection.send(b"x" * size)
        assert connection.answer().status == 413


@pytest.mark.parametrize("extra", [0, 1])
def test_the_limit_is_exact(extra: int, http: httpx.Client, session_id: str) -> None:
    body = json.dumps(ELIMINATE).encode()
    padded = body + b" " * (BY_NAME["eliminate"].max_body + extra - len(body))
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", content=padded, headers=JSON)
    assert answer.status_code == (413 if extra else 200)


@pytest.mark.parametrize("operation", [row for row in OPERATIONS if row.takes_body], ids=lambda row: row.name)
def test_every_body_has_a_limit(operation: Operation, server: ServerProcess, session_id: str) -> None:
    if Role.AGENT not in operation.roles:
        return  # turned away before its body matters; the tests of authentication show that
    with connected(server) as connection:
        headers = {"Expect": "100-continue", "Content-Length": str(operation.max_body + 1)}
        connection.request(operation.method, url(operation, session_id), b"", headers)
        assert connection.answer().status == 413


def test_a_long_list_of_survivors_comes_in_pages_and_is_counted_exactly(http: httpx.Client) -> None:
    names = [f"h{index:06}" for index in range(100_000)]
    session_id = declare(http, names)
    assert eliminate(http, session_id, *names[::1000]).json()["snapshot"]["n_survivors"] == 99_900
    left = [name for index, name in enumerate(names) if index % 1000]
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = http.get(f"/v1/sessions/{session_id}", params=after).json()
        assert (page["n_survivors"], page["n_hypotheses"]) == (99_900, 100_000)
        found += page["survivors"]
        if page["survivors_next"] is None:
            break
        after = {"survivors_after": page["survivors_next"]}
    assert found == left
    whole = http.get(f"/v1/sessions/{session_id}", params={"survivors_limit": 100_000}).json()
    assert (whole["survivors"], whole["survivors_next"]) == (left, None)
    none = http.get(f"/v1/sessions/{session_id}", params={"survivors_limit": 0}).json()
    assert (none["survivors"], none["n_survivors"]) == ([], 99_900)
    past = http.get(f"/v1/sessions/{session_id}", params={"at": 1, "survivors_limit": 1}).json()
    assert (past["survivors"], past["n_survivors"]) == (["h000000"], 100_000)


@pytest.mark.slow
def test_others_are_answered_while_a_million_hypotheses_are_declared_and_replayed(
    server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    names = [f"hypothesis-{index * 7919 % MILLION:07}" for index in range(MILLION)]
    body = json.dumps({"ontology": ONTOLOGY_JSON, "hypotheses": names}).encode()

    def declare_them() -> str:
        with httpx.Client(base_url=server.url, verify=False, timeout=600) as big:
            answer = big.post("/v1/sessions", content=body, headers=JSON)
            assert answer.status_code == 201, answer.text[:500]
            assert answer.json()["snapshot"]["n_survivors"] == MILLION
            return str(answer.json()["session_id"])

    large = answered_meanwhile(http, session_id, declare_them)
    removed = eliminate(http, large, *sorted(names)[:10]).json()
    assert removed["snapshot"]["n_survivors"] == MILLION - 10
    assert removed["snapshot"]["survivors"][0] == "hypothesis-0000010"
    lines = b"".join(
        json.dumps({"verb": "ELIMINATE", **ELIMINATE, "eliminated": [name]}).encode() + b"\n"
        for name in names[:20]
    )
    batch = http.post(f"/v1/sessions/{large}/batch", content=lines, headers=LINES)
    assert json.loads(batch.text.splitlines()[-1])["snapshot"]["n_survivors"] < MILLION - 10

    def look_back() -> int:
        with httpx.Client(base_url=server.url, verify=False, timeout=600) as big:
            past = big.get(f"/v1/sessions/{large}", params={"at": 1, "survivors_limit": 0}).json()
            assert big.get(f"/v1/sessions/{large}/audit/verify").json()["ok"] is True
            return int(past["n_survivors"])

    assert answered_meanwhile(http, session_id, look_back) == MILLION


def answered_meanwhile(http: httpx.Client, session_id: str, work: Callable[[], T]) -> T:
    """Do the work in a thread and keep asking for other things until it is done."""
    done: list[T] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    answers = 0
    while thread.is_alive():
        assert eliminate(http, session_id, "a").status_code == 200
        answers += 1
    # A server that does one thing at a time answers once before, once after and hardly ever in between.
    assert answers > 20
    return done[0]
