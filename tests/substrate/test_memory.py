"""Memory: what counts as confirmed, what must be looked at again, and what evidence is new."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.policy import MemoryPolicy, Policy
from beliefd.kernel.substrate.commands import Remember
from beliefd.kernel.substrate.events import Remembered
from beliefd.kernel.substrate.folds import remembered
from beliefd.kernel.substrate.memory import is_confirmed, remember
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.testing.world import refused
from tests.substrate.conftest import Build
from tests.substrate.kernel import facts_of, session_with
from tests.substrate.support import ToolWorld

PROVENANCE = {"source": "tool"}
LATER = "2026-02-01T00:00:00Z"


def entry(kind: str = "fact", **changes: Any) -> dict[str, Any]:
    """A fact that is sourced and sure enough, unless told otherwise."""
    given = {
        "memory_id": "m1",
        "kind": kind,
        "value": {"port": 5432},
        "confidence": 0.9,
        "source_chunk_ids": ["chunk-1"],
    }
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def hypothesis(**changes: Any) -> dict[str, Any]:
    return entry("hypothesis", **{"confidence": 0.3, "ttl_ms": 60_000, **changes})


@pytest.mark.parametrize("kind", ["fact", "preference", "decision"])
@pytest.mark.parametrize(
    ("changes", "confirmed"),
    [
        ({}, True),
        ({"confidence": 0.8}, True),
        ({"confidence": 0.79}, False),
        ({"source_chunk_ids": []}, False),
        ({"conflict_state": "contested"}, True),
        ({"conflict_state": "contradictory"}, False),
        ({"confidence": 0.0, "source_chunk_ids": [], "confirmed_by_event_id": "$head"}, True),
        ({"conflict_state": "contradictory", "confirmed_by_event_id": "$head"}, True),
    ],
    ids=str,
)
def test_only_what_is_confirmed_is_kept_as_a_fact_preference_or_decision(
    house: ToolWorld, kind: str, changes: dict[str, Any], confirmed: bool
) -> None:
    session = house.session()
    head = house.root.query_belief(session).audit_head_event_id
    given = entry(kind, **{name: head if value == "$head" else value for name, value in changes.items()})
    if confirmed:
        answer = house.agent.remember(session, given)
        assert answer.memory.confirmed
        assert answer.memory.entry.kind == kind
    else:
        error = refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, given))
        assert "not confirmed" in error.message
        assert house.agent.list_memory(session).entries == []
        assert isinstance(house.deltas(session)[-1], Refused), "and that is on record"
    house.check(session)


@pytest.mark.parametrize("kind", ["hypothesis", "derived"])
def test_what_is_provisional_needs_an_end_or_a_review(house: ToolWorld, kind: str) -> None:
    session = house.session()
    given = entry(kind, confidence=0.1, provenance=PROVENANCE)
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, given))
    ends: list[dict[str, Any]] = [{"ttl_ms": 1_000}, {"review_at": LATER}, {"ttl_ms": 1, "review_at": LATER}]
    for number, end in enumerate(ends):
        answer = house.agent.remember(session, {**given, **end, "memory_id": f"m{number}"})
        assert not answer.memory.confirmed
    sure = house.agent.remember(session, {**given, "confidence": 1.0, "ttl_ms": 5, "memory_id": "sure"})
    assert sure.memory.confirmed
    assert sure.memory.entry.kind == kind


def test_what_is_derived_says_from_what_and_how(house: ToolWorld) -> None:
    session = house.session()
    given = entry("derived", ttl_ms=1_000, provenance=PROVENANCE)
    for missing in ("provenance", "source_chunk_ids"):
        spoilt = {name: value for name, value in given.items() if name != missing}
        refused(Code.INVALID_REQUEST, partial(house.agent.remember, session, spoilt))
    assert house.agent.remember(session, given).memory.entry.kind == "derived"


def test_an_event_confirms_only_where_it_happened(house: ToolWorld) -> None:
    session, other = house.session(), house.session()
    foreign = house.root.query_belief(other).audit_head_event_id
    for event_id in ("nonsense", foreign):
        given = entry(confirmed_by_event_id=event_id)
        error = refused(Code.INVALID_REQUEST, partial(house.agent.remember, session, given))
        assert "no such event" in error.message
    assert house.agent.list_memory(session).entries == []
    house.check(session)


def test_a_hypothesis_becomes_a_fact_with_new_evidence_only(build: Build) -> None:
    house = build()
    session = house.session()
    house.agent.remember(session, hypothesis())
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry()))
    assert "evidence" in error.message
    promoted = house.agent.remember(session, entry(source_chunk_ids=["chunk-1", "chunk-2"]))
    assert (promoted.memory.confirmed, promoted.memory.entry.kind) == (True, "fact")
    house.check(session)


def test_an_event_that_confirms_is_evidence_too_and_new_once(house: ToolWorld) -> None:
    session = house.session()
    head = house.root.query_belief(session).audit_head_event_id
    house.agent.remember(session, hypothesis())
    house.agent.remember(session, entry(confirmed_by_event_id=head))
    house.agent.remember(session, hypothesis(confirmed_by_event_id=head))
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry(confirmed_by_event_id=head)))
    newer = house.root.query_belief(session).audit_head_event_id
    assert house.agent.remember(session, entry(confirmed_by_event_id=newer)).memory.confirmed


def test_evidence_that_was_put_away_is_not_new_when_it_comes_back(house: ToolWorld) -> None:
    """Otherwise two steps would do what one may not."""
    session = house.session()
    house.agent.remember(session, hypothesis())
    house.agent.remember(session, hypothesis(source_chunk_ids=[]))
    house.agent.remember(session, hypothesis(source_chunk_ids=["chunk-2"]))
    for sources in (["chunk-1"], ["chunk-2"], ["chunk-2", "chunk-1"]):
        given = entry(source_chunk_ids=sources)
        refused(Code.INVALID_REQUEST, partial(house.agent.remember, session, given))
    assert house.agent.remember(session, entry(source_chunk_ids=["chunk-3"])).memory.confirmed
    house.check(session)


def test_an_entry_that_has_expired_is_still_what_it_was(house: ToolWorld) -> None:
    session = house.session()
    house.agent.remember(session, hypothesis(ttl_ms=1_000))
    house.clock.advance(2)
    assert house.agent.list_memory(session).entries == []
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry()))


def test_expired_entries_leave_the_view_and_stay_in_the_ledger(build: Build) -> None:
    house = build()
    session = house.session()
    house.agent.remember(session, hypothesis(ttl_ms=1_000))
    house.agent.remember(session, entry(memory_id="m2", ttl_ms=5_000))
    house.agent.remember(session, entry(memory_id="m3"))

    def names() -> list[str]:
        return [view.entry.memory_id for view in house.agent.list_memory(session).entries]

    house.clock.advance(0.999)
    assert names() == ["m1", "m2", "m3"]
    house.clock.advance(0.001)
    assert names() == ["m2", "m3"], "facts end too, where they say when"
    house.clock.advance(100)
    assert names() == ["m3"]
    assert sum(isinstance(event, Remembered) for event in house.deltas(session)) == 3
    assert house.agent.remember(session, hypothesis()).memory.expires_at is not None
    assert names() == ["m1", "m3"], "said again, it is there again"
    house.check(session)


def test_the_review_queue_holds_what_is_due_and_what_is_in_conflict(house: ToolWorld) -> None:
    session = house.session()
    house.agent.remember(session, hypothesis(memory_id="due", ttl_ms=None, review_at="2026-01-01T00:01:00Z"))
    house.agent.remember(session, hypothesis(memory_id="later", ttl_ms=None, review_at=LATER))
    house.agent.remember(session, hypothesis(memory_id="gone", ttl_ms=1, review_at="2026-01-01T00:01:00Z"))
    house.agent.remember(session, entry(memory_id="contested", conflict_state="contested"))
    house.agent.remember(
        session, hypothesis(memory_id="against", ttl_ms=10**9, conflict_state="contradictory")
    )

    def queue() -> list[str]:
        return [view.entry.memory_id for view in house.agent.list_memory(session, show="review").entries]

    house.clock.advance(59)
    assert queue() == ["against", "contested"]
    house.clock.advance(1)
    assert queue() == ["against", "contested", "due"]
    house.agent.remember(session, hypothesis(memory_id="due", ttl_ms=None, review_at=LATER))
    house.agent.remember(session, entry(memory_id="contested"))
    assert queue() == ["against"]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"kind": "truth"},
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"confidence": float("nan")},
        {"confidence": "0.9"},
        {"ttl_ms": 0},
        {"ttl_ms": 2**53},
        {"ttl_ms": 10**16},
        {"review_at": "2026-13-01T00:00:00Z"},
        {"review_at": "tomorrow"},
        {"conflict_state": "maybe"},
        {"memory_id": ""},
        {"memory_id": "a\nb"},
        {"confirmed": True},
        {"provenance": {"source": "rumour"}},
        {"provenance": {"source": "tool", "timestamp": "2026-02-30T00:00:00Z"}},
    ],
    ids=str,
)
def test_what_is_no_entry_is_refused_and_the_memory_can_still_be_read(
    house: ToolWorld, spoilt: dict[str, Any]
) -> None:
    session = house.session()
    before = len(house.ledger(session))
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, {**entry(), **spoilt}))
    assert len(house.ledger(session)) == before
    assert house.agent.list_memory(session).entries == []


@pytest.mark.parametrize("depth", [48, 49, 60, 61, 62, 63])
def test_no_entry_is_too_deep_for_the_state_that_holds_it(house: ToolWorld, depth: int) -> None:
    """It would be found out only when the state is hashed: then nobody could say anything any more."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    session = house.session()
    given = entry(value=value)
    if depth <= 48:
        house.agent.remember(session, given)
    else:
        refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, given))
    assert house.hash(session)


