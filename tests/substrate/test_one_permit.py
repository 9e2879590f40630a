"""Of a proposal whose calls its caller runs, one begins with it; the others are judged when they begin."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from beliefd.kernel.errors import Code
from beliefd.testing.world import refused
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import checked
from tests.substrate.conftest import Build
from tests.substrate.support import ToolWorld, codes
from tests.substrate.test_permits import RULES, approve, ask, forbid, revoke, wants

LEDGER: Final = (Path(__file__).parent / "fixtures" / "before_one_permit.jsonl").read_bytes()
"""Told by the version before: a proposal of two calls that both began with it."""


@pytest.fixture
def house(build: Build) -> ToolWorld:
    return build(policy=RULES)


def proposed(house: ToolWorld, session: str, token: str, *tools: str) -> list[Any]:
    calls = [wants(name, token, f"use-{number}", to="ana") for number, name in enumerate(tools)]
    return list(house.agent.propose(session, calls, execute="caller").results)


def test_the_first_has_a_permit_and_those_after_it_get_theirs_when_they_begin(house: ToolWorld) -> None:
    session = house.session()
    first, second, third = proposed(house, session, house.token(session), "Bash", "Bash", "Bash")
    assert [one.status for one in (first, second, third)] == ["running", "scheduled", "scheduled"]
    assert [one.permit is not None for one in (first, second, third)] == [True, False, False]
    house.agent.report_outcome(session, str(first.call_id), "ok", result=1)
    for one in (second, third):
        begun = house.agent.begin_call(session, str(one.call_id))
        assert (begun.status, begun.permit is not None) == ("running", True)
        refused(Code.CONFLICT, lambda one=one: house.agent.begin_call(session, str(one.call_id)))  # type: ignore[misc]
        house.agent.report_outcome(session, str(one.call_id), "ok", result=1)
    house.check(session)
    assert verify_with_node(house.agent.export(session)).code == 0


def use_up(house: ToolWorld, session: str, token: str) -> None:
    house.clock.advance(100_000)


@pytest.mark.parametrize(
    ("change", "code"),
    [(revoke, "BAD_CAPABILITY"), (use_up, "OVERDUE")],
)
def test_what_ends_while_the_first_runs_stops_the_second(
    house: ToolWorld, change: Callable[[ToolWorld, str, str], None], code: str
) -> None:
    session = house.session()
    token = house.token(session)
    first, second = proposed(house, session, token, "Bash", "Bash")
    change(house, session, token)
    stopped = house.agent.begin_call(session, str(second.call_id))
    assert (stopped.verdict, codes(stopped), stopped.status, stopped.permit) == (
        "deny",
        [code],
        "stopped",
        None,
    )
    refused(Code.CONFLICT, lambda: house.agent.report_outcome(session, str(second.call_id), "ok", result=1))
    told = house.agent.report_outcome(session, str(first.call_id), "ok", result=1)
    assert told.status == "ok", "what had begun is told as it was"
    house.check(session)


def test_a_policy_that_forbids_it_meanwhile_stops_the_second(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session)
    waits = ask(house.agent, session, wants("mail", token, "mail-1", to="ana"))
    approved = approve(house, waits)
    first, again = house.agent.propose(
        session,
        [wants("Bash", token, "use-1", command="ls"), wants("mail", token, "mail-1", to="ana")],
        execute="caller",
    ).results
    assert (first.status, again.call_id, again.status, again.permit) == (
        "running",
        approved,
        "scheduled",
        None,
    )
    forbid(house)
    assert codes(house.agent.begin_call(session, approved)) == ["DENIED"]
    house.check(session)


def test_a_ledger_of_before_is_decided_as_it_was() -> None:
    assert checked(LEDGER).ok, checked(LEDGER).first_bad
    assert verify_with_node(LEDGER).code == 0
