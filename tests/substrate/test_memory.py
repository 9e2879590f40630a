"""Memory: what counts as confirmed, what must be looked at again, and what evidence is new."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.policy import MemoryPolicy, Policy
from beliefd.kernel.substrate.commands import Remember
from beliefd.kernel.substrate.events import Arbitrated, OutcomeRecorded, Remembered
from beliefd.kernel.substrate.folds import remembered
from beliefd.kernel.substrate.memory import confirmation, remember
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.tools import MemoryFindings, Witness
from beliefd.ledger.envelope import read
from beliefd.testing.world import refused
from tests.substrate.conftest import Build
from tests.substrate.kernel import facts_of, session_with
from tests.substrate.support import ALLOW_ALL, ToolWorld, rules, tool_call
from tests.substrate.test_asking import ASKS, ask

PROVENANCE = {"source": "agent"}
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


def event_of(house: ToolWorld, session: str, *kinds: type) -> str:
    """The id of the last event of one of these kinds."""
    return [
        read(one.record).event_id for one in house.entries(session) if type(read(one.record).delta) in kinds
    ][-1]


def witnessed(house: ToolWorld, session: str, tool: str = "note.read", **args: Any) -> str:
    """The event that recorded the result of a tool call."""
    house.agent.propose(session, [tool_call(tool, house.token(session), **args)])
    return event_of(house, session, OutcomeRecorded)


@pytest.mark.parametrize("kind", ["fact", "preference", "decision"])
@pytest.mark.parametrize(
    ("changes", "confirmed"),
    [
        ({}, "sources"),
        ({"confidence": 0.8}, "sources"),
        ({"confidence": 0.79}, None),
        ({"source_chunk_ids": []}, None),
        ({"conflict_state": "contested"}, "sources"),
        ({"conflict_state": "contradictory"}, None),
        ({"confidence": 0.1, "source_chunk_ids": [], "confirmed_by_event_id": "$call"}, "witness"),
        ({"confirmed_by_event_id": "$call"}, "witness"),
        ({"confidence": 0.0, "confirmed_by_event_id": "$call"}, None),
        ({"conflict_state": "contradictory", "confirmed_by_event_id": "$call"}, None),
    ],
    ids=str,
)
def test_only_what_is_confirmed_is_kept_as_a_fact_preference_or_decision(
    house: ToolWorld, kind: str, changes: dict[str, Any], confirmed: str | None
) -> None:
    session = house.session()
    seen = witnessed(house, session)
    given = entry(kind, **{name: seen if value == "$call" else value for name, value in changes.items()})
    if confirmed:
        answer = house.agent.remember(session, given)
        assert (answer.memory.confirmed, answer.memory.confirmed_by) == (True, confirmed)
        assert answer.memory.entry.kind == kind
        told = answer.memory.witness
        assert (None if told is None else (told.kind, told.about)) == (
            ("call", "note.read") if confirmed == "witness" else None
        )
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
    foreign = witnessed(house, other)
    for event_id in ("nonsense", foreign):
        not_a_witness(house, session, event_id)
    assert house.agent.list_memory(session).entries == []
    house.check(session)


def not_a_witness(house: ToolWorld, session: str, event_id: str | None) -> None:
    given = entry(confirmed_by_event_id=event_id)
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, given))
    assert "a person's approval" in error.message, "it says what would fit"
    assert error.details is not None
    assert error.details["path"] == "$.confirmed_by_event_id"
    assert isinstance(house.deltas(session)[-1], Refused)


def test_what_its_author_could_say_alone_confirms_nothing(build: Build) -> None:
    """A declaration, an idea, a refusal, an elimination, another memory: none is a witness."""
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    declared = house.root.query_belief(session).audit_head_event_id
    idea = house.agent.speculate(session, "port", [{"statement": "it is 5432"}]).audit_event_id
    house.agent.eliminate(session, source_id="a", observation_id="o", eliminated=["h1"])
    eliminated = house.root.query_belief(session).audit_head_event_id
    remembered_before = house.agent.remember(session, entry(memory_id="other", value=1)).audit_event_id
    for event_id in (declared, idea, eliminated, remembered_before):
        not_a_witness(house, session, event_id)
    not_a_witness(house, session, event_of(house, session, Refused))
    house.check(session)


def test_a_call_that_failed_and_a_proposal_that_was_denied_confirm_nothing(house: ToolWorld) -> None:
    session = house.session()
    house.toolbox.add("note.lost", lambda: 1 / 0)
    failed = witnessed(house, session, "note.lost")
    not_a_witness(house, session, failed)
    house.agent.propose(session, [tool_call("note.read", None)])
    not_a_witness(house, session, event_of(house, session, Arbitrated))


def test_a_persons_yes_confirms_and_a_persons_no_does_not(build: Build) -> None:
    house = build(policy=ASKS)
    session = house.session()
    no, yes = (ask(house, session, house.token(session), key) for key in ("a", "b"))
    house.ann.reject(no)
    not_a_witness(house, session, event_of(house, session, ApprovalDecided))
    house.ann.approve(yes)
    approved = event_of(house, session, ApprovalDecided)
    memory = house.agent.remember(session, entry(confirmed_by_event_id=approved)).memory
    assert memory.witness is not None
    assert (memory.confirmed_by, memory.witness.kind) == ("witness", "person")
    assert memory.witness.about == yes.approval_id
    assert house.agent.list_memory(session).entries[0].witness == memory.witness
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


def test_what_a_witness_saw_is_evidence_too_and_new_once(house: ToolWorld) -> None:
    session = house.session()
    seen = witnessed(house, session)
    house.agent.remember(session, hypothesis())
    house.agent.remember(session, entry(confirmed_by_event_id=seen))
    house.agent.remember(session, hypothesis(confirmed_by_event_id=seen))
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry(confirmed_by_event_id=seen)))
    again = witnessed(house, session)
    assert again != seen
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry(confirmed_by_event_id=again)))
    other = witnessed(house, session, "calc.add", a=1, b=2)
    assert house.agent.remember(session, entry(confirmed_by_event_id=other)).memory.confirmed
    house.check(session)


def test_a_new_id_does_not_start_afresh(build: Build) -> None:
    """The same value under another name is the same value, and its old evidence is still old."""
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    seen = witnessed(house, session)
    house.agent.remember(session, hypothesis(memory_id="a", confirmed_by_event_id=seen))
    tries: list[dict[str, Any]] = [{}, {"confirmed_by_event_id": seen}, {"value": {"port": 5432.0}}]
    for number, more in enumerate(tries):
        told = entry(memory_id=f"b{number}", **more)
        error = refused(Code.INVALID_REQUEST, partial(house.agent.remember, session, told))
        assert "under any id" in error.message
    house.agent.remember(session, entry(memory_id="b", source_chunk_ids=["chunk-2"]))
    house.agent.remember(session, entry(memory_id="c", source_chunk_ids=["chunk-2"]))
    house.agent.remember(session, entry(memory_id="d", value="something else"))
    house.check(session)
    house = house.restarted() if house.target != ":memory:" else house
    refused(Code.INVALID_REQUEST, lambda: house.agent.remember(session, entry(memory_id="e")))
    house.close()


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
    house.agent.remember(session, entry(memory_id="m2", value=2, ttl_ms=5_000))
    house.agent.remember(session, entry(memory_id="m3", value=3))

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
    house.agent.remember(session, entry(memory_id="contested", value=4, conflict_state="contested"))
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
    house.agent.remember(session, entry(memory_id="contested", value=4))
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
    lambda name, kind, confidence, sources, event, conflict, ttl: MemoryEntry(
        memory_id=name,
        kind=kind,
        value=1,
        confidence=confidence,
        source_chunk_ids=tuple(sources),
        confirmed_by_event_id=event,
        conflict_state=conflict,
        ttl_ms=ttl,
    ),
    st.sampled_from(["m", "n"]),
    st.sampled_from(["fact", "preference", "decision", "hypothesis"]),
    st.sampled_from([0.0, 0.5, 0.79, 0.8, 1.0]),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=2),
    st.sampled_from([None, None, "e1", "e2"]),
    st.sampled_from(["none", "contested", "contradictory"]),
    st.sampled_from([None, 1_000]),
)


def saw(told: MemoryEntry) -> Witness | None:
    """What the event that an entry names has seen, in a world in which every event has seen something."""
    name = told.confirmed_by_event_id
    return None if name is None else Witness(kind="call", about="tool", content=name)


@settings(max_examples=300, deadline=None)
@given(entries, st.sampled_from([0.0, 0.5, 0.8, 1.0]))
def test_confirmed_is_what_the_specification_says(given: MemoryEntry, threshold: float) -> None:
    sourced = len(given.source_chunk_ids) > 0 and given.confidence >= threshold
    expected = "witness" if given.confirmed_by_event_id is not None else "sources" if sourced else None
    if given.conflict_state == "contradictory" or given.confidence == 0:
        expected = None
    witness = saw(given)
    assert confirmation(given, witness, MemoryPolicy(confirm_above=threshold)) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(entries, max_size=8))
def test_no_story_makes_a_fact_of_a_hypothesis_without_evidence_it_never_had(
    story: list[MemoryEntry],
) -> None:
    session = session_with()
    doubted: set[str] = set()
    for told in story:
        facts = facts_of(Policy(), MemoryFindings(witness=saw(told)))
        event = remember(session, Remember(entry=told), facts)
        if isinstance(event, Refused):
            continue
        named = {
            *told.source_chunk_ids,
            *([told.confirmed_by_event_id] if told.confirmed_by_event_id else []),
        }
        assert event.confirmed or told.kind == "hypothesis"
        if told.kind == "hypothesis":
            assert told.ttl_ms is not None
            doubted |= named
        else:
            assert named - doubted, "it has evidence that did not fail to suffice before, under either id"
        session = remembered(session, event)
