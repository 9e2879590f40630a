"""A tool call in the inbox: its arguments with where they stood, an edit, and what is there to know only."""

import asyncio
import re
import time
from collections.abc import Iterator
from html import unescape
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec
import pytest

from beliefd.console.pages import inbox
from beliefd.kernel.values import Role
from beliefd.policy.presets import preset as preset_named
from tests.console.conftest import make_tokens
from tests.console.visitor import OWN, Person, claim_of, session_of, submitted
from tests.http.conftest import Tokens, assert_no_defects
from tests.support.server import ServerProcess, server_process

USES = count()
Guarded = tuple[ServerProcess, Tokens]


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server under the guard preset, that takes calls with lines of a megabyte."""
    data = tmp_path_factory.mktemp("calls")
    policy = msgspec.to_builtins(preset_named("guard"))
    policy.setdefault("limits", {})["command_bytes"] = 2 * 1024 * 1024
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))
    with server_process(data) as server:
        admin = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
        adopted = httpx.put(f"{server.url}/v1/policy", json=policy, headers=admin, verify=False, timeout=60)
        assert adopted.status_code == 200, adopted.text
        yield server, tokens
        assert_no_defects(server)


@pytest.fixture
def caller(preset: Guarded) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {preset[1][Role.AGENT]}"}
    with httpx.Client(base_url=preset[0].url, headers=headers, verify=False, timeout=60) as client:
        yield client


def call_of(preset: Guarded, caller: httpx.Client, session_id: str, **args: Any) -> dict[str, Any]:
    """A call to send mail, as it was answered."""
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    wanted = {
        "session_id": session_id,
        "agent_id": "agent://test-agent",
        "scope": {"tools": ["mail.send"], "budgets": {"calls": 5}},
    }
    token = caller.post("/v1/capabilities", json=wanted, headers=admin).json()["token"]
    call = {
        "kind": "tool_call",
        "tool_id": "mail.send",
        "args": args,
        "capability_token": token,
        "join_key": f"use-{next(USES)}",
        "rationale": "the mail <b>said</b> so",
    }
    body = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
    answer = caller.post(f"/v1/sessions/{session_id}/proposals", json=body).json()
    found: dict[str, Any] = answer["results"][0]
    assert found["approval_id"], answer
    return found


def test_a_call_is_shown_with_where_its_arguments_stood_and_why_its_agent_wants_it(
    preset: Guarded, caller: httpx.Client
) -> None:
    session_id = session_of(caller)
    asked = call_of(preset, caller, session_id, to="eve@example.net", body="Dear <i>Ann</i>")
    card = caller.get(f"/v1/approvals/{asked['approval_id']}").json()
    (traced,) = [one for one in card["call"]["origin"] if one["argument"] == "to"]
    assert (traced["value"], traced["trust"]) == ("eve@example.net", "foreign")
    shown = Person(preset[0], preset[1][Role.APPROVER]).read(f"/inbox/{asked['approval_id']}")
    assert re.search(r'class="origin foreign">.*eve@example\.net.*is from nowhere', shown)
    assert "Dear &lt;i&gt;Ann" in shown
    assert "the mail &lt;b&gt;said&lt;/b&gt; so" in shown
    assert "guard.04_sinks" in shown


def test_an_edit_of_a_call_tells_its_agent_what_to_propose(preset: Guarded, caller: httpx.Client) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    asked = call_of(preset, caller, session_of(caller), to="eve@example.net", body="a\nb")
    place = asked["approval_id"]
    assert "eve@example.net" in person.read(f"/inbox/{place}/edit")
    refused = person.edit(place, args="[1, 2", reason="to Ann")
    assert refused.status_code == 400
    assert "no JSON object" in refused.text
    assert "[1, 2</textarea>" in refused.text
    assert person.edit(place, args='{"to": "ann@example.org"}', reason="to Ann").status_code == 303
    card = caller.get(f"/v1/approvals/{place}").json()
    assert card["status"] == "rejected"
    said = 'to Ann\npropose it with these arguments instead: {"to":"ann@example.org"}'
    assert card["approvals"][0]["reason"] == said
    shown = person.read(f"/inbox/{place}")
    assert "eve@example.net" in shown  # a decided card keeps its content
    assert "from nowhere" in shown


def test_the_same_that_was_decided_before_is_named(preset: Guarded, caller: httpx.Client) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    session_id = session_of(caller)
    items: list[str] = []
    for words in ("Delete the standby", "Delete the primary", "Delete the standby"):
        items.append(submitted(caller, session_id, claim_of(words)))
        said = person.decide(items[-1], decision="APPROVED", typed="DELETE", reason="it goes anyway")
        assert said.status_code == 303
    card = caller.get(f"/v1/approvals/{items[2]}").json()
    assert [(one["approval_id"], one["reason"]) for one in card["before"]] == [(items[0], "it goes anyway")]
    assert f'href="/inbox/{items[0]}"' in person.read(f"/inbox/{items[2]}")


def test_what_is_for_information_is_seen_all_at_once(preset: Guarded, caller: httpx.Client) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    for at in range(3):
        claim = claim_of(f"Told {at}", "MODIFY") | {"claim_type": "INFERENCE"}
        answer = caller.post(f"/v1/sessions/{session_of(caller)}/claims", json={"claims": [claim]}).json()
        assert answer["decision"] == "PUBLISH", answer
    shown = person.read("/inbox?status=information")
    picked = dict(re.findall(r'name="(seen\.\d+)" value="([^"]+)"', shown))
    assert len(picked) == 3
    left, *_ = picked.popitem()[1].partition(" ")
    itself = Person(preset[0], preset[1][Role.AGENT])
    assert itself.http.post("/inbox/seen", data=picked, headers=OWN).status_code == 403
    for told in (2, 0):
        found = person.http.post("/inbox/seen", data=picked, headers=OWN)
        assert found.headers["location"] == f"/inbox?status=information&seen={told}"
    listed = caller.get("/v1/approvals?status=information").json()["approvals"]
    assert [one["approval_id"] for one in listed] == [left]
    seen = caller.get("/v1/approvals?status=seen").json()["approvals"]
    assert {one["decided_by"] for one in seen} == {"human://test-approver"}
    assert "Told" in person.read(f"/inbox/{seen[0]['approval_id']}")  # it keeps its content
    assert person.decide(left, decision="SEEN").status_code == 303


def test_a_full_page_for_information_is_seen_at_once_and_its_filters_stay(
    preset: Guarded, caller: httpx.Client
) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    session_id = session_of(caller)
    for at in range(inbox.LISTED + 1):
        claim = claim_of(f"Told {at}", "MODIFY") | {"claim_type": "INFERENCE"}
        assert caller.post(f"/v1/sessions/{session_id}/claims", json={"claims": [claim]}).status_code == 200
    place = f"/inbox?status=information&tier=MODIFY&session={session_id}&space=default"
    shown = person.read(place)
    form = {
        name: unescape(value)
        for name, value in re.findall(
            r'<input type="(?:checkbox|hidden)" name="([^"]+)" value="([^"]*)"', shown
        )
    }
    assert len(form) == inbox.LISTED + 1, "each box, and where they were picked"
    found = person.http.post("/inbox/seen", data=form, headers=OWN)
    assert found.status_code == 303, found.text
    back = dict(parse_qsl(urlsplit(found.headers["location"]).query))
    wanted = {"status": "information", "tier": "MODIFY", "session": session_id, "space": "default"}
    assert back == {**wanted, "seen": str(inbox.LISTED)}
    shown = person.read(found.headers["location"])
    assert f"{inbox.LISTED} marked as seen" in shown
    assert shown.count("<tr data-row>") == 1
    odd = {**form, "back": "status=pending&from=7&next=//evil.example&agent=a%0d%0ab"}
    sent = person.http.post("/inbox/seen", data=odd, headers=OWN).headers["location"]
    assert sent == "/inbox?status=information&agent=a%0D%0Ab&seen=0"


def test_who_decides_when_time_is_over_is_told_so(preset: Guarded, caller: httpx.Client) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    before = caller.get("/v1/policy").json()["policy"]
    hasty = {**before, "approvals": {**before["approvals"], "expires_seconds": 1, "on_expiry": "refuse"}}
    assert caller.put("/v1/policy", json=hasty, headers=admin).status_code == 200
    try:
        approval_id = submitted(caller, session_of(caller), claim_of("Delete it in a hurry"))
    finally:
        assert caller.put("/v1/policy", json=before, headers=admin).status_code == 200
    held = caller.get(f"/v1/approvals/{approval_id}").json()["content_hash"]
    over = time.monotonic() + 60
    while caller.get(f"/v1/approvals/{approval_id}?wait=10").json()["status"] == "pending":
        caller.get("/v1/approvals")
        assert time.monotonic() < over
    form = {"content_hash": held, "decision": "APPROVED", "typed": "DELETE", "reason": "in time, I thought"}
    late = person.http.post(f"/inbox/{approval_id}", data=form, headers=OWN)
    assert late.status_code == 409
    assert "It is timed_out by now" in late.text
    assert "Delete it in a hurry" in late.text
