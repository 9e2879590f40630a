"""Hypothesis strategies for beliefs: universes with awkward ids, belief commands, policies, JSON.

For tests of stores, adapters and replays. Needs `hypothesis`, which beliefd itself does not install.
"""

from typing import Any

from msgspec import UNSET

from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    EnterObligation,
    Merge,
    ReplicaElimination,
    RequestExit,
    RequestTermination,
    SessionOptions,
)
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.commands import Command
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import ATTESTED, WITNESSED
from beliefd.kernel.policy import BeliefPolicy, EliminationPolicy, Policy, TerminationPolicy
from beliefd.kernel.values import Head, OntologyBundle, Principal, Role
from beliefd.testing.world import ONTOLOGY

try:
    from hypothesis import strategies as st
except ModuleNotFoundError:
    raise ModuleNotFoundError("beliefd.testing.strategies needs: pip install hypothesis") from None


# Separators, quotes, and characters on both sides of the surrogates: UTF-16 and UTF-8 order them differently.
AWKWARD = "ab,|:/\\\" '\u00e9\u4e2d\ud7ff\ue000\uffff\U00010000\U0001f600"
ids = st.text(AWKWARD, min_size=1, max_size=4)
ontologies = st.builds(
    OntologyBundle,
    hypothesis_space_id=ids,
    hypothesis_version=ids,
    causal_graph_ref=ids,
    causal_graph_version=ids,
)
universes = st.lists(ids, min_size=1, max_size=7, unique=True)
sources = st.sampled_from(["oracle://x", "human://y", "adapter://z"])
obligation_ids = st.sampled_from(["o1", "o2", "o3"])
conclusion_ids = st.sampled_from(["c1", "c2"])
roles = st.sampled_from(list(Role))
principals = st.builds(Principal, id=st.sampled_from(["agent://a", "human://b"]), role=roles)
policies = st.builds(
    Policy,
    termination=st.builds(
        TerminationPolicy,
        force_roles=st.lists(roles, unique=True, max_size=3).map(tuple),
        stability_window=st.integers(0, 3),
    ),
    beliefs=st.builds(
        BeliefPolicy,
        conclusions=st.sampled_from(["survivors_only", "free"]),
        eliminations=st.builds(EliminationPolicy, require=st.sampled_from([ATTESTED, ATTESTED, WITNESSED])),
    ),
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
    st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: not MAX_SAFE_INTEGER < abs(number) < 1e21
    ),
    st.text(st.characters(exclude_categories=["Cs"])),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
json_objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, json_values, max_size=3)
# What is only stored needs little variety in stories; `json_objects` have their own tests.
small_objects: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"note": "\u2028 <b>"}, {"n": [1, -0.5, None], "\U0001f600": {}, "\uffff": True}]
)
forces: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"force": True}, {"force": False}, {"force": "true"}, {"force": 1}]
)


def declarations(
    universe: list[str] | None = None, ontology: st.SearchStrategy[OntologyBundle] | None = None
) -> st.SearchStrategy[DeclareSession]:
    return st.builds(
        DeclareSession,
        ontology=st.just(ONTOLOGY) if ontology is None else ontology,
        hypotheses=(universes if universe is None else st.just(universe)).map(tuple),
        options=st.sampled_from(
            [SessionOptions(unknown_hypotheses="reject"), SessionOptions(unknown_hypotheses="ignore")]
        ),
        metadata=small_objects,
    )


def claims(universe: list[str], unknown: bool = True) -> st.SearchStrategy[tuple[str, ...]]:
    """Ids to eliminate: mostly declared, repeated at times, undeclared at times."""
    known = st.sampled_from(universe)
    return st.lists(known | ids if unknown else known, max_size=4).map(tuple)


def eliminations(universe: list[str], unknown: bool = True) -> st.SearchStrategy[Eliminate]:
    return st.builds(
        Eliminate,
        source_id=sources,
        observation_id=ids,
        eliminated=claims(universe, unknown),
        justification=small_objects,
    )


def merges(universe: list[str]) -> st.SearchStrategy[Merge]:
    head = st.builds(Head, seq=st.integers(1, 9), event_id=ids, hash=ids)
    told = st.builds(
        ReplicaElimination,
        event_id=ids,
        source_id=sources,
        observation_id=ids,
        eliminated=claims(universe),
        justification=st.just(UNSET) | small_objects,
        actor=st.sampled_from([UNSET, "agent://a", "human://b"]),
        label=st.sampled_from([UNSET, WITNESSED, ATTESTED]),
    )
    return st.builds(
        Merge,
        genesis_hash=ids,
        own_head=head,
        replica_head=head,
        eliminations=st.lists(told, max_size=3).map(tuple),
    )


def conclusions(universe: list[str]) -> st.SearchStrategy[str]:
    """Ids of conclusions: free ones, hypotheses, and hypotheses after a colon."""
    named = st.sampled_from(universe)
    return conclusion_ids | named | named.map("cause:{}".format)


def commands(universe: list[str]) -> st.SearchStrategy[Command]:
    """Any command that parses, whether or not it makes sense where it arrives."""
    return st.one_of(
        eliminations(universe),
        st.builds(EnterObligation, obligation_id=obligation_ids, min_total_eliminations=st.integers(0, 5)),
        st.builds(RequestExit, obligation_id=obligation_ids, context=small_objects),
        st.builds(DeclareConclusion, conclusion_id=conclusions(universe), context=small_objects),
        st.builds(RequestTermination, context=forces),
        merges(universe),
        declarations(universe),
    )


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    return Facts(
        now="2026-01-01T00:00:00.000000Z",
        event_id="e",
        principal=draw(principals),
        policy=draw(policies),
        policy_hash="p",
    )


@st.composite
def stories(draw: st.DrawFn, max_size: int = 12) -> tuple[DeclareSession, list[tuple[Command, Facts]]]:
    """A declaration and what was said after it, each with the facts under which it was heard.

    Universes are small, so that sessions come down to one survivor, and to none, often.
    """
    universe = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    told = st.tuples(commands(universe), facts())
    return draw(declarations(universe)), draw(st.lists(told, max_size=max_size))
