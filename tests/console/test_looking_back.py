"""What an auditor asks: why was that believed, who allowed it, has anybody tampered."""

import re
import sqlite3
from datetime import datetime, timedelta, timezone
from html import unescape

import httpx
import pytest

from beliefd.console.app import Seen
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.protocol.beliefs import BrokenLedger, SessionPage
from tests.console.visitor import OWN, Person, asked, session_of, shown
from tests.http.calls import eliminate, error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess, server_process

Guarded = tuple[ServerProcess, Tokens]


def test_ledgers_are_searched_by_who_by_words_and_by_time(approver: Person, agent: httpx.Client) -> None:
    session_id, approval_id = asked(agent, "Drop the table of zebras")
    assert approver.decide(approval_id, decision="REJECTED", reason="zebras stay").status_code == 303
    shown = approver.read("/audit?text=ZEBRAS+stay")
    assert re.findall(r'class="verb">(\w+)', shown) == ["DECIDE_APPROVAL"]
    assert f'href="/inbox/{approval_id}"' in shown
    assert re.search(rf'in <a [^>]*href="/sessions/{session_id}/audit" title="{session_id}"', shown)
    by = approver.read(f"/audit?session={session_id}&actor=test-approver")
    assert re.findall(r'class="verb">(\w+)', by) == ["DECIDE_APPROVAL"]
    assert "Nothing matches" in approver.read(f"/audit?session={session_id}&until=2020-01-01")
    since = approver.read(f"/audit?session={session_id}&since=2020-01-01&verb=SUBMIT_CLAIMS")
    assert re.findall(r'class="verb">(\w+)', since) == ["SUBMIT_CLAIMS"]
    assert approver.http.get("/audit?session=none").status_code == 404


