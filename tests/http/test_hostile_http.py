"""Requests that bend or break HTTP itself: one error shape where there is an answer, and nothing written."""

import json
import socket
import struct
from urllib.parse import quote

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.protocol.operations import OPERATIONS, Operation
from tests.http.calls import ELIMINATE, JSON, LINES, check_error, declare, eliminate, error_of, head, url
from tests.http.raw import connected
from tests.support.server import ServerProcess

BODY = json.dumps(ELIMINATE).encode()
MALFORMED = {
    "not HTTP": b"hello\r\n\r\n",
    "an unknown method": b"ELIMINATE /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a version of the future": b"GET /healthz HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "a header without a name": b"GET /healthz HTTP/1.1\r\n: x\r\n\r\n",
    "a NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
    "two lengths": b"POST /v1/sessions HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}",
    "a negative length": b"POST /v1/sessions HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a length and chunks": (
        b"POST /v1/sessions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "raw bytes in the path": b"GET /v1/sessions/\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("defect", MALFORMED)
def test_what_is_no_request_is_answered_in_the_error_shape(defect: str, server: ServerProcess) -> None:
    with connected(server) as connection:
        connection.send(MALFORMED[defect])
        answer = connection.answer()
        assert answer.status == 400
        assert answer.headers["content-type"] == "application/json"
        check_error(answer.json, Code.INVALID_REQUEST)
        assert connection.is_closed()


@pytest.mark.parametrize("endless", [b"GET /" + b"a" * 70_000, b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000])
def test_a_head_without_end_is_refused_before_it_fills_the_memory(
    endless: bytes, server: ServerProcess, http: httpx.Client
) -> None:
    with connected(server) as connection:
        connection.send(endless)
        assert http.get("/healthz").status_code == 200  # by now the first packet has been read
        connection.send(b"a" * 70_000)
        answer = connection.answer()
        assert answer.status == 431
        check_error(answer.json, Code.PAYLOAD_TOO_LARGE)


def test_large_heads_within_the_limit_are_fine(server: ServerProcess) -> None:
    with connected(server) as connection:
        connection.request("GET", "/healthz", headers={"X-Padding": "a" * 60_000})
        assert connection.answer().status == 200
        connection.request("GET", "/healthz", headers={"X-Padding": "a" * 60_000})
        assert connection.answer().status == 200


def test_unknown_paths_and_trailing_slashes_are_not_found(http: httpx.Client, session_id: str) -> None:
    for path in ("/no", "/v1", "/v2/sessions", "/v1/sessions/", f"/v1/sessions/{session_id}/", "/healthz/"):
        for method in ("GET", "POST", "DELETE"):
            error_of(http.request(method, path), 404, Code.NOT_FOUND)
    error_of(http.get(f"/v1/sessions/{session_id}/nothing"), 404, Code.NOT_FOUND)
    error_of(http.get(f"/v1//sessions/{session_id}"), 404, Code.NOT_FOUND)


def test_other_methods_are_not_allowed_and_the_answer_lists_those_that_are(
    http: httpx.Client, session_id: str
) -> None:
    paths = {url(operation, session_id) for operation in OPERATIONS}
    for path in paths:
        offered = {operation.method for operation in OPERATIONS if url(operation, session_id) == path}
        allowed = offered | ({"HEAD"} if "GET" in offered else set())
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            if method in allowed:
                continue
            answer = http.request(method, path)
            assert set(answer.headers["allow"].split(", ")) == allowed, (method, path)
            if method == "HEAD":
                assert answer.status_code == 405
            else:
                error_of(answer, 405, Code.METHOD_NOT_ALLOWED)
    error_of(http.post("/healthz"), 405, Code.METHOD_NOT_ALLOWED)


@pytest.mark.parametrize(
    "operation", [row for row in OPERATIONS if row.method == "GET"], ids=lambda row: row.name
)
def test_head_answers_like_get_without_a_body_and_never_hangs(
    operation: Operation, server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    endless = operation.media == "text/event-stream"
    status = 200 if endless else http.get(url(operation, session_id)).status_code
    with connected(server) as connection:
        connection.request("HEAD", url(operation, session_id))
        answer = connection.answer(head_only=True)
        assert answer.status == status
        assert answer.headers["content-type"] == (operation.media if status == 200 else "application/json")
        connection.request("GET", "/healthz")  # nothing of a body is in the way of the next answer
        assert connection.answer().json["status"] == "ok"


def test_ids_with_slashes_and_any_other_character_travel_in_paths(http: httpx.Client) -> None:
    odd = ["a/b", "a//b", "x?y#z", "100%", "%2F", "é ü", "\U0001f600", "exit", "a/exit", ";,=+&"]
    session_id = declare(http, odd)
    for name in odd:
        escaped = quote(name, safe="")
        why = http.get(f"/v1/sessions/{session_id}/why/{escaped}")
        assert why.json()["hypothesis"] == name
        body = {"obligation_id": name, "min_total_eliminations": 0}
        http.post(f"/v1/sessions/{session_id}/obligations", json=body)
        left = http.post(f"/v1/sessions/{session_id}/obligations/{escaped}/exit")
        assert left.json()["approved"] is True, name
    assert http.get(f"/v1/sessions/{session_id}/why/a/b").json()["hypothesis"] == "a/b"
    assert http.post(f"/v1/sessions/{session_id}/obligations/a/b/exit").json()["approved"] is True


BAD_PATHS = {
    "invalid UTF-8": ("/v1/sessions/%ff%fe", "session_id"),
    "NUL": ("/v1/sessions/a%00b", "session_id"),
    "a newline": ("/v1/sessions/a%0Ab", "session_id"),
    "513 characters": ("/v1/sessions/" + "x" * 513, "session_id"),
    "a hypothesis with a control character": ("/v1/sessions/x/why/%1b", "hypothesis"),
    "half a surrogate": ("/v1/sessions/%ed%a0%80", "session_id"),
}


@pytest.mark.parametrize("defect", BAD_PATHS)
def test_paths_that_are_no_ids_are_refused(defect: str, http: httpx.Client) -> None:
    path, name = BAD_PATHS[defect]
    assert error_of(http.get(path), 400, Code.INVALID_REQUEST)["details"]["path"] == name


BAD_QUERIES = {
    "at=0": "at",
    "at=-1": "at",
    "at=1.0": "at",
    "at=1e3": "at",
    "at=%2B1": "at",
    "at=01": "at",
    "at=": "at",
    "at": "at",
    "at=%D9%A1": "at",  # ARABIC-INDIC DIGIT ONE
    "at=99999999999999999999": "at",
    "at=2": "at",  # there is only one event
    "at=1&at=1": "at",
    "survivors_limit=100001": "survivors_limit",
    "survivors_limit=x": "survivors_limit",
    "survivors_after=": "survivors_after",
    "survivors_after=a%00": "survivors_after",
    "survivors_after=%ff": "survivors_after",
    "unknown=1": "unknown",
    "At=1": "At",
    "at=1;survivors_limit=1": "at",
}


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_queries_out_of_bounds_unknown_or_given_twice_are_refused(
    query: str, http: httpx.Client, session_id: str
) -> None:
    answer = http.get(f"/v1/sessions/{session_id}?{query}")
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == BAD_QUERIES[query]


def test_operations_without_a_query_refuse_one(http: httpx.Client, session_id: str) -> None:
    for path in ("eliminate", "batch"):
        answer = http.post(f"/v1/sessions/{session_id}/{path}?force=1", content=BODY)
        assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "force"
    for path in ("events", "audit/export", "audit/verify"):
        error_of(http.get(f"/v1/sessions/{session_id}/{path}?x=1"), 400, Code.INVALID_REQUEST)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "nonsense"},
        {**JSON, "Content-Encoding": "gzip"},
        {**JSON, "Content-Encoding": "identity, br"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_bodies_that_say_they_are_something_else_are_not_read(
    headers: dict[str, str], http: httpx.Client, session_id: str
) -> None:
    before = head(http, session_id)
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", content=BODY, headers=headers)
    error = error_of(answer, 415, Code.UNSUPPORTED_MEDIA_TYPE)
    assert error["details"]["path"] in headers
    assert head(http, session_id) == before


@pytest.mark.parametrize(
    "media",
    [
        "application/json",
        "Application/JSON ; charset=UTF-8",
        'application/json;charset="utf-8"',
        "application/vnd.x+json",
        "application/x-www-form-urlencoded",  # what curl says when it was told nothing
    ],
)
def test_json_goes_by_several_names(media: str, http: httpx.Client, session_id: str) -> None:
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", content=BODY, headers={"Content-Type": media})
    assert answer.status_code == 200


def test_a_body_without_a_type_is_taken_at_its_word(http: httpx.Client, session_id: str) -> None:
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", content=BODY)
    assert "content-type" not in answer.request.headers
    assert answer.status_code == 200


def test_chunked_bodies_are_put_together(server: ServerProcess, session_id: str) -> None:
    with connected(server) as connection:
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
        connection.request(
            "POST", f"/v1/sessions/{session_id}/eliminate", headers={**JSON, "Transfer-Encoding": "chunked"}
        )
        connection.send(chunks + b"0\r\n\r\n")
        assert connection.answer().json["applied_eliminated"] == ["a"]


def test_a_broken_chunk_changes_nothing(server: ServerProcess, http: httpx.Client, session_id: str) -> None:
    before = head(http, session_id)
    with connected(server) as connection:
        connection.request(
            "POST", f"/v1/sessions/{session_id}/eliminate", headers={**JSON, "Transfer-Encoding": "chunked"}
        )
        connection.send(b"%x\r\n%s\r\nzz\r\n" % (len(BODY), BODY))
        check_error(connection.answer().json, Code.INVALID_REQUEST)
    assert head(http, session_id) == before


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_a_caller_that_leaves_half_way_changes_nothing(
    reset: bool, server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    before = head(http, session_id)
    for path in ("eliminate", "batch"):
        with connected(server) as connection:
            headers = {"Content-Length": str(len(BODY) + 1)}
            connection.request("POST", f"/v1/sessions/{session_id}/{path}", BODY, headers)
            if reset:
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert http.get("/healthz").status_code == 200
    assert head(http, session_id) == before


def test_a_caller_that_does_not_wait_for_the_answer_is_still_recorded(
    server: ServerProcess, http: httpx.Client, session_id: str
) -> None:
    with connected(server) as connection:
        connection.request("POST", f"/v1/sessions/{session_id}/eliminate", BODY)
    while len(http.get(f"/v1/sessions/{session_id}/audit").json()["events"]) < 2:
        pass
    assert http.get(f"/v1/sessions/{session_id}").json()["n_survivors"] == 5


def test_pipelined_requests_are_answered_in_order(server: ServerProcess, session_id: str) -> None:
    with connected(server) as connection:
        requests = b"".join(
            f"POST /v1/sessions/{session_id}/eliminate HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
            for body in (
                json.dumps({**ELIMINATE, "observation_id": f"o{index}", "eliminated": []}).encode()
                for index in range(50)
            )
        )
        connection.send(requests)
        assert [connection.answer().json["snapshot"]["seq"] for _ in range(50)] == list(range(2, 52))


def test_headers_given_twice_are_refused(server: ServerProcess, session_id: str) -> None:
    for header in (
        b"Host: 127.0.0.1",
        b"Authorization: Bearer x",
        b"Idempotency-Key: k",
        b"Content-Type: text/x",
    ):
        with connected(server) as connection:
            connection.send(
                b"POST /v1/sessions/%s/terminate HTTP/1.1\r\nHost: 127.0.0.1\r\n" % session_id.encode()
                + (header + b"\r\n") * (1 if header.startswith(b"Host") else 2)
                + b"Content-Length: 0\r\n\r\n"
            )
            answer = connection.answer()
            assert answer.status == 400, header
            error = check_error(answer.json, Code.INVALID_REQUEST)
            assert error["details"]["path"] == header.split(b":")[0].decode()


def test_who_asks_before_sending_too_much_is_told_at_once(server: ServerProcess, session_id: str) -> None:
    with connected(server) as connection:
        headers = {"Expect": "100-continue", "Content-Length": "100000000"}
        connection.request("POST", f"/v1/sessions/{session_id}/eliminate", b"", headers)
        answer = connection.answer()
        assert answer.status == 413
        check_error(answer.json, Code.PAYLOAD_TOO_LARGE)


def test_who_asks_before_sending_a_fair_body_is_told_to_go_on(server: ServerProcess, session_id: str) -> None:
    with connected(server) as connection:
        headers = {"Expect": "100-continue", "Content-Length": str(len(BODY))}
        connection.request("POST", f"/v1/sessions/{session_id}/eliminate", b"", headers)
        assert connection.answer().status == 100
        connection.send(BODY)
        assert connection.answer().status == 200


def test_a_request_to_upgrade_is_answered_as_if_it_had_not_asked(server: ServerProcess) -> None:
    with connected(server) as connection:
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        connection.request("GET", "/healthz", headers=headers)
        assert connection.answer().status == 200


def test_lines_go_by_several_names(http: httpx.Client, session_id: str) -> None:
    for media in (LINES["Content-Type"], "application/jsonl", "application/ndjson; charset=utf-8"):
        answer = http.post(f"/v1/sessions/{session_id}/batch", content=b"", headers={"Content-Type": media})
        assert answer.status_code == 200
    answer = http.post(f"/v1/sessions/{session_id}/batch", content=BODY, headers=JSON)
    error_of(answer, 415, Code.UNSUPPORTED_MEDIA_TYPE)


def test_nothing_that_was_sent_here_broke_a_ledger(http: httpx.Client, session_id: str) -> None:
    eliminate(http, session_id, "a")
    assert http.get(f"/v1/sessions/{session_id}/audit/verify").json()["ok"] is True
