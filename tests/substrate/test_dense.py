"""The dense side: vectors come with changes, are kept and shown again, and decide nothing."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.approvals.state import DeltaSubject
from beliefd.kernel.canonical import digest
from beliefd.kernel.decide import decide
from beliefd.kernel.errors import Code
from beliefd.kernel.evolve import evolve
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.dense import MAX_DIMS, MAX_DIMS_OF_PROPOSAL, vector
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.proposals import DeltaCandidate, Patch
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.values import Role
from beliefd.testing.world import AGENT, BY_ROLE, ENCODER, policy, refused
from tests.substrate import strategies as some
from tests.substrate.conftest import Build
from tests.substrate.kernel import facts_of, session_with
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one, proposal, rules, when

ASKS = {"v": 1, "effect": "deny", "subject": {"capability": "write:goal"}, "on_fail": "ask"}


def dense(*values: float, **sets: Any) -> dict[str, Any]:
    return {**delta(**sets), "delta_vector": msgspec.to_builtins(vector(values))}


def test_a_vector_is_kept_with_its_change_and_shown_with_the_state(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    assert house.agent.show_state(session).s_core is None
    first = house.agent.propose(session, [dense(0.25, -3, 1e-9, goal__x=1)])
    house.agent.propose(session, [delta(goal__y=1)])
    last = house.encoder.propose(session, [dense(1.5, fact__x=1), dense(2.5, 7, fact__y=1)])
    core = house.agent.show_state(session).s_core
    assert core is not None
    assert (core.values, core.dims, core.event_id) == ([2.5, 7.0], 2, last.audit_event_id)
    assert core.digest == digest([2.5, 7])
    past = house.agent.show_state(session, at=first.audit_event_id).s_core
    assert past is not None
    assert past.values == [0.25, -3.0, 1e-9]
    assert house.agent.show_state(session, at="genesis").s_core is None
    house.check(session)


def test_the_vector_of_a_change_that_waits_comes_with_the_yes(build: Build) -> None:
    invariant = {"v": 1, "effect": "deny", "when": when("exists", "goal.x"), "on_fail": "ask"}
    house = build(policy=rules(all=ALLOW_ALL, asks=ASKS))
    session = house.session()
    proposed = house.agent.propose(session, [dense(0.5, goal__x=1)])
    card = house.ann.show_approval(one(proposed).approval_id or "")
    assert isinstance(card.subject, DeltaSubject)
    assert card.subject.candidate is not None
    assert not card.subject.candidate.delta_vector, "thousands of numbers are nothing to read in an inbox"
    assert house.agent.show_state(session).s_core is None
    # The yes leads to another question, and only the second one to the change.
    house.steward.in_force.adopt(rules(all=ALLOW_ALL, asks=ASKS, **{"invariant.x": invariant}))
    again = house.ann.approve(card).call
    assert again is not None
    assert again.approval_id is not None
    house.ann.approve(house.ann.show_approval(again.approval_id))
    state = house.agent.show_state(session)
    assert state.s_core is not None
    assert (state.s_core.values, state.s_core.event_id) == ([0.5], proposed.audit_event_id)
    assert (state.agent_id, state.provenance and state.provenance.source) == (AGENT.id, "agent")
    house.check(session)


def test_what_is_refused_leaves_no_vector_behind(house: ToolWorld) -> None:
    session = house.session()
    assert one(house.agent.propose(session, [dense(0.5, fact__x=1)])).verdict == "deny"
    assert house.agent.show_state(session).s_core is None


@pytest.mark.parametrize("role", Role)
def test_agents_and_encoders_send_vectors(house: ToolWorld, role: Role) -> None:
    session, who = house.session(), house.person(BY_ROLE[role])
    key = "goal__x" if role is Role.AGENT else "fact__x"
    answer = one(who.propose(session, [dense(0.5, **{key: 1})]))
    if role in (Role.AGENT, Role.ENCODER):
        assert answer.verdict == "allow"
    else:
        assert codes(answer)[0] == "NOT_AUTHORISED"
        assert "vector" in answer.reasons[0].text


@pytest.mark.parametrize(
    ("spoilt", "path"),
    [
        ({"digest": "0" * 64}, ".digest"),
        ({"digest": "short"}, ".digest"),
        ({"dims": 3}, ".dims"),
        ({"dims": 0}, ".dims"),
        ({"values": []}, ".values"),
        ({"values": [0.5, "1"]}, ".values[1]"),
        ({"values": [0.5, True]}, ".values[1]"),
        ({"values": [0.5, None]}, ".values[1]"),
        ({"values": [0.5] * (MAX_DIMS + 1)}, ".values"),
        ({"more": 1}, ".more"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_vector_or_does_not_fit_its_digest_is_refused(
    house: ToolWorld, spoilt: dict[str, Any], path: str
) -> None:
    session = house.session()
    change = dense(0.5, 1.5, goal__x=1)
    change["delta_vector"] |= spoilt
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.propose(session, [change]))
    assert (error.details or {})["path"] == f"$.candidates[0].delta_vector{path}"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2.0**60])
def test_numbers_without_a_canonical_form_are_refused(house: ToolWorld, value: float) -> None:
    change = dense(0.5, goal__x=1)
    change["delta_vector"]["values"] = [value]
    session = house.session()
    refused(Code.INVALID_REQUEST, lambda: house.agent.propose(session, [change]))


def test_all_vectors_of_a_proposal_together_are_bounded(house: ToolWorld) -> None:
    session = house.session()
    most = [dense(*[0.5] * MAX_DIMS, goal__x=n) for n in range(MAX_DIMS_OF_PROPOSAL // MAX_DIMS)]
    answer = house.agent.propose(session, most)
    assert {one.verdict for one in answer.results} == {"allow"}
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.propose(session, [*most, dense(1, goal__y=1)]))
    assert (error.details or {})["path"] == "$.candidates"


changes = st.lists(
    some.patches.filter(lambda patch: (patch[0] or patch[1]) and not patch[0].keys() & set(patch[1])),
    min_size=1,
    max_size=3,
)
numbers = st.floats(-1e9, 1e9).map(lambda one: one + 0.0)
vectors = st.none() | st.lists(numbers, min_size=1, max_size=4)


@given(
    some.policies,
    some.states,
    changes,
    st.lists(vectors, min_size=3, max_size=3),
    st.sampled_from([AGENT, ENCODER]),
)
def test_no_verdict_rests_on_a_vector(
    constraints: Any, state: Any, patches: Any, attached: list[list[float] | None], who: Any
) -> None:
    """With any vectors or none the same happens: verdicts, reasons, questions, mode, and the state after."""
    facts = facts_of(policy(constraints=constraints, schemas=some.SCHEMAS), principal=who)
    session = session_with(symbolic_state=SymbolicState(state))

    def judged(given: list[list[float] | None]) -> tuple[Any, Any]:
        candidates = [
            DeltaCandidate(
                patch=Patch(set=sets, remove=removes),
                delta_vector=msgspec.UNSET if values is None else vector(values),
            )
            for (sets, removes), values in zip(patches, given, strict=False)
        ]
        event = decide(session, proposal(*candidates), facts)
        assert isinstance(event, Arbitrated)
        return without_vectors(msgspec.to_builtins(event)), seen(evolve(session, event))

    assert judged(attached) == judged([None] * 3)


def seen(session: Session) -> Any:
    held = session.substrate
    return dict(held.symbolic_state), held.state_version, dict(held.written), held.mode


def without_vectors(event: Any) -> Any:
    """A question binds the vector that it was asked with; nothing else may tell that there was one."""
    for result in event["results"]:
        result.pop("vector", None)
        if result["approval"] is not None:
            result["approval"].pop("content_hash")
            result["approval"]["subject"].pop("vector", None)
    return event
