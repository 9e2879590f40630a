"""The decisions that the contract leaves open or that earlier implementations got wrong, case by case."""

import msgspec
import pytest

from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    EnterObligation,
    RequestExit,
    RequestTermination,
    SessionOptions,
)
from beliefd.kernel.beliefs.events import ConclusionRuled, Eliminated, ExitRuled, TerminationRuled
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy, TerminationPolicy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal, Role
from beliefd.testing.world import ONTOLOGY


def session(*hypotheses: str, unknown: str = "reject") -> Session:
    options = msgspec.convert({"unknown_hypotheses": unknown}, SessionOptions)
    return begin("s", DeclareSession(ontology=ONTOLOGY, hypotheses=hypotheses, options=options))


def heard_by(role: Role = Role.AGENT, policy: Policy | None = None) -> Facts:
    principal = Principal(id=f"{role}://x", role=role)
    return Facts(now="t", event_id="e", principal=principal, policy=policy or Policy(), policy_hash="p")


def after(state: Session, *commands: Command, facts: Facts | None = None) -> tuple[Session, Event]:
    event: Event | None = None
    for command in commands:
        event = decide(state, command, facts or heard_by())
        state = evolve(state, event)
    assert event is not None
    return state, event


def gone(*names: str) -> Eliminate:
    return Eliminate(source_id="s", observation_id="o", eliminated=names, justification={})


FORCE = RequestTermination(context={"force": True})
END = RequestTermination()


def test_known_failure_zero_survivors_is_exhausted_and_not_certainty() -> None:
    state, _ = after(session("a", "b"), gone("a", "b"))
    assert state.beliefs.status == "exhausted"
    _, event = after(state, END)
    assert isinstance(event, TerminationRuled)
    assert not event.approved
    assert event.reason == "0 survivors are left; exactly one is needed, or force"


@pytest.mark.parametrize("role", list(Role))
def test_known_failure_force_is_not_for_anybody(role: Role) -> None:
    _, event = after(session("a", "b"), FORCE, facts=heard_by(role))
    assert isinstance(event, TerminationRuled)
    assert event.approved == (role in {Role.ADMIN, Role.APPROVER})


@pytest.mark.parametrize("context", [{"force": 1}, {"force": "true"}, {"Force": True}, {"force": [True]}, {}])
def test_force_is_the_json_value_true_and_nothing_that_resembles_it(context: dict[str, object]) -> None:
    _, event = after(session("a", "b"), RequestTermination(context=context), facts=heard_by(Role.ADMIN))
    assert isinstance(event, TerminationRuled)
    assert not event.approved


def test_known_failure_an_obligation_is_not_reset_by_entering_it_again() -> None:
    promise = EnterObligation(obligation_id="o", min_total_eliminations=2)
    state, _ = after(session("a", "b", "c", "d"), promise, gone("a"))
    state, event = after(state, promise)
    assert isinstance(event, Refused)
    assert event.code is Code.CONFLICT
    _, event = after(state, gone("b"), RequestExit(obligation_id="o"))
    assert isinstance(event, ExitRuled)
    assert event.approved, "the elimination before the second entry still counts"


def test_an_obligation_is_not_weakened_by_entering_it_with_a_smaller_minimum() -> None:
    state, _ = after(session("a", "b", "c"), EnterObligation(obligation_id="o", min_total_eliminations=2))
    state, event = after(state, EnterObligation(obligation_id="o", min_total_eliminations=0))
    assert isinstance(event, Refused)
    _, event = after(state, RequestExit(obligation_id="o"))
    assert isinstance(event, ExitRuled)
    assert not event.approved


@pytest.mark.parametrize(
    ("survivors", "obligation", "force", "role", "approved"),
    [
        (1, False, False, Role.AGENT, True),
        (2, False, False, Role.AGENT, False),
        (0, False, False, Role.AGENT, False),
        (1, True, False, Role.AGENT, False),
        (2, False, True, Role.ADMIN, True),
        (0, False, True, Role.APPROVER, True),
        (2, False, True, Role.AGENT, False),
        (1, False, True, Role.AGENT, True),
        (1, True, True, Role.ADMIN, False),
        (2, True, True, Role.ADMIN, False),
        (0, True, True, Role.ADMIN, False),
    ],
)
def test_termination_precedence(
    survivors: int, obligation: bool, force: bool, role: Role, approved: bool
) -> None:
    """No active obligation, always; then one survivor, or force by a role that policy names."""
    steps: list[Command] = [gone(*"abc"[survivors:])]
    if obligation:
        steps.append(EnterObligation(obligation_id="o", min_total_eliminations=0))
    _, event = after(session("a", "b", "c"), *steps, FORCE if force else END, facts=heard_by(role))
    assert isinstance(event, TerminationRuled)
    assert event.approved == approved


