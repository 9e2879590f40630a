"""The laws of the kernel, over random stories: what `decide` allows and what `evolve` makes of it."""

import builtins
import datetime
import os
import random
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest import mock

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate
from beliefd.kernel.beliefs.events import (
    ConclusionRuled,
    Declared,
    Eliminated,
    ExitRuled,
    Merged,
    ObligationEntered,
    TerminationRuled,
)
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.ledger.state_hash import state_hash
from beliefd.testing.strategies import claims, declarations, eliminations, facts, stories, universes
from tests.kernel.model import Model, Said

Story = tuple[DeclareSession, list[tuple[Command, Facts]]]


def told(story: Story) -> Iterator[tuple[Session, Command, Facts, Event, Session]]:
    """Each step of a story: before, what was said, what was decided, after."""
    declaration, steps = story
    session = begin("s", declaration)
    for command, known in steps:
        event = decide(session, command, known)
        after = evolve(session, event)
        yield session, command, known, event, after
        session = after


@given(stories())
def test_law_1_survivors_only_shrink(story: Story) -> None:
    for before, _, _, event, after in told(story):
        assert set(after.beliefs.survivors) <= set(before.beliefs.survivors)
        assert set(before.beliefs.survivors) - set(after.beliefs.survivors) == set(event.eliminated)


@given(st.data())
def test_law_1_the_same_elimination_twice_changes_nothing(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    command = data.draw(eliminations(list(declaration.hypotheses)))
    known = data.draw(facts())
    once = begin("s", declaration)
    once = evolve(once, decide(once, command, known))
    again = decide(once, command, known)
    assert again.eliminated == ()
    assert state_hash(evolve(once, again)) == state_hash(once)


@given(st.data())
def test_law_1_the_order_of_eliminations_does_not_matter(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    told_ = data.draw(st.lists(eliminations(list(declaration.hypotheses)), max_size=5))
    shuffled = data.draw(st.permutations(told_))
    known = data.draw(facts())

    def after_all(commands: list[Eliminate]) -> str:
        session = begin("s", declaration)
        for command in commands:
            session = evolve(session, decide(session, command, known))
        return state_hash(session)

    assert after_all(told_) == after_all(shuffled)


@given(stories())
def test_law_5_refused_means_nothing_happened(story: Story) -> None:
    for before, _, _, event, after in told(story):
        if isinstance(event, Refused):
            assert event.eliminated == ()
            assert after is before


@given(stories())
def test_law_5_a_request_turned_down_leaves_the_state_hash_alone(story: Story) -> None:
    for before, _, _, event, after in told(story):
        turned_down = (isinstance(event, ExitRuled | TerminationRuled) and not event.approved) or (
            isinstance(event, ConclusionRuled) and not event.accepted
        )
        if turned_down:
            assert state_hash(after) == state_hash(before)


@given(stories())
def test_law_4_only_an_elimination_changes_beliefs_and_only_an_approval_ends_a_session(story: Story) -> None:
    for before, _, _, event, after in told(story):
        if not isinstance(event, Eliminated | Merged):
            assert after.beliefs.survivors.digest == before.beliefs.survivors.digest
        if after.beliefs.terminated:
            assert isinstance(event, TerminationRuled) is not before.beliefs.terminated
        if not isinstance(event, ObligationEntered | ExitRuled):
            assert after.beliefs.obligations == before.beliefs.obligations


@given(stories())
def test_decide_is_total_and_says_what_a_naive_model_says(story: Story) -> None:
    model = Model.of(story[0])
    for _, command, known, event, after in told(story):
        assert said(event) == model.hear(command, known)
        assert set(after.beliefs.survivors) == model.survivors
        assert after.beliefs.survivors.count == len(model.survivors)
        assert after.beliefs.status == model.status
        assert after.beliefs.active_obligation_id == model.active
        assert after.beliefs.conclusion_streak == model.streak
        assert [
            (oid, kept.min_total_eliminations, after.beliefs.eliminations - kept.entered_at, kept.active)
            for oid, kept in after.beliefs.obligations.items()
        ] == [(kept.obligation_id, kept.minimum, kept.seen, kept.active) for kept in model.promises]


def said(event: Event) -> Said:
    match event:
        case Refused():
            return {"code": event.code.value}
        case Eliminated() | Merged():
            return {"applied": list(event.eliminated), "ignored": list(event.ignored)}
        case ObligationEntered():
            return {"entered": event.obligation_id}
        case ConclusionRuled():
            return {"accepted": event.accepted}
        case ExitRuled() | TerminationRuled():
            return {"approved": event.approved}
        case Declared():
            return {"declared": True}
        case _:
            raise NotImplementedError(f"no event of belief: {event}")


@given(stories(max_size=5))
def test_deciding_before_a_declaration_is_refused(story: Story) -> None:
    for command, known in story[1]:
        event = decide(None, command, known)
        if isinstance(command, DeclareSession):
            assert event == Declared()
        else:
            assert isinstance(event, Refused)
            assert event.code == "SESSION_NOT_FOUND"


@given(stories())
def test_decide_and_evolve_are_pure_and_never_ask_the_outside(story: Story) -> None:
    """Same arguments, same event, same state; no clock, no chance, no file, no network."""
    with nothing_outside():
        first = [(event, state_hash(after)) for _, _, _, event, after in told(story)]
        second = [(event, state_hash(after)) for _, _, _, event, after in told(story)]
    assert first == second


@given(stories())
def test_deciding_changes_neither_state_nor_command(story: Story) -> None:
    for before, command, known, event, _ in told(story):
        frozen = (state_hash(before), msgspec.json.encode(command), msgspec.json.encode(known))
        decide(before, command, known)
        evolve(before, event)
        assert (state_hash(before), msgspec.json.encode(command), msgspec.json.encode(known)) == frozen


@given(st.data())
def test_evolve_folds_what_was_decided_without_asking_whether_it_was_right(data: st.DataObject) -> None:
    """`evolve` never decides: an elimination of what fell long ago, or never was, folds like any other."""
    universe = data.draw(universes)
    session = begin("s", data.draw(declarations(universe)))
    event = Eliminated(eliminated=data.draw(claims(universe)))
    once = evolve(session, event)
    assert set(once.beliefs.survivors) == set(universe) - set(event.eliminated)
    assert set(evolve(once, event).beliefs.survivors) == set(once.beliefs.survivors)


@contextmanager
def nothing_outside() -> Iterator[None]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the kernel asked the outside world")

    targets: list[tuple[Any, str]] = [
        (time, "time"),
        (time, "time_ns"),
        (time, "monotonic"),
        (time, "perf_counter"),
        (datetime, "datetime"),
        (random, "random"),
        (random, "randrange"),
        (random, "Random"),
        (uuid, "uuid1"),
        (uuid, "uuid4"),
        (os, "urandom"),
        (os, "getenv"),
        (builtins, "open"),
        (builtins, "input"),
        (socket, "socket"),
    ]
    patches = [mock.patch.object(owner, name, refuse) for owner, name in targets]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()