# -- the rule, against its own words --------------------------------------------------------------------

entries = st.builds(
    lambda kind, confidence, sources, event, conflict, ttl: MemoryEntry(
        memory_id="m",
        kind=kind,
        value=1,
        confidence=confidence,
        source_chunk_ids=tuple(sources),
        confirmed_by_event_id=event,
        conflict_state=conflict,
        ttl_ms=ttl,
    ),
    st.sampled_from(["fact", "preference", "decision", "hypothesis"]),
    st.sampled_from([0.0, 0.5, 0.79, 0.8, 1.0]),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
    st.sampled_from([None, None, "e1", "e2"]),
    st.sampled_from(["none", "contested", "contradictory"]),
    st.sampled_from([None, 1_000]),
)


@settings(max_examples=300, deadline=None)
@given(entries, st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_confirmed_is_what_the_specification_says(given: MemoryEntry, threshold: float) -> None:
    sourced = len(given.source_chunk_ids) > 0 and given.confidence >= threshold
    expected = given.confirmed_by_event_id is not None or (
        sourced and given.conflict_state != "contradictory"
    )
    assert is_confirmed(given, MemoryPolicy(confirm_above=threshold)) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(entries, max_size=8))
def test_no_story_makes_a_fact_of_a_hypothesis_without_evidence_it_never_had(
    story: list[MemoryEntry],
) -> None:
    session = session_with()
    facts = facts_of(Policy(), MemoryFindings(confirming_event_known=True))
    seen: set[str] = set()
    kind = "fact"
    for told in story:
        event = remember(session, Remember(entry=told), facts)
        if isinstance(event, Refused):
            continue
        named = {
            *told.source_chunk_ids,
            *([told.confirmed_by_event_id] if told.confirmed_by_event_id else []),
        }
        if kind == "hypothesis" and told.kind != "hypothesis":
            assert named - seen, "it had new evidence"
        assert event.confirmed or told.kind == "hypothesis"
        assert told.kind != "hypothesis" or told.ttl_ms is not None
        seen |= named
        kind = told.kind
        session = remembered(session, event)
