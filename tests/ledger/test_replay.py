"""Law 2: what is known is a fold of the ledger, and deciding everything again gives the same events."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command
from beliefd.kernel.evolve import begin
from beliefd.kernel.facts import Facts
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.ledger.envelope import head_of, read
from beliefd.ledger.replay import fold, redecide
from beliefd.ledger.state_hash import STATE_HASH_EVERY, state_hash
from beliefd.ledger.transfer import read_export
from beliefd.ledger.verify import verify
from beliefd.steward.write.positions import pack, unpack
from beliefd.stores.base import SavedState
from beliefd.testing.frozen import Clock
from beliefd.testing.kernel import KernelSession
from beliefd.testing.strategies import stories
from beliefd.testing.world import ONTOLOGY, World
from tests.ledger.ledgers import every_kind, exported

Story = tuple[DeclareSession, list[tuple[Command, Facts]]]


class Told(KernelSession):
    """A story told to the kernel; `states` are the state hashes after each event."""

    def __init__(self, story: Story) -> None:
        declaration, steps = story
        super().__init__(declaration)
        self.states = [state_hash(self.session)]
        for command, heard in steps:
            self.ask(command, heard.principal, policy=heard.policy)
            self.states.append(state_hash(self.session))


@given(stories())
def test_law_2_folding_an_exported_ledger_gives_the_same_state_at_every_event(story: Story) -> None:
    told = Told(story)
    read_back = read_export(told.export.splitlines())
    assert read_back.entries == told.entries
    for seq, expected in enumerate(told.states, 1):
        position = fold(read_back.entries[:seq])
        assert position is not None
        assert state_hash(position.session) == expected
        assert position.head == head_of(told.entries[seq - 1])


@given(stories(), st.data())
def test_law_2_folding_may_stop_anywhere_and_go_on_from_there(story: Story, data: st.DataObject) -> None:
    told = Told(story)
    cut = data.draw(st.integers(0, len(told.entries)))
    position = fold(told.entries[cut:], fold(told.entries[:cut]))
    assert position is not None
    assert (state_hash(position.session), position.head) == (told.states[-1], told.head)


@given(stories())
def test_law_2_deciding_again_gives_the_same_events_text_for_text(story: Story) -> None:
    told = Told(story)
    recorded = told.recorded
    again = list(redecide(recorded, told.policies))
    assert [step.event for step in again] == [entry.delta for entry in recorded]
    assert [state_hash(step.session) for step in again] == told.states


@given(stories())
def test_every_ledger_that_was_decided_verifies(story: Story) -> None:
    told = Told(story)
    read_back = read_export(told.export.splitlines())
    result, position = verify(read_back.entries, "s", read_back.header.policies, read_back.header.head)
    assert result.ok, result.first_bad
    assert position is not None
    assert state_hash(position.session) == told.states[-1]


@given(stories())
def test_law_4_every_change_of_belief_has_its_decision_in_the_same_ledger(story: Story) -> None:
    """Survivors never change between two entries, and inside one only by what its delta names."""
    told = Told(story)
    survivors = set(story[0].hypotheses)
    last_hash: str | None = None
    for entry in told.recorded:
        assert last_hash in (None, entry.survivors_before_hash)
        assert set(entry.delta.eliminated) <= survivors
        survivors -= set(entry.delta.eliminated)
        if not entry.delta.eliminated:
            assert entry.survivors_after_hash == entry.survivors_before_hash
        last_hash = entry.survivors_after_hash


@given(stories(), st.data())
def test_a_snapshot_is_used_only_if_it_is_the_state_the_chain_vouches_for(
    story: Story, data: st.DataObject
) -> None:
    told = Told(story)
    position = fold(told.entries)
    assert position is not None
    begun = begin("s", story[0])
    packed = pack(position.session, position.head.seq)
    again = unpack(packed, begun, told.states[-1])
    assert again is not None
    assert state_hash(again) == told.states[-1]
    assert unpack(packed, begun, "0" * 64) is None
    assert unpack(packed, begun, None) is None
    at = data.draw(st.integers(0, len(packed.state) - 1))
    damaged = packed.state[:at] + bytes([packed.state[at] ^ 0x55]) + packed.state[at + 1 :]
    found = unpack(SavedState(packed.seq, damaged), begun, told.states[-1])
    assert found is None or state_hash(found) == told.states[-1]


def test_exporting_twice_gives_the_same_bytes() -> None:
    with World() as world:
        session_id = every_kind(world)
        assert world.export(session_id) == world.export(session_id)


def test_an_imported_ledger_exports_to_the_bytes_it_came_from() -> None:
    export = exported()
    with World(clock=Clock(3)) as world:
        imported = world.import_ledger(export)
        assert world.export(imported.session_id) == export


def test_time_travel_shows_every_state_as_it_was_answered_then() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b", "c"], ONTOLOGY).session_id
        answered = [world.query_belief(session_id)]
        for name in "ab":
            answer = world.eliminate(session_id, source_id="s", observation_id="o", eliminated=[name])
            answered.append(replace(answer.snapshot, space=DEFAULT_SPACE))
        ended = world.request_termination(session_id).snapshot
        answered.append(replace(ended, space=DEFAULT_SPACE))  # only who asks for a session is told its space
        assert [world.query_belief(session_id, at=seq) for seq in range(1, 5)] == answered


def test_every_256th_event_carries_the_state_hash_and_only_those() -> None:
    with World() as world:
        session_id = world.declare_session(["a", "b"], ONTOLOGY).session_id
        conclude = {"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"}
        world.batch(session_id, [conclude] * (2 * STATE_HASH_EVERY))
        entries = [read(entry.record) for entry in world.entries(session_id)]
        with_hash = [entry.seq for entry in entries if entry.state_hash is not None]
        assert with_hash == [STATE_HASH_EVERY, 2 * STATE_HASH_EVERY]
        assert world.verify(session_id).ok
