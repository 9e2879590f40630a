"""What pages say of a decision: in words for people, and who decided."""

import re

import httpx

from tests.console.visitor import Person, asked


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
