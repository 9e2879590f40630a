"""The rules in force as a page: what is wrong with them, which have mattered, why a call is decided so."""

import re
from html import unescape

import httpx
import msgspec

from beliefd.client import Client
from beliefd.kernel.values import Role
from tests.console.test_calls import Guarded, call_of, caller, preset
from tests.console.visitor import OWN, Person, session_of

__all__ = ["caller", "preset"]
NEVER = {
    "v": 1,
    "effect": "deny",
    "subject": {"tool_id": "mail.send"},
    "on_fail": "block",
    "reason": "never <b>fires</b>",
    "when": {"op": "all", "args": [{"op": "eq", "args": ["fact.x", 1]}, {"op": "eq", "args": ["fact.x", 2]}]},
}


def test_rules_say_what_they_are_about_what_lint_finds_and_how_often_they_mattered(
    preset: Guarded, caller: httpx.Client
) -> None:
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    before = caller.get("/v1/policy").json()["policy"]
    constraints = {**before["constraints"], "constraint.zz.never": NEVER}
    adopted = caller.put("/v1/policy", json={**before, "constraints": constraints}, headers=admin)
    assert adopted.status_code == 200, adopted.text
    person = Person(preset[0], preset[1][Role.APPROVER])
    try:
        for at in range(2):
            call_of(preset, caller, session_of(caller), to=f"eve-{at}@example.net", body="x")
        with Client(preset[0].url, preset[1][Role.APPROVER]) as client:
            review = client.review_policy()
        shown = person.read("/policy")
    finally:
        assert caller.put("/v1/policy", json=before, headers=admin).status_code == 200
    used = {one.constraint: one for one in review.used}
    assert used["constraint.guard.04_sinks"].count == 2, "under the policy before, nothing is counted"
    assert used["constraint.zz.never"].count == 0
    assert "constraint.guard.00_allow" not in used
    assert (review.decisions, review.complete) == (2, True)
    assert [one.constraint for one in review.findings if one.code == "NEVER_FIRES"] == ["constraint.zz.never"]
    assert review.warnings >= 1
    rows = dict(re.findall(r'<tr><td class="id named">([\w.]+)</td>(.*?)</tr>', shown, re.S))
    assert "never &lt;b&gt;fires" in rows["zz.never"]
    assert "/policy?tool=mail.send#ask" in rows["zz.never"]
    assert ">never</span>" in rows["zz.never"]
    assert "everything" in rows["guard.04_sinks"]
    last = used["constraint.guard.04_sinks"].last
    assert last is not None
    assert f"/sessions/{last.session_id}/audit?around={last.seq}#{last.event_id}" in rows["guard.04_sinks"]
    assert "<strong>NEVER_FIRES</strong>" in shown
    assert 'value="mail.send"' in person.read("/policy?tool=mail.send")


def test_a_review_counts_nothing_of_a_space_that_one_may_not_see(
    preset: Guarded, caller: httpx.Client
) -> None:
    call_of(preset, caller, session_of(caller), to="eve@example.net", body="x")
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    assert caller.post("/v1/spaces", json={"name": "attic"}, headers=admin).status_code == 201
    wanted = {"name": "stranger", "role": "approver", "spaces": {"attic": ["read"]}}
    secret = caller.post("/v1/tokens", json=wanted, headers=admin).json()["secret"]
    stranger = {"Authorization": f"Bearer {secret}"}
    assert caller.get("/v1/policy/review", headers=stranger).json()["decisions"] == 0
    assert caller.get("/v1/policy/review").json()["decisions"] > 0


def test_a_call_that_waits_is_explained_from_its_card(preset: Guarded, caller: httpx.Client) -> None:
    person = Person(preset[0], preset[1][Role.APPROVER])
    waiting = call_of(preset, caller, session_of(caller), to='"eve"@example.net', body="<x>")["approval_id"]
    shown = person.read(f"/inbox/{waiting}")
    form = re.search(r'action="/policy#explained">(.*?)</form>', shown, re.S)
    assert form is not None
    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form[1])}
    assert msgspec.json.decode(fields["args"]) == {"to": '"eve"@example.net', "body": "<x>"}
    answer = person.http.post("/policy", data=fields, headers=OWN)
    assert answer.status_code == 200
    assert re.search(r'mail\.send <span class="outcome', answer.text)
    assert "guard." in answer.text[: answer.text.index("Explain a call")]


def test_a_call_that_waits_is_explained_as_it_was_proposed_and_leads_back_to_its_card(
    preset: Guarded, caller: httpx.Client
) -> None:
    session_id = session_of(caller)
    item = call_of(preset, caller, session_id, to="eve@example.net", body="x")["approval_id"]
    person = Person(preset[0], preset[1][Role.APPROVER])
    card = person.read(f"/inbox/{item}")
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', card))
    assert form["item"] == item
    form = {name: unescape(form[name]) for name in ("what", "item", "tool", "session", "args")}
    found = person.http.post("/policy", data=form, headers=OWN)
    assert found.status_code == 200
    explained = found.text.partition('id="explained"')[2].partition("</section>")[0]
    assert f'href="/inbox/{item}"' in explained
    assert "asks a person" in explained
    assert "DENIED" not in explained
    assert "nothing you can change" not in explained
    assert "Not judged here: capability" not in explained
    with_no_event = person.http.post("/policy", data={**form, "item": "apr-none"}, headers=OWN)
    assert with_no_event.status_code == 200
