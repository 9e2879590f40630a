"""A reviewer's day and an auditor's question, in a real browser and without a terminal."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from beliefd.client import Client
from beliefd.kernel.values import Role
from beliefd.testing.world import ONTOLOGY
from tests.console.browsing import person
from tests.console.test_calls import Guarded, call_of, caller, preset
from tests.console.visitor import claim_of, session_of, submitted
from tests.http.calls import eliminate
from tests.support.browser import chromium

__all__ = ["caller", "preset"]
pytestmark = pytest.mark.slow
CLICKS = 3
FREE: dict[str, Any] = {
    "constraint.zz_goals": {"v": 1, "effect": "allow", "subject": {"capability": "write:goal"}}
}
CAREFUL = FREE | {
    "constraint.careful": {
        "v": 1,
        "effect": "deny",
        "subject": {"capability": "write:goal"},
        "reason": "people look at goals",
        "on_fail": "ask",
    }
}


@pytest.fixture(scope="module")
def window(preset: Guarded) -> Iterator[Browser]:
    """After the server, for the reason that `browser` has."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


def intent_of(caller: httpx.Client, session_id: str, name: str) -> str:
    criterion = {"region": "tolerance", "value": 40, "tolerance": 2}
    intent = {
        "type": "create_proposition",
        "claim_id": name,
        "statement": f"{name} takes 40 ms",
        "prediction": {"quantity": name, "unit": "ms", "criterion": criterion},
    }
    answer = caller.post(f"/v1/sessions/{session_id}/intents", json=intent).json()
    return str(answer["approval_id"])


def change_of(caller: httpx.Client, session_id: str, admin: dict[str, str]) -> str:
    """A change of the symbolic state, which a rule has people asked about."""

    def proposed(size: str) -> dict[str, Any]:
        change = {"kind": "delta", "patch": {"set": {"goal.size": {"v": 1, "value": size}}}}
        body = {"provenance": {"source": "agent"}, "candidates": [change]}
        answer = caller.post(f"/v1/sessions/{session_id}/proposals", json=body).json()
        found: dict[str, Any] = answer["results"][0]
        return found

    policy = caller.get("/v1/policy").json()["policy"]
    rules = policy["constraints"]
    adopted = caller.put("/v1/policy", json={**policy, "constraints": {**rules, **FREE}}, headers=admin)
    assert adopted.status_code == 200, adopted.text
    assert proposed("small")["verdict"] == "allow"
    adopted = caller.put("/v1/policy", json={**policy, "constraints": {**rules, **CAREFUL}}, headers=admin)
    assert adopted.status_code == 200, adopted.text
    return str(proposed("big")["approval_id"])


def told(caller: httpx.Client, at: int) -> None:
    """Something that is there for information."""
    claim = claim_of(f"Told {at}", "MODIFY") | {"claim_type": "INFERENCE"}
    answer = caller.post(f"/v1/sessions/{session_of(caller)}/claims", json={"claims": [claim]}).json()
    assert answer["decision"] == "PUBLISH", answer


def twenty(preset: Guarded, caller: httpx.Client) -> dict[str, str]:
    """Seventeen items of all kinds that wait, by kind, and three for information."""
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    items: dict[str, str] = {}
    for at, tier in enumerate(("DELETE", "PRIVILEGE", "MODIFY", "DELETE", "MODIFY")):
        claim = claim_of(f"Claim {at} of {tier}", tier)
        items[submitted(caller, session_of(caller), claim)] = "claims"
    session_id = session_of(caller)
    for at in range(6):
        found = call_of(preset, caller, session_id, to=f"eve-{at}@example.net", body=f"letter {at}")
        items[found["approval_id"]] = "call"
    items[change_of(caller, session_id, admin)] = "delta"
    for at in range(3):
        items[intent_of(caller, session_id, f"wait-{at}")] = "intent"
    for name in ("files", "mail"):
        for words in ("Reads", "Reads, and sends"):
            tool = {"name": "t", "description": words, "input_schema": {"type": "object"}}
            caller.post(f"/v1/catalogues/{name}", json={"tools": [tool]}, headers=admin)
    waiting = caller.get("/v1/approvals", params={"kind": "definition", "limit": 100}).json()["approvals"]
    items |= {one["approval_id"]: "definition" for one in waiting}
    assert len(items) == 17
    for at in range(3):
        told(caller, at)
    return items


