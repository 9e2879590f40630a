"""Changes of the symbolic state that a person is asked about: made when confirmed, whole, once, or never."""

import re
from functools import partial
from io import StringIO
from typing import Any

import msgspec
import pytest
from rich.console import Console

from beliefd.cli.views.drawing import view
from beliefd.console.pages.contents import changes_of
from beliefd.kernel.approvals.state import DeltaSubject
from beliefd.kernel.errors import Code
from beliefd.protocol.approvals import ApprovalCard
from beliefd.testing.world import refused
from tests.claims.support import inbox_is_the_fold_of_all_ledgers
from tests.substrate.conftest import Build
from tests.substrate.support import (
    ALLOW_ALL,
    delta,
    one,
    rules,
    when,
)
from tests.substrate.test_asking import confirmed

CAREFUL = {"v": 1, "effect": "deny", "subject": {"capability": "write:goal"}, "on_fail": "ask"}
BIG = {
    "v": 1,
    "effect": "deny",
    "subject": None,
    "when": when("eq", "goal.size.value", "big"),
    "on_fail": "ask",
}


@pytest.mark.parametrize("named", ["careful", "invariant.big"])
def test_a_change_of_state_can_be_asked_for_too(build: Build, named: str) -> None:
    house = build(policy=rules(all=ALLOW_ALL, **{named: CAREFUL if named == "careful" else BIG}))
    session = house.session()
    before = house.state(session).substrate.state_snapshot_id
    told = {**delta(goal__size="big"), "rationale": "everything else is big, too"}
    answer = one(house.agent.propose(session, [told]))
    assert (answer.verdict, answer.on_fail) == ("defer", "ask")
    assert answer.approval_id is not None
    assert house.state(session).substrate.state_snapshot_id == before
    card = house.ann.show_approval(answer.approval_id)
    assert isinstance(card.subject, DeltaSubject)
    assert card.subject.candidate is not None
    assert card.subject.candidate.patch.set == {"goal.size": {"v": 1, "value": "big"}}
    assert card.subject.candidate.rationale == "everything else is big, too"
    assert card.call is not None
    assert [one.constraint for one in card.call.reasons] == [f"constraint.{named}"]
    decided = house.ann.approve(card)
    result = confirmed(decided)
    assert (result.verdict, result.status, result.result) == ("allow", None, None)
    state = house.state(session)
    assert state.substrate.symbolic_state["goal.size"] == {"v": 1, "value": "big"}
    assert state.substrate.state_snapshot_id == decided.audit_event_id
    assert house.agent.show_state(session, at=before).f_sparse.keys() & {"goal.size"} == set()
    assert house.agent.show_state(session).state_snapshot_id == decided.audit_event_id
    refused(Code.CONFLICT, lambda: house.bob.approve(card))
    house.check(session)
    inbox_is_the_fold_of_all_ledgers(house)


def test_a_confirmed_change_is_judged_on_the_state_of_that_moment(build: Build) -> None:
    exclusive = {
        "v": 1,
        "effect": "deny",
        "when": when("all", when("exists", "goal.size"), when("exists", "goal.freeze")),
    }
    house = build(policy=rules(all=ALLOW_ALL, **{"invariant.big": BIG, "invariant.one": exclusive}))
    session = house.session()
    answer = one(house.agent.propose(session, [delta(goal__size="big")]))
    card = house.ann.show_approval(answer.approval_id or "")
    house.agent.propose(session, [delta(goal__freeze=1)])
    before = house.state(session).substrate.state_snapshot_id
    error = refused(Code.CONFLICT, lambda: house.ann.approve(card))
    assert (error.details or {})["reasons"][0] == "GOAL_CONFLICT"
    assert house.state(session).substrate.state_snapshot_id == before
    house.check(session)


def test_a_confirmed_change_does_not_undo_what_was_written_meanwhile(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, **{"invariant.big": BIG}))
    session = house.session()
    house.agent.propose(session, [delta(goal__other=1)])

    def big(*before: dict[str, Any]) -> ApprovalCard:
        answer = house.agent.propose(session, [*before, delta(goal__size="big")])
        return house.ann.show_approval(answer.results[-1].approval_id or "")

    first, second, third = big(), big(), big(delta(goal__size="small"))
    house.agent.propose(session, [delta(goal__other=2)])
    assert confirmed(house.ann.approve(third)).verdict == "allow", "its own proposal wrote the key before"
    for card in (first, second):
        error = refused(Code.CONFLICT, partial(house.ann.approve, card))
        assert (error.details or {})["reasons"] == ["CONFLICT"]
        assert "`goal.size`" in str(house.ann.show_approval(card.approval_id).cannot_run)
    house.check(session)


def test_a_change_is_shown_beside_what_is_there_at_the_moment(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, **{"invariant.big": BIG}))
    session = house.session()
    house.agent.propose(session, [delta(goal__size="small", goal__old=1)])
    wanted = delta(goal__size="big", goal__new=[7])
    wanted["patch"]["remove"] = ["goal.old"]
    answer = one(house.agent.propose(session, [wanted]))
    card = house.ann.show_approval(answer.approval_id or "")
    assert card.call is not None
    small, old = {"v": 1, "value": "small"}, {"v": 1, "value": 1}
    assert card.call.values_now == {"goal.size": small, "goal.old": old}
    (told,) = re.findall(r"there now (.*)", plain(card))
    assert msgspec.json.decode(told) == card.call.values_now
    assert [(one.name, one.known, one.now and one.now.value) for one in changes_of(card)] == [
        ("goal.new", True, None),
        ("goal.size", True, small),
        ("goal.old", True, old),
    ]
    decided = house.ann.approve(card).approval
    settled = house.ann.show_approval(decided.approval_id)
    assert settled.call is not None
    assert settled.call.values_now == {}, "what is there by now may be what it has made"
    assert next((one.name, one.known) for one in changes_of(settled)) == ("goal.new", False)


def plain(card: ApprovalCard) -> str:
    terminal = Console(width=400, file=StringIO())
    with terminal.capture() as told:
        terminal.print(view(card))
    return told.get()


def test_a_rejected_change_is_never_made(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL, careful=CAREFUL))
    session = house.session()
    answer = one(house.agent.propose(session, [delta(goal__size="big")]))
    card = house.ann.show_approval(answer.approval_id or "")
    house.ann.reject(card)
    assert len(house.state(session).substrate.symbolic_state) == 0
    assert house.state(session).substrate.state_snapshot_id == "genesis"
    house.check(session)


# -- through restarts -----------------------------------------------------------------------------------
