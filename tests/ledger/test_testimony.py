"""`why` against a naive scan of the audit, `counterfactual` against a naive retelling of the story."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from beliefd.kernel.beliefs.commands import DeclareConclusion, DeclareSession, Eliminate, Merge
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.protocol import ledger
from beliefd.protocol.beliefs import RestsOn
from beliefd.testing.strategies import commands, declarations, sources
from beliefd.testing.world import AGENT, ONTOLOGY, ROOT, World
from tests.kernel.model import Model

FACTS = Facts(now="", event_id="", principal=ROOT, policy=Policy(), policy_hash="")
Told = tuple[DeclareSession, list[Command]]


@st.composite
def tellings(draw: st.DrawFn) -> Told:
    declaration = draw(declarations())
    return declaration, draw(st.lists(commands(list(declaration.hypotheses)), max_size=12))


def tell(world: World, told: Told) -> str:
    session_id = world.declare(told[0])
    for command in told[1]:
        world.submit(session_id, command)
    return session_id


def without(commands_: list[Command], removed: set[str]) -> list[Command]:
    """The story with some sources silent: their eliminations gone, also from inside merges."""
    kept: list[Command] = []
    for command in commands_:
        if isinstance(command, Merge):
            heard = tuple(item for item in command.eliminations if item.source_id not in removed)
            kept.append(replace(command, eliminations=heard))
        elif not (isinstance(command, Eliminate) and command.source_id in removed):
            kept.append(command)
    return kept


@settings(max_examples=100)
@given(tellings(), st.sets(sources))
def test_a_counterfactual_is_the_story_told_without_these_sources(told: Told, removed: set[str]) -> None:
    fact, imagined = Model.of(told[0]), Model.of(told[0])
    for command in told[1]:
        fact.hear(command, FACTS)
    for command in without(told[1], removed):
        imagined.hear(command, FACTS)
    removed &= heard_of(told[1])
    with World() as world:
        session_id = tell(world, told)
        before = world.query_belief(session_id)
        answer = world.counterfactual(session_id, without_source_ids=removed)
        assert answer.without_source_ids == sorted(removed)
        assert answer.survivors == sorted(imagined.survivors)
        assert answer.n_survivors == len(imagined.survivors)
        assert answer.restored == sorted(imagined.survivors - fact.survivors)
        assert answer.status == imagined.status
        assert world.query_belief(session_id) == before, "asking changes nothing and records nothing"


@settings(max_examples=100)
@given(tellings(), st.sets(sources))
def test_what_a_conclusion_rests_on_is_found_by_retelling_up_to_it(told: Told, removed: set[str]) -> None:
    removed &= heard_of(told[1])
    expected = []
    for at, command in enumerate(told[1]):
        fact = replayed(told[0], told[1][:at])
        if not isinstance(command, DeclareConclusion) or fact.hear(command, FACTS) != {"accepted": True}:
            continue
        imagined = replayed(told[0], without(told[1][:at], removed))
        accepted = imagined.hear(command, FACTS) == {"accepted": True}
        sources = sole_sources(told[0], told[1][:at], fact)
        principals = sole_principals(told[0], told[1][:at], fact)
        expected.append(
            {
                "conclusion_id": command.conclusion_id,
                "event_id": "",
                "accepted_without": accepted,
                "n_survivors_then": len(fact.survivors),
                "n_survivors_without": len(imagined.survivors),
                "rests_on_removed": not accepted or len(imagined.survivors) != len(fact.survivors),
                "sole_sources": sources,
                "sole_source_counts": {name: len(alone) for name, alone in sources.items()},
                "n_sole_sources": len(sources),
                "sole_principals": principals,
                "sole_principal_counts": {name: len(alone) for name, alone in principals.items()},
                "n_sole_principals": len(principals),
                "rests_on": RestsOn(
                    witnessed=fact.witnessed,
                    attested=len(fact.universe - fact.survivors) - fact.witnessed,
                ),
            }
        )
    with World() as world:
        answer = world.counterfactual(tell(world, told), without_source_ids=removed)
    found = [asdict(basis) for basis in answer.conclusions]
    assert [{**basis, "event_id": ""} for basis in found] == expected


def replayed(declaration: DeclareSession, told: list[Command]) -> Model:
    model = Model.of(declaration)
    for command in told:
        model.hear(command, FACTS)
    return model


def sole_sources(declaration: DeclareSession, told: list[Command], now: Model) -> dict[str, list[str]]:
    """Per source, what it alone claimed (and was heard) among the hypotheses that have fallen."""
    return alone(declaration, told, now, 0)


def sole_principals(declaration: DeclareSession, told: list[Command], now: Model) -> dict[str, list[str]]:
    return alone(declaration, told, now, 1)


def alone(declaration: DeclareSession, told: list[Command], now: Model, at: int) -> dict[str, list[str]]:
    model = Model.of(declaration)
    spoke: dict[str, set[str]] = {}
    for command in told:
        if "code" in model.hear(command, FACTS):
            continue
        for *who, name in claims_of(command):
            spoke.setdefault(name, set()).add(who[at])
    found: dict[str, list[str]] = {}
    for name in sorted(now.universe - now.survivors):
        if len(spoke[name]) == 1 and (only := next(iter(spoke[name]))):
            found.setdefault(only, []).append(name)
    return found


def claims_of(command: Command) -> list[tuple[str, str, str]]:
    """Source, principal ("" if the record does not say who) and hypothesis."""
    if isinstance(command, Eliminate):
        return [(command.source_id, ROOT.id, name) for name in command.eliminated]
    if isinstance(command, Merge):
        return [
            (item.source_id, item.actor or "", name)
            for item in command.eliminations
            for name in item.eliminated
        ]
    return []


def heard_of(told: list[Command]) -> set[str]:
    """The sources that anything is recorded of."""
    spoken = {command.source_id for command in told if isinstance(command, Eliminate)}
    merged = (item for command in told if isinstance(command, Merge) for item in command.eliminations)
    return spoken | {item.source_id for item in merged}


@settings(max_examples=100)
@given(tellings())
def test_why_names_everyone_who_was_heard_against_a_hypothesis_in_order(told: Told) -> None:
    with World() as world:
        session_id = tell(world, told)
        events = world.audit_trace(session_id).events
        survivors = world.query_belief(session_id).survivors
        for hypothesis in told[0].hypotheses:
            answer = world.why(session_id, hypothesis)
            assert answer.survives == (hypothesis in survivors)
            assert [seen(testimony) for testimony in answer.events] == list(scanned(events, hypothesis))
            # INVARIANT: what has fallen, fell by exactly one event.
            applied = {testimony.event_id for testimony in answer.events if testimony.applied}
            assert len(applied) == (hypothesis not in survivors)


@settings(max_examples=50)
@given(tellings(), st.integers(1, 3))
def test_why_of_one_speaker_is_what_that_one_said_of_all_in_whatever_pages(told: Told, limit: int) -> None:
    with World() as world:
        session_id = tell(world, told)
        for hypothesis in told[0].hypotheses:
            everything = world.why(session_id, hypothesis).events
            for name in heard_of(told[1]):
                found = list(paged(world, session_id, hypothesis, limit, source_id=name))
                assert found == [one for one in everything if one.source_id == name]
            own = list(paged(world, session_id, hypothesis, limit, principal=ROOT.id))
            assert own == [one for one in everything if one.actor == ROOT.id]


def paged(
    world: World, session_id: str, hypothesis: str, limit: int, **by: str
) -> Iterator[ledger.Testimony]:
    cursor = None
    while True:
        answer = world.why(session_id, hypothesis, limit=limit, cursor=cursor, **by)
        yield from answer.events
        if (cursor := answer.next) is None:
            return


def test_why_of_somebody_who_has_not_spoken_here_names_who_has() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b", "c"], ONTOLOGY).session_id
        world.agent.eliminate(session_id, source_id="df", observation_id="o", eliminated=["a"])
        for by, known in (
            ({"source_id": "du"}, ["df"]),
            ({"principal": "human://x"}, [AGENT.id, ROOT.id]),
        ):
            with pytest.raises(BeliefdError) as caught:
                world.why(session_id, "a", **by)  # type: ignore[arg-type]
            assert caught.value.code is Code.INVALID_REQUEST
            ((path, _),) = by.items()
            assert caught.value.details == {"path": path, "known": known, "count": len(known)}
        # Who has spoken, and not of this one, is no error.
        assert world.why(session_id, "b", source_id="df", principal=AGENT.id).events == []


def seen(testimony: ledger.Testimony) -> tuple[Any, ...]:
    return (
        testimony.seq,
        testimony.event_id,
        testimony.source_id,
        testimony.observation_id,
        testimony.applied,
        testimony.merged_from,
    )


def scanned(events: list[dict[str, Any]], hypothesis: str) -> list[tuple[Any, ...]]:
    """The same by reading every entry as a person would."""
    found: list[tuple[Any, ...]] = []
    for entry in events:
        delta, payload = entry["delta"], entry["payload"]
        place = (entry["seq"], entry["event_id"])
        applied = hypothesis in delta["eliminated"]
        if delta["kind"] == "eliminated" and hypothesis in payload["eliminated"]:
            found.append((*place, payload["source_id"], payload["observation_id"], applied, None))
        if delta["kind"] == "merged":
            found += [
                (*place, told["source_id"], told["observation_id"], applied, told["event_id"])
                for told in payload["eliminations"]
                if hypothesis in told["eliminated"]
            ]
    return found


def test_a_refused_claim_is_nobodys_support() -> None:
    """Who was refused was not heard: the source that was heard still stands alone."""
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        world.eliminate(session_id, source_id="heard", observation_id="o", eliminated=["a"])
        with pytest.raises(BeliefdError):
            world.eliminate(session_id, source_id="refused", observation_id="o", eliminated=["a", "zz"])
        world.declare_conclusion(session_id, "it is b")
        (basis,) = world.counterfactual(session_id, without_source_ids=["heard"]).conclusions
        assert basis.sole_sources == {"heard": ["a"]}
        assert basis.rests_on_removed
        assert [told.source_id for told in world.why(session_id, "a").events] == ["heard"]


def test_why_of_an_undeclared_hypothesis_is_refused() -> None:
    with World() as world:
        session_id = world.declare_session(["a"], ONTOLOGY).session_id
        with pytest.raises(BeliefdError) as caught:
            world.why(session_id, "b")
        assert caught.value.code is Code.INVALID_HYPOTHESIS_ID


def test_why_carries_the_justification_it_was_given() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        world.eliminate(
            session_id, source_id="s", observation_id="o", eliminated=["a"], justification={"log": "x=1"}
        )
        (told,) = world.why(session_id, "a").events
        assert (told.justification, told.applied) == ({"log": "x=1"}, True)


def test_known_failure_an_unknown_since_event_id_does_not_return_everything() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        other = world.declare_session(["a", "b"], ONTOLOGY).audit_event_id
        first = world.audit_trace(session_id).events[0]["event_id"]
        world.declare_conclusion(session_id, "c")
        assert len(world.audit_trace(session_id, since_event_id=first).events) == 1
        for unknown in ("no-such-event", other, first[:-1]):
            with pytest.raises(BeliefdError) as caught:
                world.audit_trace(session_id, since_event_id=unknown)
            assert caught.value.code is Code.INVALID_REQUEST
            assert caught.value.details == {"path": "since_event_id"}
