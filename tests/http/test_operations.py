"""Every operation once, as a stranger with curl would use it."""

from typing import Any
from urllib.parse import quote

import httpx

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.testing.world import ONTOLOGY_JSON
from tests.http.calls import ELIMINATE, HYPOTHESES, LINES, declare, eliminate, error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess


def test_declare_session_answers_with_the_whole_snapshot(http: httpx.Client) -> None:
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": ["b", "a", "b"], "metadata": {"case": 7}}
    answer = http.post("/v1/sessions", json=body)
    assert answer.status_code == 201
    declared = answer.json()
    snapshot = declared["snapshot"]
    assert snapshot["session_id"] == declared["session_id"]
    assert snapshot["audit_head_event_id"] == declared["audit_event_id"]
    assert answer.headers["etag"] == f'"{declared["audit_event_id"]}"'
    assert snapshot["survivors"] == ["a", "b"]
    assert (snapshot["n_survivors"], snapshot["entropy_proxy"], snapshot["status"]) == (2, 1.0, "open")
    assert (snapshot["ontology"], snapshot["metadata"]) == (ONTOLOGY_JSON, {"case": 7})
    assert (snapshot["terminated"], snapshot["active_obligation_id"]) == (False, None)
    # Where it is stands in what is asked for, and not beside what was done.
    assert http.get(f"/v1/sessions/{declared['session_id']}").json() == {**snapshot, "space": "default"}


def test_eliminate_tells_what_applied_and_what_did_not(http: httpx.Client, session_id: str) -> None:
    first = eliminate(http, session_id, "b", "a").json()
    assert (first["applied_eliminated"], first["ignored_eliminated"]) == (["a", "b"], [])
    again = eliminate(http, session_id, "b", "c").json()
    assert (again["applied_eliminated"], again["ignored_eliminated"]) == (["c"], ["b"])
    assert again["snapshot"]["survivors"] == ["d", "e", "f"]
    assert again["snapshot"]["audit_head_event_id"] == again["audit_event_id"]


def test_eliminate_refuses_what_was_never_declared_and_says_so_in_the_ledger(
    http: httpx.Client, session_id: str
) -> None:
    error = error_of(eliminate(http, session_id, "a", "zebra"), 400, Code.INVALID_HYPOTHESIS_ID)
    assert error["details"]["hypotheses"] == ["zebra"]
    assert error["details"]["path"] == "$.eliminated"
    newest = http.get(f"/v1/sessions/{session_id}/audit").json()["events"][-1]
    assert newest["event_id"] == error["details"]["audit_event_id"]
    assert newest["delta"]["kind"] == "refused"
    assert http.get(f"/v1/sessions/{session_id}").json()["n_survivors"] == len(HYPOTHESES)


def test_obligations_hold_until_they_are_met(http: httpx.Client, session_id: str) -> None:
    root = f"/v1/sessions/{session_id}"
    entered = http.post(f"{root}/obligations", json={"obligation_id": "look", "min_total_eliminations": 2})
    assert entered.json()["snapshot"]["active_obligation_id"] == "look"
    again = http.post(f"{root}/obligations", json={"obligation_id": "look", "min_total_eliminations": 1})
    error_of(again, 409, Code.CONFLICT)
    early = http.post(f"{root}/obligations/look/exit").json()
    assert (early["approved"], early["reason"]) == (False, "0 of 2 eliminations since entry")
    assert http.post(f"{root}/conclusions", json={"conclusion_id": "c"}).json()["accepted"] is False
    eliminate(http, session_id, "a", "b")
    assert http.post(f"{root}/obligations/look/exit").json()["approved"] is True
    assert http.post(f"{root}/conclusions", json={"conclusion_id": "c"}).json()["accepted"] is True
    missing = http.post(f"{root}/obligations/{quote('never/entered')}/exit")
    error_of(missing, 404, Code.OBLIGATION_NOT_FOUND)


def test_a_terminated_session_takes_nothing_more(http: httpx.Client, session_id: str) -> None:
    root = f"/v1/sessions/{session_id}"
    assert http.post(f"{root}/terminate").json()["approved"] is False
    eliminate(http, session_id, *HYPOTHESES[1:])
    ended = http.post(f"{root}/terminate", json={"context": {"why": "done"}}).json()
    assert (ended["approved"], ended["snapshot"]["status"]) == (True, "terminated")
    for path, body in (
        ("eliminate", ELIMINATE),
        ("obligations", {"obligation_id": "o", "min_total_eliminations": 0}),
        ("obligations/o/exit", {}),
        ("conclusions", {"conclusion_id": "c"}),
        ("terminate", {}),
    ):
        error_of(http.post(f"{root}/{path}", json=body), 409, Code.SESSION_TERMINATED)


