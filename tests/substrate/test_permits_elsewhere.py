"""Ledgers of permits and catalogues verify in the second language too, state hashes included."""

from pathlib import Path
from typing import Any

import pytest

from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, rules, with_tools
from tests.substrate.test_catalogues import GATEWAY, READ
from tests.substrate.test_permits import TOOLS, approve, ask, wants
from tests.substrate.test_second_language import verifies_elsewhere

COSTING = {name: {**tool, "uses": {"tokens": 3}} for name, tool in TOOLS.items()}
RULES = with_tools(rules(all=ALLOW_ALL, ask=deny("mail", on_fail="ask")), **COSTING)


@pytest.mark.slow
def test_node_recomputes_permits_that_begin_wait_stop_and_end(tmp_path: Path) -> None:
    with ToolWorld(policy=RULES) as house:
        session = house.session()
        token = house.token(session, budgets={"tokens": 10_000})
        for number in range(3):  # by name, by coming back, and never
            call = wants("mail", token, f"m-{number}", to=str(number))
            call_id = approve(house, ask(house.agent, session, call))
            if number == 0:
                house.agent.begin_call(session, call_id)
            elif number == 1:
                assert ask(house.agent, session, {**call, "join_key": "another"}).permit is not None
                house.agent.report_outcome(session, call_id, "error", error="no such box", tokens=2)
        forbids = with_tools(rules(all=ALLOW_ALL, no=deny("mail")), **COSTING)
        house.steward.in_force.adopt(forbids)
        assert ask(house.agent, session, wants("mail", token, "m-2", to="2")).status == "stopped"
        house.steward.in_force.adopt(RULES)
        house.clock.advance(40)
        house.expire()
        number = 0
        while len(house.entries(session)) < 256:
            number += 1
            answer = ask(house.agent, session, wants("Bash", token, f"b-{number}", command="ls"))
            house.agent.report_outcome(session, str(answer.call_id), "ok", result=number, tokens=1)
        house.check(session)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.export(session))
    assert '"state_hash"' in exported.read_text()
    verifies_elsewhere(exported)


@pytest.mark.slow
def test_node_recomputes_what_is_pinned_offered_and_accepted(tmp_path: Path) -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        gateway = house.person(GATEWAY)
        tool: dict[str, Any] = READ
        for number in range(100):
            name = gateway.pin_tools("files", [tool, {"name": f"t-{number}"}]).session_id
            tool = {**READ, "description": str(number)}
            (waits,) = gateway.pin_tools("files", [tool]).waiting
            card = house.ann.show_approval(waits.approval_id)
            if number % 3:
                house.ann.approve(card)
            else:
                tool = READ if number == 0 else tool
        assert len(house.entries(name)) > 256
        house.check(name)
        exported = tmp_path / "ledger.jsonl"
        exported.write_bytes(house.export(name))
    assert '"state_hash"' in exported.read_text()
    verifies_elsewhere(exported)
