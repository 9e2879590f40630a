"""Leaving out principals and what is attested, against plain sets; merged words keep who said them."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal
from beliefd.testing.frozen import Clock
from beliefd.testing.world import AGENT, ANN, ONTOLOGY, OTHER_AGENT, ROOT, World, refused

UNIVERSE = ("a", "b", "cause:x", "x")
PEOPLE: dict[str, Principal] = {one.id: one for one in (AGENT, ANN, OTHER_AGENT, ROOT)}
TYPISTS = (ANN, AGENT)
"""Who types an observation before the story begins; only a person is a witness, and not of himself."""


@dataclass(frozen=True)
class Said:
    """One elimination of a story."""

    who: str
    source: str
    names: tuple[str, ...]
    cites: tuple[int, ...]

    @property
    def label(self) -> str:
        seen = [TYPISTS[at] is ANN and self.who != ANN.id for at in self.cites]
        return "witnessed" if seen and all(seen) else "attested"


@dataclass(frozen=True)
class Concluded:
    name: str


said = st.builds(
    Said,
    who=st.sampled_from(sorted(PEOPLE)),
    source=st.sampled_from(["s1", "s2"]),
    names=st.lists(st.sampled_from(UNIVERSE), max_size=3).map(tuple),
    cites=st.lists(st.sampled_from([0, 1]), max_size=2).map(tuple),
)
stories = st.lists(
    said | st.builds(Concluded, st.sampled_from(["free", "x", "cause:x", "why:x"])), max_size=10
)


def told(world: World, story: list[Said | Concluded]) -> str:
    session_id = world.agent.declare_session(UNIVERSE, ONTOLOGY).session_id
    typed = [
        world.person(one).observe(session_id, quantity="q", values=[1.0 + at]).observation_id
        for at, one in enumerate(TYPISTS)
    ]
    for at, step in enumerate(story):
        if isinstance(step, Concluded):
            world.declare_conclusion(session_id, step.name)
            continue
        answer = world.person(PEOPLE[step.who]).eliminate(
            session_id,
            source_id=step.source,
            observation_id=f"o{at}",
            eliminated=step.names,
            justification={"at": at},
            cites=[{"observation": typed[cited]} for cited in step.cites] or None,
        )
        assert answer.label == step.label
    return session_id


class Naive:
    """What a story comes to, by plain sets."""

    def __init__(self, story: list[Said | Concluded]) -> None:
        self.survivors = set(UNIVERSE)
        self.rests_on = {"witnessed": 0, "attested": 0}
        self.accepted: list[tuple[int, str, int]] = []
        self.concluded: dict[str, dict[str, int]] = {}
        for at, step in enumerate(story):
            if isinstance(step, Said):
                fell = self.survivors & set(step.names)
                self.survivors -= fell
                self.rests_on[step.label] += len(fell)
            elif step.name == "free" or self._named(step.name) in self.survivors:
                self.accepted.append((at, step.name, len(self.survivors)))
                self.concluded[step.name] = dict(self.rests_on)

    @staticmethod
    def _named(name: str) -> str:
        return name if name in UNIVERSE else name.split(":")[1]


@settings(max_examples=60)
@given(
    stories, st.sets(st.sampled_from(["s1", "s2"])), st.sets(st.sampled_from(sorted(PEOPLE))), st.booleans()
)
def test_a_counterfactual_is_the_story_without_them(
    story: list[Said | Concluded], sources: set[str], principals: set[str], attested: bool
) -> None:
    spoken = [step for step in story if isinstance(step, Said)]
    sources &= {step.source for step in spoken}
    principals &= {step.who for step in spoken}
    silent = [
        isinstance(step, Said)
        and (step.source in sources or step.who in principals or (attested and step.label == "attested"))
        for step in story
    ]
    # What is left out leaves its place empty, so that conclusions can be told apart by their places.
    nothing = Said("", "", (), ())
    fact = Naive(story)
    imagined = Naive([nothing if gone else step for step, gone in zip(story, silent, strict=True)])
    with World() as world:
        session_id = told(world, story)
        for at in (1, len(story) // 2 + 1):  # what was read before is read on
            world.query_belief(session_id, at=at)
        snapshot = world.query_belief(session_id)
        answer = world.counterfactual(
            session_id,
            without_source_ids=sources,
            without_principals=principals,
            without_attested=attested,
        )
        world.check(session_id)
    assert as_dict(snapshot.rests_on) == fact.rests_on
    resting = {name: as_dict(one) for name, one in snapshot.conclusions_rest_on.items()}
    assert resting == fact.concluded
    assert {one.conclusion_id: as_dict(one.rests_on) for one in answer.conclusions} == resting
    assert answer.survivors == sorted(imagined.survivors)
    assert answer.restored == sorted(imagined.survivors - fact.survivors)
    assert as_dict(answer.rests_on) == imagined.rests_on
    then = {at: count for at, _, count in imagined.accepted}
    assert [
        (one.conclusion_id, one.accepted_without, one.n_survivors_then) for one in answer.conclusions
    ] == [(name, at in then, count) for at, name, count in fact.accepted]
    assert [one.rests_on_removed for one in answer.conclusions] == [
        then.get(at) != count for at, _, count in fact.accepted
    ]


def as_dict(rests_on: Any) -> dict[str, int]:
    return {"witnessed": rests_on.witnessed, "attested": rests_on.attested}


@settings(max_examples=30)
@given(st.lists(said, min_size=1, max_size=6), st.sampled_from(UNIVERSE))
def test_why_names_the_actor_the_label_and_the_reason_of_everyone(story: list[Any], name: str) -> None:
    with World() as world:
        session_id = told(world, story)
        answer = world.why(session_id, name)
    expected = [(step.who, step.label, {"at": at}) for at, step in enumerate(story) if name in step.names]
    assert [(one.actor, one.label, one.justification) for one in answer.events] == expected
    assert answer.tried == []


def test_who_is_not_known_is_an_error_that_names_who_is() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        for at in range(30):
            world.eliminate(session_id, source_id=f"s{at:02}", observation_id="o", eliminated=[])
        error = refused(
            Code.INVALID_REQUEST,
            lambda: world.counterfactual(session_id, without_source_ids=["s00", "s99"]),
        )
        assert error.details == {
            "path": "$.without.source_ids[1]",
            "known": [f"s{at:02}" for at in range(20)],
            "count": 30,
        }
        assert error.message.endswith("and 10 more")
        with pytest.raises(BeliefdError, match=r"known: `human://root`$"):
            world.counterfactual(session_id, without_principals=["human://nobody"])


def test_a_principal_in_a_merge_is_left_out_like_any_other() -> None:
    """What a replica was told keeps who said it, why, and what label it has."""
    with World() as world, World(clock=Clock(7)) as replica:
        session_id = world.agent.declare_session(["a", "b", "c", "d"], ONTOLOGY).session_id
        replica.import_ledger(world.export(session_id))
        typed = replica.ann.observe(session_id, quantity="q", values=[1.0]).observation_id
        common: dict[str, Any] = {"source_id": "s", "observation_id": "o"}
        deep: Any = {}
        for _ in range(61):
            deep = {"in": deep}
        replica.agent.eliminate(
            session_id, **common, eliminated=["a"], justification={"n": 1}, cites=[{"observation": typed}]
        )
        replica.ann.eliminate(session_id, **common, eliminated=["b"], justification={"n": 2})
        replica.ann.eliminate(session_id, **common, eliminated=["c"], justification=deep)
        assert world.merge(session_id, replica.export(session_id)).unsaid == 1
        world.check(session_id)

        assert as_dict(world.query_belief(session_id).rests_on) == {"witnessed": 1, "attested": 2}
        words = [world.why(session_id, name).events[0] for name in "abc"]
        assert [(one.actor, one.label, one.justification) for one in words] == [
            (AGENT.id, "witnessed", {"n": 1}),
            (ANN.id, "attested", {"n": 2}),
            (ANN.id, "attested", {}),
        ]
        # What a merge could not take over is not told as if nothing had been said.
        assert [one.unsaid for one in words] == [None, None, "too_deep"]
        imagined = world.counterfactual(session_id, without_principals=[ANN.id])
        assert imagined.survivors == ["b", "c", "d"]
        assert world.counterfactual(session_id, without_attested=True).survivors == ["b", "c", "d"]
        assert world.counterfactual(session_id, without_principals=[ROOT.id]).restored == []