def test_a_slip_in_a_search_keeps_the_form_and_names_what_there_is(
    approver: Person, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    asked_ = f"/audit?session={session_id}&text=zebras"
    slips = {
        "verb=ELIMINAT": "no verb `ELIMINAT`; did you mean `ELIMINATE`? verbs are ADD_CONTEXT, ",
        "verb=what": "no verb `what`; verbs are ADD_CONTEXT, ",
        "since=yesterday": "since",
    }
    for slip, words in slips.items():
        found = approver.http.get(f"{asked_}&{slip}")
        assert found.status_code == 400
        assert words in unescape(found.text)
        assert 'value="zebras"' in found.text
        assert "&#34;path&#34;" not in found.text
    form = approver.read("/audit")
    assert '<option value="ELIMINATE">' in form
    assert "any part of its id" in approver.read(f"/audit?session={session_id}&actor=nobody")
    error = error_of(agent.get("/v1/audit?verb=eliminate"), 400, Code.INVALID_REQUEST)
    assert "did you mean `ELIMINATE`?" in error["message"]


def test_where_the_only_ledger_is_broken_it_is_not_said_that_there_is_none() -> None:
    broken = BrokenLedger(session_id="s-1", seq=2, event_id=None, reason="its hash is another")
    found = SessionPage(sessions=[], next=None, broken=[broken])
    told = shown(
        Seen(
            "audit.html",
            {"problem": "", "going": None, "found": None, "asked": {}, "verbs": [], "sessions": found},
        )
    )
    assert "does not verify at event 2" in told
    assert "There is no session yet" not in told


def test_a_search_goes_on_where_it_ended(agent: httpx.Client) -> None:
    session_id = session_of(agent, [f"h{at}" for at in range(9)])
    for at in range(5):
        assert eliminate(agent, session_id, f"h{at}").status_code == 200
    query: dict[str, str | int] = {"session": session_id, "verb": "ELIMINATE", "limit": 2}
    seen: list[int] = []
    cursor = None
    while True:
        params = {**query, **({"cursor": cursor} if cursor else {})}
        answer = agent.get("/v1/audit", params=params).json()
        seen += [one["seq"] for one in answer["events"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert seen == [2, 3, 4, 5, 6]
    whole = agent.get(f"/v1/sessions/{session_id}/audit", params={"after": 4}).json()["events"]
    assert [one["seq"] for one in whole] == [5, 6]
    both = {"after": 4, "since_event_id": whole[0]["event_id"]}
    assert agent.get(f"/v1/sessions/{session_id}/audit", params=both).status_code == 400


def test_a_search_by_time_knows_days_and_offsets_and_nothing_else(agent: httpx.Client) -> None:
    session_id = session_of(agent)

    def found(**times: str) -> int:
        answer = agent.get("/v1/audit", params={"session": session_id, **times})
        assert answer.status_code == 200, answer.text
        return len(answer.json()["events"])

    (entry,) = agent.get(f"/v1/sessions/{session_id}/audit").json()["events"]
    made = datetime.fromisoformat(entry["ts"])
    day, before, after = made.date().isoformat(), made - timedelta(minutes=1), made + timedelta(minutes=1)
    assert found(since=day, until=day) == 1, "a day is included whole"
    assert found(until=(made - timedelta(days=1)).date().isoformat()) == 0
    assert found(since=(made + timedelta(days=1)).date().isoformat()) == 0
    assert found(since=entry["ts"], until=entry["ts"]) == 1
    for hours in (-11, 2, 14):
        there = timezone(timedelta(hours=hours))
        early, late = (one.astimezone(there).isoformat() for one in (before, after))
        assert found(since=early, until=late) == 1
        assert found(since=late) == found(until=early) == 0
        raw = agent.get(f"/v1/audit?session={session_id}&since={late}")  # a `+` that nobody has encoded
        assert raw.json()["events"] == []
    for name in ("since", "until"):
        for wrong in ("x", "2026-13-01", "2026-02-30", "2026-01-31T10:00:00", "20260131", "2026-01-31\n"):
            answer = agent.get("/v1/audit", params={name: wrong})
            error = error_of(answer, 400, Code.INVALID_REQUEST)
            assert error["details"]["path"] == name
            assert "a day as in `2026-01-31`" in error["message"]


def test_a_cursor_of_the_inbox_is_one_of_its_items(agent: httpx.Client) -> None:
    asked(agent)
    asked(agent)
    first = agent.get("/v1/approvals", params={"limit": 1}).json()
    rest = agent.get("/v1/approvals", params={"cursor": first["next"]})
    assert rest.status_code == 200
    for wrong in ("x", "apr-", "apr-x\n", "apr-x y"):
        answer = agent.get("/v1/approvals", params={"cursor": wrong})
        assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "cursor"


def test_a_search_shows_nothing_of_a_space_that_one_may_not_see(
    guarded: Guarded, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    admin = {"Authorization": f"Bearer {guarded[1][Role.ADMIN]}"}
    assert agent.post("/v1/spaces", json={"name": "attic"}, headers=admin).status_code == 201
    wanted = {"name": "stranger", "role": "agent", "spaces": {"attic": ["read"]}}
    secret = agent.post("/v1/tokens", json=wanted, headers=admin).json()["secret"]
    stranger = {"Authorization": f"Bearer {secret}"}
    for given in ({"cursor": f"{session_id},0"}, {"verb": "DECLARE_SESSION"}, {"space": "default"}):
        assert agent.get("/v1/audit", params=given, headers=stranger).json()["events"] == []
    assert agent.get("/v1/audit", params={"session": session_id}, headers=stranger).status_code == 404
    assert agent.get("/v1/audit", params={"cursor": f"{session_id},0"}).json()["events"]


def test_a_source_is_ticked_away_and_what_rests_on_it_comes_back(
    approver: Person, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    shown = approver.read(f"/sessions/{session_id}/what-if")
    named = re.search(r'name="(source\.\d+)" value="([^"]+)"', shown)
    assert named is not None
    answer = approver.http.get(f"/sessions/{session_id}/what-if", params={named[1]: named[2]})
    assert "Would come back" in answer.text
    assert "<li>a</li>" in answer.text


def test_a_hypothesis_says_why_it_fell(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    assert "by this it fell" in approver.read(f"/sessions/{session_id}/why/a")
    assert "stands" in approver.read(f"/sessions/{session_id}/why/b")
    shown = approver.read(f"/sessions/{session_id}")
    assert f'href="/sessions/{session_id}/why/a"' in shown


def test_a_conclusion_says_what_it_rests_on(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    concluded = agent.post(f"/v1/sessions/{session_id}/conclusions", json={"conclusion_id": "free"})
    assert concluded.status_code == 200
    assert eliminate(agent, session_id, "b").status_code == 200
    assert "rests on 0 witnessed and 1 attested" in approver.read(f"/sessions/{session_id}")


def test_all_who_spoke_are_listed_a_page_at_a_time(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    for at in range(5):
        told = {
            "source_id": f"tool://{at}",
            "observation_id": f"o{at}",
            "eliminated": ["a"],
            "justification": {},
        }
        assert agent.post(f"/v1/sessions/{session_id}/eliminate", json=told).status_code == 200
    place = f"/v1/sessions/{session_id}/why/a"
    heard: list[str] = []
    cursor = None
    while True:
        asked_for: dict[str, str | int] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        found = agent.get(place, params=asked_for).json()
        assert len(found["events"]) <= 2
        heard += [one["source_id"] for one in found["events"]]
        if (cursor := found["next"]) is None:
            break
    assert heard == [f"tool://{at}" for at in range(5)]
    for wrong in ("0", "x", "10001"):
        assert agent.get(place, params={"limit": wrong}).status_code == 400
    shown = approver.read(f"/sessions/{session_id}/why/a")
    assert shown.count("<strong>tool://") == 5


def test_a_ledger_is_taken_along(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    taken = approver.http.get(f"/sessions/{session_id}/export")
    assert taken.status_code == 200
    assert taken.content == agent.get(f"/v1/sessions/{session_id}/audit/export").content


def test_a_call_is_explained_under_the_rules_in_force(approver: Person) -> None:
    form = {"what": "explain", "tool": "pay", "args": '{"amount": 250}'}
    shown = approver.http.post("/policy", data=form, headers=OWN)
    assert shown.status_code == 200
    assert re.search(r"pay <span class=\"outcome (REFUSE|DEFER)", shown.text)
    wrong = approver.http.post("/policy", data={**form, "args": "[1"}, headers=OWN)
    assert wrong.status_code == 400
    assert "no JSON object" in wrong.text
    tested = approver.http.post("/policy", data={"what": "backtest", "policy": "{}"}, headers=OWN)
    assert "What it would have decided" in tested.text


def test_administrators_make_tokens_that_are_shown_once_and_revoke_them(
    guarded: Guarded, approver: Person
) -> None:
    admin = Person(guarded[0], guarded[1][Role.ADMIN])
    form = {"what": "token", "name": "helper", "role": "agent", "space": "default", "right.read": "1"}
    made = admin.http.post("/access", data=form, headers=OWN)
    secret = re.search(r'<pre id="secret">([^<]+)</pre>', made.text)
    assert secret is not None
    assert secret[1] not in admin.read("/access")
    held = {"Authorization": f"Bearer {secret[1]}"}
    assert httpx.get(f"{guarded[0].url}/v1/sessions", headers=held, verify=False).status_code == 200
    token_id = secret[1].split("_")[1]
    gone = admin.http.post("/access", data={"what": "revoke", "token_id": token_id}, headers=OWN)
    assert "is revoked" in gone.text
    assert admin.http.post("/access", data={"what": "space", "name": "lab"}, headers=OWN).status_code == 200
    assert "lab" in admin.read("/access")
    again = admin.http.post("/access", data={"what": "space", "name": "lab"}, headers=OWN)
    assert again.status_code == 400
    assert approver.http.get("/access").status_code == 403
    assert approver.http.post("/access", data=form, headers=OWN).status_code == 403
    assert 'href="/access"' not in approver.read("/inbox")


def test_who_rewrote_history_is_found_out_and_the_first_bad_event_named(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = tmp_path_factory.mktemp("tampered")
    with server_process(data) as server:
        person = Person(server)
        with httpx.Client(base_url=server.url, verify=False, timeout=60) as local:
            session_id = session_of(local)
            for name in ("a", "b"):
                assert eliminate(local, session_id, name).status_code == 200
        held = person.read(f"/sessions/{session_id}/verified")
        assert "The ledger holds" in held
        assert local_head(held) == 3
        with sqlite3.connect(data / "beliefd.db") as connection:
            triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            forged = "UPDATE audit_events SET record = replace(record, 'agent://local', 'agent://other')"
            connection.execute(f"{forged} WHERE session_id = ? AND seq = 2", (session_id,))
        found = person.http.get(f"/sessions/{session_id}/verified")
        assert "The ledger does not hold" in found.text
        assert "The first bad event is number 2" in found.text
        assert "The 1 events before it hold" in found.text


def local_head(page: str) -> int:
    found = re.search(r">number (\d+)</a>", page)
    assert found is not None
    return int(found[1])
