"""If-Match, If-None-Match and Idempotency-Key: say what you know, and nothing happens twice or too late."""

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.testing.world import ONTOLOGY_JSON
from tests.http.calls import ELIMINATE, LINES, declare, eliminate, error_of, head


def test_a_write_can_be_tied_to_the_head_it_was_made_for(http: httpx.Client, session_id: str) -> None:
    first = head(http, session_id)
    done = eliminate(http, session_id, "a", If_Match=first)
    assert done.status_code == 200
    assert done.headers["etag"] == head(http, session_id) != first
    late = eliminate(http, session_id, "b", If_Match=first)
    details = error_of(late, 409, Code.CONFLICT)["details"]
    assert details == {"path": "If-Match", "head": done.headers["etag"].strip('"')}
    assert head(http, session_id) == done.headers["etag"]


def test_if_match_comes_in_all_the_shapes_that_http_knows(http: httpx.Client, session_id: str) -> None:
    def matches(value: str) -> bool:
        answer = eliminate(http, session_id, If_Match=value.format(head=head(http, session_id)))
        if answer.status_code == 409:
            error_of(answer, 409, Code.CONFLICT)
        return answer.status_code == 200

    bare = head(http, session_id).strip('"')
    assert eliminate(http, session_id, If_Match=bare).status_code == 200
    assert matches("*")
    assert matches("{head}")
    assert matches('"old", {head}')
    assert matches('{head},"newer"')
    assert not matches("W/{head}")  # If-Match compares strongly
    assert not matches('"old", W/{head}')
    assert not matches('"old", "older"')
    assert not matches('""')
    error_of(eliminate(http, session_id, If_Match=", ,"), 400, Code.INVALID_REQUEST)


def test_several_if_match_lines_are_one_list(http: httpx.Client, session_id: str) -> None:
    lines = [("If-Match", '"old"'), ("If-Match", head(http, session_id))]
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", json=ELIMINATE, headers=lines)
    assert answer.status_code == 200


def test_what_has_not_changed_is_not_sent_again(http: httpx.Client, session_id: str) -> None:
    path = f"/v1/sessions/{session_id}"
    tag = head(http, session_id)
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = http.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert http.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    eliminate(http, session_id, "a")
    newer = http.get(path, headers={"If-None-Match": tag})
    assert newer.status_code == 200
    assert newer.headers["etag"] != tag


def test_the_past_has_a_tag_of_its_own(http: httpx.Client, session_id: str) -> None:
    first = head(http, session_id)
    eliminate(http, session_id, "a")
    past = http.get(f"/v1/sessions/{session_id}?at=1", headers={"If-None-Match": first})
    assert past.status_code == 304
    assert http.get(f"/v1/sessions/{session_id}?at=2", headers={"If-None-Match": first}).status_code == 200


def test_a_retry_gets_the_first_answer_and_changes_nothing(http: httpx.Client, session_id: str) -> None:
    first = eliminate(http, session_id, "a", Idempotency_Key="retry-1")
    eliminate(http, session_id, "b")
    again = eliminate(http, session_id, "a", Idempotency_Key="retry-1")
    assert again.json() == first.json()
    assert again.headers["etag"] == first.headers["etag"]
    assert len(http.get(f"/v1/sessions/{session_id}/audit").json()["events"]) == 3


def test_a_key_that_was_used_for_something_else_is_a_conflict(http: httpx.Client, session_id: str) -> None:
    eliminate(http, session_id, "a", Idempotency_Key="retry-2")
    before = head(http, session_id)
    other = eliminate(http, session_id, "b", Idempotency_Key="retry-2")
    assert error_of(other, 409, Code.CONFLICT)["details"]["path"] == "Idempotency-Key"
    elsewhere = eliminate(http, declare(http), "a", Idempotency_Key="retry-2")
    error_of(elsewhere, 409, Code.CONFLICT)
    assert head(http, session_id) == before


def test_a_declaration_can_be_retried(http: httpx.Client) -> None:
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": ["a", "b"]}
    first = http.post("/v1/sessions", json=body, headers={"Idempotency-Key": "declare-1"})
    again = http.post("/v1/sessions", json=body, headers={"Idempotency-Key": "declare-1"})
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()


def test_a_refusal_is_retried_like_anything_else(http: httpx.Client, session_id: str) -> None:
    first = eliminate(http, session_id, "zebra", Idempotency_Key="retry-3")
    again = eliminate(http, session_id, "zebra", Idempotency_Key="retry-3")
    error = error_of(first, 400, Code.INVALID_HYPOTHESIS_ID)
    assert error_of(again, 400, Code.INVALID_HYPOTHESIS_ID) == error
    assert f'"{error["details"]["audit_event_id"]}"' == head(http, session_id)


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\xe9", "a\tb"])
def test_keys_are_short_and_printable(key: str, http: httpx.Client, session_id: str) -> None:
    before = head(http, session_id)
    answer = http.post(
        f"/v1/sessions/{session_id}/eliminate",
        json=ELIMINATE,
        headers={b"Idempotency-Key": key.encode("latin-1")},
    )
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "Idempotency-Key"
    assert head(http, session_id) == before


def test_a_condition_that_would_not_be_heeded_is_refused(http: httpx.Client, session_id: str) -> None:
    batch = f"/v1/sessions/{session_id}/batch"
    for name, value in (("If-Match", '"x"'), ("Idempotency-Key", "k")):
        answer = http.post(batch, content=b"", headers={**LINES, name: value})
        assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == name
    answer = http.post(
        "/v1/sessions", json={"ontology": ONTOLOGY_JSON, "hypotheses": ["a"]}, headers={"If-Match": '"x"'}
    )
    error_of(answer, 400, Code.INVALID_REQUEST)


def test_conditions_on_questions_are_harmless(http: httpx.Client, session_id: str) -> None:
    headers = {"If-Match": '"x"', "Idempotency-Key": "k"}
    assert http.get(f"/v1/sessions/{session_id}", headers=headers).status_code == 200
