"""Many verbs in one request: every line gets its answer, in order, whatever its neighbours are."""

import json
import time
from typing import Any

import httpx

from beliefd.kernel.errors import Code
from tests.http.calls import ELIMINATE, LINES, check_error, declare, error_of, head
from tests.http.raw import connected
from tests.support.server import ServerProcess


def line(*names: str, **rest: Any) -> bytes:
    return json.dumps({"verb": "ELIMINATE", **ELIMINATE, "eliminated": list(names), **rest}).encode()


def send(http: httpx.Client, session_id: str, body: bytes) -> list[dict[str, Any]]:
    answer = http.post(f"/v1/sessions/{session_id}/batch", content=body, headers=LINES)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.content == b"" or answer.content.endswith(b"\n")
    return [json.loads(one) for one in answer.content.splitlines()]


def test_every_verb_can_stand_in_a_line(http: httpx.Client, session_id: str) -> None:
    body = b"\n".join(
        [
            b'{"verb": "ENTER_OBLIGATION", "obligation_id": "o", "min_total_eliminations": 1}',
            line("a", session_id=session_id),
            b'{"verb": "REQUEST_EXIT", "obligation_id": "o"}',
            b'{"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"}',
            b'{"verb": "REQUEST_TERMINATION", "context": {}}',
        ]
    )
    answers = send(http, session_id, body)
    assert [answer["snapshot"]["seq"] for answer in answers] == [2, 3, 4, 5, 6]
    assert (answers[2]["approved"], answers[3]["accepted"], answers[4]["approved"]) == (True, True, False)


def test_line_ends_of_all_kinds_and_blank_lines_are_fine(http: httpx.Client, session_id: str) -> None:
    body = b"\r\n\n" + line("a") + b"\r\n   \n\n" + line("b") + b"\n\t\r\n" + line("c")
    assert [answer["applied_eliminated"] for answer in send(http, session_id, body)] == [["a"], ["b"], ["c"]]


def test_no_lines_no_answers(http: httpx.Client, session_id: str) -> None:
    before = head(http, session_id)
    assert send(http, session_id, b"") == send(http, session_id, b"\n\n") == []
    assert head(http, session_id) == before


def test_bad_lines_answer_in_their_place_and_hold_up_nobody(http: httpx.Client, session_id: str) -> None:
    bad = {
        b"not json": "$",
        b"[]": "$",
        b"{}": "$.verb",
        b'{"verb": "DECLARE_SESSION"}': "$.verb",
        b'{"verb": "MERGE"}': "$.verb",
        b'{"verb": ["ELIMINATE"]}': "$.verb",
        b'{"verb": "ELIMINATE"}': "$.source_id",
        line(session_id="elsewhere"): "$.session_id",
        line("a\n"): "$.eliminated[0]",
        b'{"verb": "ELIMINATE", "verb": "ELIMINATE"}': "$.verb",
        b"\xff\xfe": "$",
        b'{"verb": "REQUEST_EXIT", "obligation_id": "o", "context": {"x": NaN}}': "$.context.x",
        b"[" * 10_000: "$",
    }
    lines = [one for text in bad for one in (text, line("a"))]
    answers = send(http, session_id, b"\n".join(lines))
    assert len(answers) == len(lines)
    for index, path in enumerate(bad.values()):
        error = check_error(answers[2 * index], Code.INVALID_REQUEST)
        assert error["details"] == {"path": path, "line": 2 * index + 1}
        assert answers[2 * index + 1]["snapshot"]["seq"] == index + 2
    entries = http.get(f"/v1/sessions/{session_id}/audit").json()["events"]
    assert len(entries) == 1 + len(bad)


def test_a_refusal_in_a_line_is_recorded_and_the_rest_goes_on(http: httpx.Client, session_id: str) -> None:
    answers = send(http, session_id, line("a") + b"\n" + line("zebra") + b"\n" + line("b"))
    error = check_error(answers[1], Code.INVALID_HYPOTHESIS_ID)
    assert answers[2]["snapshot"]["survivors"] == ["c", "d", "e", "f"]
    entries = http.get(f"/v1/sessions/{session_id}/audit").json()["events"]
    assert entries[2]["event_id"] == error["details"]["audit_event_id"]


def test_very_many_lines_are_decided_in_order(http: httpx.Client) -> None:
    names = [f"h{index:04}" for index in range(2_000)]
    session_id = declare(http, names)
    answers = send(http, session_id, b"\n".join(line(name) for name in names))
    assert [answer["applied_eliminated"] for answer in answers] == [[name] for name in names]
    assert [answer["snapshot"]["n_survivors"] for answer in answers] == list(range(1_999, -1, -1))
    assert http.get(f"/v1/sessions/{session_id}/audit/verify").json()["ok"] is True


def test_a_session_that_is_not_there_is_one_error_not_many(http: httpx.Client) -> None:
    answer = http.post("/v1/sessions/nowhere/batch", content=line("a"), headers=LINES)
    error_of(answer, 404, Code.SESSION_NOT_FOUND)


def test_a_caller_that_leaves_half_way_leaves_a_prefix(server: ServerProcess, http: httpx.Client) -> None:
    names = [f"h{index:04}" for index in range(3_000)]
    session_id = declare(http, names)
    body = b"\n".join(line(name) for name in names)
    with connected(server) as connection:
        connection.request("POST", f"/v1/sessions/{session_id}/batch", body, LINES)
        assert connection.line() == b"HTTP/1.1 200 OK\r\n"
    reached, before = head(http, session_id), ""
    while reached != before:  # what was submitted is still being written
        time.sleep(0.2)
        reached, before = head(http, session_id), reached
    entries = http.get(f"/v1/sessions/{session_id}/audit").json()["events"]
    assert [entry["delta"]["eliminated"] for entry in entries[1:]] == [[name] for name in names][
        : len(entries) - 1
    ]
    assert http.get(f"/v1/sessions/{session_id}/audit/verify").json()["ok"] is True
