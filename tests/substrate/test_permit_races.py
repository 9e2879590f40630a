"""Two servers on one store, and callers who come at once: one permit per call, one report per permit."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.substrate.events import Arbitrated, CallStarted, OutcomeRecorded
from tests.substrate.support import ToolWorld
from tests.substrate.test_permits import RULES, approve, ask, wants

ROUNDS = 5


@pytest.fixture(params=["sqlite", "postgres"])
def houses(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ToolWorld, ToolWorld]]:
    """Two servers on one store."""
    is_postgres = request.param == "postgres"
    target: Any = request.getfixturevalue("postgres_url") if is_postgres else tmp_path / "b.db"
    with ToolWorld(target, RULES) as one, ToolWorld(target, RULES, clock=one.clock) as other:
        yield one, other


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """What each is answered with; an error is an answer, too."""

    def attempted(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except BeliefdError as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(attempted, acts))


def permits(answers: list[Any]) -> int:
    return sum(getattr(one, "permit", None) is not None for one in answers)


def raced(house: ToolWorld, other: ToolWorld, session: str, token: str, number: int) -> None:
    """One call that was approved and one that is free, wanted by everybody at once."""
    call = wants("mail", token, f"use-{number}", to=f"ana-{number}")
    call_id = approve(house, ask(house.agent, session, call))
    again = {**call, "join_key": f"other-{number}"}
    answers = at_once(
        lambda: house.agent.begin_call(session, call_id),
        lambda: other.agent.begin_call(session, call_id),
        lambda: ask(house.agent, session, call),
        lambda: ask(other.agent, session, call),
        lambda: ask(other.agent, session, again),
    )
    assert permits(answers) == 1, answers
    told = at_once(
        lambda: house.agent.report_outcome(session, call_id, "ok", result="here"),
        lambda: other.agent.report_outcome(session, call_id, "ok", result="there"),
    )
    assert sum(not isinstance(one, BeliefdError) for one in told) == 1, told
    free = wants("Bash", token, f"run-{number}", command="ls")
    both = at_once(lambda: ask(house.agent, session, free), lambda: ask(other.agent, session, free))
    assert permits(both) == 1, both


def test_one_permit_and_one_report_however_many_servers_and_callers(
    houses: tuple[ToolWorld, ToolWorld],
) -> None:
    house, other = houses
    session = house.session()
    token = house.token(session)
    for number in range(ROUNDS):
        raced(house, other, session, token, number)
    deltas = house.deltas(session)
    outcomes = [one.call.call_id for one in deltas if isinstance(one, OutcomeRecorded)]
    begun = [one.call.call_id for one in deltas if isinstance(one, CallStarted)]
    for event in deltas:
        if isinstance(event, Arbitrated):
            begun += [one.call_id for r in event.results if (one := r.started or r.call)]
    assert len(set(outcomes)) == len(outcomes) == ROUNDS
    assert len(set(begun)) == len(begun) == 2 * ROUNDS
    house.check(session)