def test_any_past_state_can_be_asked_for(http: httpx.Client, session_id: str) -> None:
    states = [http.get(f"/v1/sessions/{session_id}").json()]
    for name in "abc":
        states.append(eliminate(http, session_id, name).json()["snapshot"])
    for seq, state in enumerate(states, 1):
        shown = http.get(f"/v1/sessions/{session_id}", params={"at": seq}).json()
        assert shown == {**state, "space": "default"}
    beyond = http.get(f"/v1/sessions/{session_id}", params={"at": 5})
    assert error_of(beyond, 400, Code.INVALID_REQUEST)["details"]["path"] == "at"


def test_sessions_are_listed_page_by_page(http: httpx.Client) -> None:
    cursor = declare(http)
    made = [declare(http) for _ in range(5)]
    found: list[str] = []
    pages = 0
    while cursor:
        page = http.get("/v1/sessions", params={"cursor": cursor, "limit": 2}).json()
        found += [snapshot["session_id"] for snapshot in page["sessions"]]
        cursor, pages = page["next"], pages + 1
    assert (found, pages) == (made, 3)


def test_the_ledger_is_read_page_by_page(http: httpx.Client, session_id: str) -> None:
    for name in "abc":
        eliminate(http, session_id, name)
    everything = http.get(f"/v1/sessions/{session_id}/audit").json()
    assert everything["next"] is None
    assert [entry["seq"] for entry in everything["events"]] == [1, 2, 3, 4]
    first = http.get(f"/v1/sessions/{session_id}/audit", params={"limit": 2}).json()
    since = {"since_event_id": first["next"]}
    rest = http.get(f"/v1/sessions/{session_id}/audit", params=since).json()
    assert first["events"] + rest["events"] == everything["events"]
    unknown = http.get(f"/v1/sessions/{session_id}/audit", params={"since_event_id": "nothing"})
    assert error_of(unknown, 400, Code.INVALID_REQUEST)["details"]["path"] == "since_event_id"


def test_an_export_verifies_imports_and_merges(
    http: httpx.Client, session_id: str, guarded: tuple[ServerProcess, Tokens]
) -> None:
    eliminate(http, session_id, "a")
    exported = http.get(f"/v1/sessions/{session_id}/audit/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert exported.headers["content-disposition"].startswith("attachment")
    assert http.get(f"/v1/sessions/{session_id}/audit/verify").json()["checked"] == 2
    server, tokens = guarded
    headers = {"Authorization": f"Bearer {tokens[Role.ADMIN]}", **LINES}
    with httpx.Client(base_url=server.url, headers=headers, verify=False) as admin:
        imported = admin.post("/v1/ledgers", content=exported.content)
        assert (imported.status_code, imported.json()["events"]) == (201, 2)
        assert imported.headers["etag"] == http.get(f"/v1/sessions/{session_id}").headers["etag"]
        error_of(admin.post("/v1/ledgers", content=exported.content), 409, Code.CONFLICT)
        eliminate(http, session_id, "b", "c")
        newer = http.get(f"/v1/sessions/{session_id}/audit/export").content
        merged = admin.post(f"/v1/sessions/{session_id}/merge", content=newer).json()
        assert merged["applied_eliminated"] == ["b", "c"]
        forged = newer.replace(b'"disk"', b'"d"').replace(b'["b","c"]', b'["b","d"]')
        broken = error_of(admin.post("/v1/ledgers", content=forged), 422, Code.LEDGER_BROKEN)
        assert broken["details"]["seq"] == 3
        for nonsense in (b"", b"{}", b"\xff", b"[]\n", newer[:100]):
            answer = admin.post("/v1/ledgers", content=nonsense)
            assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "line 1"


def test_why_names_everybody_who_spoke_against_a_hypothesis(http: httpx.Client, session_id: str) -> None:
    eliminate(http, session_id, "a")
    eliminate(http, session_id, "a", "b")
    why = http.get(f"/v1/sessions/{session_id}/why/a").json()
    assert (why["survives"], [event["applied"] for event in why["events"]]) == (False, [True, False])
    assert http.get(f"/v1/sessions/{session_id}/why/f").json()["events"] == []
    unknown = http.get(f"/v1/sessions/{session_id}/why/zebra")
    assert error_of(unknown, 400, Code.INVALID_HYPOTHESIS_ID)["details"]["path"] == "hypothesis"


def test_a_counterfactual_gives_back_what_only_one_source_took(http: httpx.Client, session_id: str) -> None:
    def by(source: str, *names: str) -> None:
        body: dict[str, Any] = {**ELIMINATE, "source_id": source, "eliminated": list(names)}
        assert http.post(f"/v1/sessions/{session_id}/eliminate", json=body).status_code == 200

    by("first", "a", "b")
    by("second", "b", "c")
    http.post(f"/v1/sessions/{session_id}/conclusions", json={"conclusion_id": "d"})
    body = {"without": {"source_ids": ["first"]}}
    answer = http.post(f"/v1/sessions/{session_id}/counterfactual", json=body).json()
    assert answer["restored"] == ["a"]
    assert answer["survivors"] == ["a", "d", "e", "f"]
    assert answer["conclusions"][0]["sole_sources"] == {"first": ["a"], "second": ["c"]}