def test_every_active_obligation_counts_and_none_before_its_entry() -> None:
    state, _ = after(
        session(*"abcde"),
        EnterObligation(obligation_id="early", min_total_eliminations=2),
        gone("a"),
        EnterObligation(obligation_id="late", min_total_eliminations=2),
        gone("b"),
    )
    assert state.beliefs.active_obligation_id == "late"
    state, early = after(state, RequestExit(obligation_id="early"))
    state, late = after(state, RequestExit(obligation_id="late"))
    assert isinstance(early, ExitRuled)
    assert isinstance(late, ExitRuled)
    assert (early.approved, late.approved) == (True, False)
    _, conclusion = after(state, DeclareConclusion(conclusion_id="c"))
    assert isinstance(conclusion, ConclusionRuled)
    assert not conclusion.accepted
    assert conclusion.reason == "obligation `late` has no approved exit"


def test_entering_again_after_an_approved_exit_makes_it_the_latest() -> None:
    state, _ = after(
        session(*"abc"),
        EnterObligation(obligation_id="x", min_total_eliminations=0),
        RequestExit(obligation_id="x"),
        EnterObligation(obligation_id="y", min_total_eliminations=0),
        EnterObligation(obligation_id="x", min_total_eliminations=0),
    )
    assert state.beliefs.active_obligation_id == "x"
    assert list(state.beliefs.obligations) == ["y", "x"]


def test_a_minimum_beyond_the_survivors_left_is_refused_and_names_the_limit() -> None:
    state, _ = after(session(*"abc"), gone("a"))
    _, event = after(state, EnterObligation(obligation_id="o", min_total_eliminations=3))
    assert isinstance(event, Refused)
    assert (event.code, event.details["limit"]) == (Code.INVALID_REQUEST, 2)
    state, event = after(state, EnterObligation(obligation_id="o", min_total_eliminations=2))
    assert state.beliefs.active_obligation_id == "o"


def test_undeclared_ids_refuse_the_whole_elimination_and_are_named() -> None:
    state, event = after(session("a", "b"), gone("a", "zz", "yy"))
    assert isinstance(event, Refused)
    assert event.code is Code.INVALID_HYPOTHESIS_ID
    assert event.details == {"path": "$.eliminated", "hypotheses": ["yy", "zz"], "count": 2}
    assert list(state.beliefs.survivors) == ["a", "b"]


def test_a_refusal_names_twenty_ids_and_counts_the_rest() -> None:
    _, event = after(session("a"), gone(*(f"n{at:02}" for at in range(25))))
    assert isinstance(event, Refused)
    assert len(event.details["hypotheses"]) == 20
    assert event.details["count"] == 25
    assert event.message.endswith("and 5 more")


def test_undeclared_ids_are_ignored_where_the_session_says_so() -> None:
    state, event = after(session("a", "b", unknown="ignore"), gone("a", "zz"))
    assert isinstance(event, Eliminated)
    assert (event.eliminated, event.ignored) == (("a",), ("zz",))
    assert list(state.beliefs.survivors) == ["b"]


def test_a_stability_window_asks_for_conclusions_that_agree() -> None:
    facts = heard_by(policy=Policy(termination=TerminationPolicy(stability_window=2)))
    state, event = after(session("a"), DeclareConclusion(conclusion_id="x"), END, facts=facts)
    assert isinstance(event, TerminationRuled)
    assert not event.approved
    for conclusion, approved in (("y", False), ("y", True)):
        state, event = after(state, DeclareConclusion(conclusion_id=conclusion), END, facts=facts)
        assert isinstance(event, TerminationRuled)
        assert event.approved is approved


@pytest.mark.parametrize(
    "command",
    [
        gone("a"),
        EnterObligation(obligation_id="o", min_total_eliminations=0),
        RequestExit(obligation_id="o"),
        DeclareConclusion(conclusion_id="c"),
        END,
        FORCE,
        DeclareSession(ontology=ONTOLOGY, hypotheses=("z",)),
    ],
)
def test_a_terminated_session_refuses_every_verb_and_stays_as_it_was(command: Command) -> None:
    closed, _ = after(session("a"), END)
    state, event = after(closed, command, facts=heard_by(Role.ADMIN))
    assert isinstance(event, Refused)
    assert event.code is Code.SESSION_TERMINATED
    assert state is closed
