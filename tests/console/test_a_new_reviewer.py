"""What somebody looks for who has never seen the console: the way on, and what is not in the list."""

import re

import httpx

from beliefd.console.pages.policy import Rule
from beliefd.kernel.values import Role
from tests.console.visitor import Person, asked, claim_of, session_of
from tests.support.server import ServerProcess

Guarded = tuple[ServerProcess, dict[Role, str]]


def test_an_item_can_be_left_undecided_for_the_one_below_it(approver: Person, agent: httpx.Client) -> None:
    for at in range(3):
        asked(agent, f"left undecided {at}", "MODIFY")
    listed = re.findall(r'<td class="what"><a href="(/inbox/[^"]+)"', approver.read("/inbox"))
    for place, after in zip(listed, [*listed[1:], "/inbox"], strict=True):
        shown = approver.read(place)
        assert f'href="{place}?then=skip" data-key="n"' in shown
        assert approver.http.get(f"{place}?then=skip").headers["location"] == after
    assert 'data-key="w"' in approver.read(listed[0]), "a key leads to the reason, too"


def test_the_list_says_what_is_there_for_information(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent)
    inferred = {**claim_of("a queue is long", "MODIFY"), "claim_type": "INFERENCE"}
    done = agent.post(f"/v1/sessions/{session_id}/claims", json={"claims": [inferred]})
    assert done.status_code == 200, done.text
    assert re.search(r'<a href="/inbox\?status=information">For information: \d', approver.read("/inbox"))
    assert "For information:" not in approver.read("/inbox?status=approved")


def test_who_allowed_it_is_two_clicks_and_no_word_away(approver: Person, agent: httpx.Client) -> None:
    _, approval_id = asked(agent, "asked by an auditor", "MODIFY")
    approver.decide(approval_id, decision="REJECTED", reason="no")
    assert 'href="/audit?verb=DECIDE_APPROVAL"' in approver.read("/audit")
    for verb in re.findall(r'href="/audit\?verb=(\w+)"', approver.read("/audit")):
        assert "There is no verb" not in approver.read(f"/audit?verb={verb}")
    assert f'href="/inbox/{approval_id}"' in approver.read("/audit?verb=DECIDE_APPROVAL")


def test_a_rule_is_listed_by_what_it_comes_to() -> None:
    told = {
        ("allow", ""): "allow",
        ("allow", "ask"): "allow, else ask",
        ("deny", ""): "deny",
        ("deny", "block"): "deny",
        ("deny", "ask"): "ask",
        ("ask", ""): "ask",
    }
    for (effect, on_fail), word in told.items():
        assert Rule.of("constraint.x", {"effect": effect, "on_fail": on_fail}, None).does == word


def test_rules_come_before_what_lint_has_to_note_of_them(approver: Person) -> None:
    shown = approver.read("/policy")
    assert shown.index("<h2>Rules") < shown.index("<h2>Looked over")
