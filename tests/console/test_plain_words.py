"""What pages say of a decision: in words for people, and who decided."""

import re
from pathlib import Path

import httpx

from beliefd.console.pages.telling import told
from beliefd.console.rendering import templates
from tests.console.visitor import Person, asked
from tests.support.server import server_process


def test_work_names_who_let_a_claim_through(approver: Person, agent: httpx.Client) -> None:
    session, approval_id = asked(agent)
    card = approver.read(f"/inbox/{approval_id}")
    assert re.search(r'class="outcome ESCALATE">needs a person<', card)
    assert re.search(r'class="outcome EXECUTE">pass<', card)
    assert approver.decide(approval_id, decision="APPROVED", typed="DELETE").status_code == 303
    shown = approver.read(f"/sessions/{session}/work")
    (claims,) = re.findall(r"Why..(.*?)</td>", shown)
    assert claims.startswith("passed; adversarial and human gates answered by human://test-approver")
    assert "all gates passed" not in shown


def test_work_begins_with_retracted(approver: Person, agent: httpx.Client) -> None:
    session, approval_id = asked(agent)
    assert approver.decide(approval_id, decision="APPROVED", typed="DELETE").status_code == 303
    (one,) = agent.get(f"/v1/sessions/{session}/claims").json()["claims"]
    body = {"bundle_id": one["id"], "reason": "the wrong standby"}
    assert agent.post(f"/v1/sessions/{session}/retractions", json=body).status_code == 200
    shown = approver.read(f"/sessions/{session}/work")
    assert re.search(r'data-label="Decision">RETRACTED</td><td data-label="Why">by agent://', shown)


def test_a_link_that_was_used_leads_on_whoever_is_signed_in(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        person = Person(server)
        again = person.http.get(str(person.signed_in.request.url))
        assert (again.status_code, again.headers["location"]) == (303, person.signed_in.headers["location"])
        assert Person(server).signed_in.status_code == 401


def test_backticks_are_shown_as_code_and_others_words_stay_escaped() -> None:
    shown = templates().from_string("{{ words|coded }}")
    assert shown.render(words="it reads `a<b>` now") == "it reads <code>a&lt;b&gt;</code> now"
    assert shown.render(words="an odd ` one") == "an odd ` one"


def test_an_event_says_that_a_repeated_call_did_not_run() -> None:
    event = {"delta": {"results": [{"verdict": "allow", "reason_code": "REPEATED"}]}}
    assert told("s", event).outcome == "repeated, not run"