def decide(page: Page, at: int) -> None:
    """Whatever it is: every fourth is a no with a reason, one call is edited, the others are a yes."""
    if "The call" in page.content() and at % 5 == 1:
        page.click("text=Edit")
        page.fill("#args", '{"to": "ann@example.org"}')
        page.fill("#reason", "to Ann")
        page.click("button.primary")
    elif at % 4 == 3:
        page.fill("#reason", "not now")
        page.click("button[value=REJECTED]")
    else:
        if page.locator("#typed").count():
            asked_for = re.search(r"type <strong>(\w+)</strong>", page.content())
            assert asked_for is not None
            page.fill("#typed", asked_for[1])
        page.click("button[value=APPROVED]")
    page.wait_for_selector("p.done")


def test_a_reviewer_clears_twenty_mixed_items_without_a_terminal(
    window: Browser, preset: Guarded, caller: httpx.Client
) -> None:
    items = twenty(preset, caller)
    with person(window, preset) as page:
        page.click("tr[data-row] td.what a")
        for at in range(len(items)):
            page.wait_for_selector("#decide")
            if "change of state" in page.inner_text("p.crumbs"):
                row = page.inner_text("tr:has-text('goal.size')")
                assert row.index("small") < row.index("big"), "what is there now beside what will be"
            decide(page, at)
            if at + 1 < len(items):
                page.click("p.done a")
        page.wait_for_selector("text=Nothing else waits")
        page.goto("/inbox?status=information")
        assert page.locator("tr[data-row]").count() == 3
        page.click("text=Mark as seen")
        page.wait_for_selector("text=3 marked as seen")
    assert caller.get("/v1/approvals").json()["approvals"] == []
    decided = {
        kind: {caller.get(f"/v1/approvals/{name}").json()["status"] for name in items if items[name] == kind}
        for kind in set(items.values())
    }
    assert decided["claims"] | decided["call"] == {"approved", "rejected"}
    assert decided["delta"] <= {"approved", "rejected"}
    by = {caller.get(f"/v1/approvals/{name}").json()["decided_by"] for name in items}
    assert by == {"human://test-approver"}


@pytest.fixture
def investigated(preset: Guarded, caller: httpx.Client) -> str:
    """A session in which a hypothesis fell, a proposition was let in and a call was allowed."""
    with Client(preset[0].url, preset[1][Role.AGENT]) as client:
        named = {"title": "Who moved the standby"}
        session_id = client.declare_session(["a", "b", "c"], ONTOLOGY, metadata=named).session_id
    assert eliminate(caller, session_id, "a").status_code == 200
    items = [
        intent_of(caller, session_id, "standby-lag"),
        call_of(preset, caller, session_id, to="zed@example.net", body="it is the standby")["approval_id"],
    ]
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    for name in items:
        held = caller.get(f"/v1/approvals/{name}").json()["content_hash"]
        yes = {"decision": "APPROVED", "content_hash": held, "reason": "the standby is ours"}
        answer = caller.post(f"/v1/approvals/{name}/decision", json=yes, headers=admin)
        assert answer.status_code == 200, answer.text
    return session_id


def test_an_auditor_finds_each_answer_in_three_clicks(
    window: Browser, preset: Guarded, investigated: str
) -> None:
    with person(window, preset) as page:

        def clicked(*places: str) -> str:
            page.goto("/inbox")
            assert len(places) <= CLICKS
            for place in places:
                page.click(place)
                page.wait_for_load_state()
            return page.content()

        why = clicked("nav >> text=Sessions", "text=Who moved the standby", 'td a[href$="/why/a"]')
        assert "by this it fell" in why
        believed = clicked("nav >> text=Propositions", "text=standby-lag takes 40 ms")
        assert "create_proposition is executed" in believed
        allowed = clicked(
            "nav >> text=Propositions", "text=standby-lag takes 40 ms", "text=who allowed it >> nth=-1"
        )
        assert "approved by human://test-admin" in allowed
        assert "the standby is ours" in allowed
        page.goto("/audit")
        page.fill("input[name=tool]", "mail.send")
        page.fill("input[name=session]", investigated)
        page.click("button.primary")
        page.click("text=item >> nth=-1")
        assert "approved by human://test-admin" in page.content()
        row = f'tr:has(a[href="/sessions/{investigated}/audit"]) >> text=verify now'
        assert "The ledger holds" in clicked("nav >> text=Audit", row)
