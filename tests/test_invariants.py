"""The four invariants of the belief server (belief-server 4.1), through the public library."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import beliefd
from beliefd.embedded import Embedded
from beliefd.steward.tokens import LOCAL_OPERATOR
from beliefd.testing.world import ONTOLOGY

hypothesis_ids = st.text("abc,| \u00e9\U0001f600", min_size=1, max_size=3)
universes = st.lists(hypothesis_ids, min_size=1, max_size=8, unique=True)
many = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def library() -> Iterator[Embedded]:
    with beliefd.open(":memory:", principal=LOCAL_OPERATOR) as opened:
        yield opened


def eliminations(universe: list[str]) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(st.sampled_from(universe), max_size=4), max_size=5)


def declared(library: Embedded, universe: list[str]) -> str:
    return library.declare_session(universe, ONTOLOGY).session_id


def eliminate(library: Embedded, session_id: str, names: list[str]) -> list[str]:
    """The survivors after it."""
    answer = library.eliminate(session_id, source_id="test", observation_id="o", eliminated=names)
    return answer.snapshot.survivors


@many
@given(universe=universes, data=st.data())
def test_monotonicity(library: Embedded, universe: list[str], data: st.DataObject) -> None:
    """survivors_next is a subset of survivors_prev, and sorted."""
    session_id = declared(library, universe)
    before = sorted(universe)
    for names in data.draw(eliminations(universe)):
        after = eliminate(library, session_id, names)
        assert set(after) == set(before) - set(names)
        assert after == sorted(after)
        before = after


@many
@given(universe=universes, data=st.data())
def test_idempotence(library: Embedded, universe: list[str], data: st.DataObject) -> None:
    """Saying the same again is recorded, applies nothing and changes no survivor."""
    session_id = declared(library, universe)
    for names in data.draw(eliminations(universe)):
        eliminate(library, session_id, names)
        before = library.query_belief(session_id)
        again = library.eliminate(session_id, source_id="test", observation_id="o", eliminated=names)
        assert again.applied_eliminated == []
        assert again.ignored_eliminated == sorted(set(names))
        assert again.snapshot.survivors_hash == before.survivors_hash
        assert again.snapshot.seq == before.seq + 1


@many
@given(universe=universes, data=st.data())
def test_order_independence(library: Embedded, universe: list[str], data: st.DataObject) -> None:
    """Any order of the same eliminations ends in the same survivors."""
    told = data.draw(eliminations(universe))
    in_order, shuffled = declared(library, universe), declared(library, universe)
    for names in told:
        eliminate(library, in_order, names)
    for names in data.draw(st.permutations(told)):
        eliminate(library, shuffled, names)
    one, other = library.query_belief(in_order), library.query_belief(shuffled)
    assert one.survivors == other.survivors
    assert one.survivors_hash == other.survivors_hash


@many
@given(universe=universes, data=st.data())
def test_replayability(library: Embedded, universe: list[str], data: st.DataObject) -> None:
    """The audit log alone gives the snapshot: by hand from its deltas, and by importing it elsewhere."""
    session_id = declared(library, universe)
    for names in data.draw(eliminations(universe)):
        eliminate(library, session_id, names)
    library.request_termination(session_id)
    snapshot = library.query_belief(session_id)

    declaration, *rest = library.audit_trace(session_id).events
    survivors = set(declaration["payload"]["hypotheses"])
    for entry in rest:
        survivors -= set(entry["delta"]["eliminated"])
    assert sorted(survivors) == snapshot.survivors

    with beliefd.open(":memory:", principal=LOCAL_OPERATOR) as elsewhere:
        elsewhere.import_ledger(library.export(session_id))
        imported = elsewhere.query_belief(session_id)
        assert imported.foreign is not None
        assert replace(imported, foreign=None) == snapshot
        assert elsewhere.verify(session_id).ok
