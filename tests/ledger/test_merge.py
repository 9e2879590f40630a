"""Replicas that were apart: merging is a union of eliminations, whatever the order and however often."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.beliefs.commands import Merge
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import command_of, read
from beliefd.testing.frozen import Clock
from beliefd.testing.world import ONTOLOGY, World

UNIVERSE = [f"h{at}" for at in range(6)]
gone = st.lists(st.sampled_from(UNIVERSE), max_size=3)
claims = st.tuples(st.sampled_from(["oracle://x", "human://y"]), gone)
split = st.lists(st.lists(claims, max_size=4), min_size=3, max_size=3)
Claims = list[tuple[str, list[str]]]


class Replicas:
    """One session declared once, then told different things in places that do not see each other."""

    def __init__(self, shares: list[Claims]) -> None:
        with World() as origin:
            self.session_id = origin.declare_session(UNIVERSE, ONTOLOGY).session_id
            seed = origin.export(self.session_id)
        self.exports = []
        for lane, share in enumerate(shares, 1):
            with World(clock=Clock(lane)) as replica:
                replica.import_ledger(seed)
                for at, (source, names) in enumerate(share):
                    replica.eliminate(
                        self.session_id, source_id=source, observation_id=f"o{at}", eliminated=names
                    )
                self.exports.append(replica.export(self.session_id))

    def merged(self, base: int, *others: bytes, lane: int = 50) -> tuple[list[str], bytes]:
        """Survivors and ledger of replica `base` after taking in the others, one after the other."""
        return merged(self.session_id, self.exports[base], *others, lane=lane)


def merged(session_id: str, base: bytes, *others: bytes, lane: int = 50) -> tuple[list[str], bytes]:
    with World(clock=Clock(lane)) as world:
        world.import_ledger(base)
        for other in others:
            world.merge(session_id, other)
        assert world.verify(session_id).ok
        return world.query_belief(session_id).survivors, world.export(session_id)


def expected(*shares: Claims) -> list[str]:
    spoken = {name for share in shares for _, names in share for name in names}
    return [name for name in UNIVERSE if name not in spoken]


@settings(max_examples=60)
@given(split)
def test_merging_is_commutative(shares: list[Claims]) -> None:
    replicas = Replicas(shares)
    a, b, _ = replicas.exports
    assert replicas.merged(0, b)[0] == replicas.merged(1, a)[0] == expected(shares[0], shares[1])


@settings(max_examples=60)
@given(split)
def test_merging_is_associative(shares: list[Claims]) -> None:
    replicas = Replicas(shares)
    _, b, c = replicas.exports
    left, _ = replicas.merged(0, b, c)
    _, b_and_c = replicas.merged(1, c, lane=51)
    right, _ = replicas.merged(0, b_and_c)
    assert left == right == expected(*shares)


@settings(max_examples=60)
@given(split)
def test_merging_is_idempotent(shares: list[Claims]) -> None:
    replicas = Replicas(shares)
    a, b, _ = replicas.exports
    once, _ = replicas.merged(0, b)
    twice, _ = replicas.merged(0, b, b, a)
    assert once == twice
    assert replicas.merged(0, a)[0] == expected(shares[0])


@settings(max_examples=40)
@given(split)
def test_merging_equals_one_ledger_that_heard_everything(shares: list[Claims]) -> None:
    together = Replicas([[claim for share in shares for claim in share]])
    replicas = Replicas(shares)
    _, b, c = replicas.exports
    assert replicas.merged(0, c, b)[0] == together.merged(0)[0]


def test_a_merge_is_recorded_with_both_heads_and_who_said_what() -> None:
    replicas = Replicas([[("oracle://x", ["h1"])], [("human://y", ["h2", "h1"])]])
    with World(clock=Clock(7)) as world:
        world.import_ledger(replicas.exports[0])
        own = world.verify(replicas.session_id).head
        answer = world.merge(replicas.session_id, replicas.exports[1])
        assert (answer.applied_eliminated, answer.ignored_eliminated) == (["h2"], ["h1"])
        command = command_of(read(world.entries(replicas.session_id)[-1].record))
        assert isinstance(command, Merge)
        assert command.own_head == own
        with World(clock=Clock(8)) as other:
            other.import_ledger(replicas.exports[1])
            assert command.replica_head == other.verify(replicas.session_id).head
        assert [(told.source_id, told.eliminated) for told in command.eliminations] == [
            ("human://y", ("h2", "h1"))
        ]
        why = world.why(replicas.session_id, "h2").events
        assert [(told.source_id, told.applied, told.merged_from) for told in why] == [
            ("human://y", True, command.eliminations[0].event_id)
        ]


def test_merging_back_and_forth_does_not_let_records_grow_without_bound() -> None:
    replicas = Replicas([[("oracle://x", ["h1"])], [("human://y", ["h2"])]])
    here, there = replicas.exports
    for lane in range(60, 72, 2):
        _, here = merged(replicas.session_id, here, there, lane=lane)
        _, there = merged(replicas.session_id, there, here, lane=lane + 1)
    assert max(map(len, there.splitlines())) < 2_000


def test_a_ledger_with_another_genesis_is_not_a_replica() -> None:
    with World() as one, World(clock=Clock(1)) as other:
        here = one.declare_session(UNIVERSE, ONTOLOGY).session_id
        stranger = other.export(other.declare_session(UNIVERSE, ONTOLOGY).session_id)
        with pytest.raises(BeliefdError, match="not a replica") as caught:
            one.merge(here, stranger)
        assert caught.value.code is Code.INVALID_REQUEST
        assert one.query_belief(here).seq == 1


def test_refused_claims_of_a_replica_are_not_taken_over() -> None:
    replicas = Replicas([[], []])
    with World(clock=Clock(2)) as replica:
        replica.import_ledger(replicas.exports[1])
        with pytest.raises(BeliefdError, match="not declared"):
            replica.eliminate(
                replicas.session_id, source_id="s", observation_id="o", eliminated=["h1", "unknown"]
            )
        refused = replica.export(replicas.session_id)
    assert replicas.merged(0, refused)[0] == UNIVERSE


def test_a_terminated_session_refuses_a_merge_and_records_the_refusal() -> None:
    replicas = Replicas([[("s", UNIVERSE[1:])], [("s", ["h0"])]])
    with World(clock=Clock(5)) as world:
        world.import_ledger(replicas.exports[0])
        assert world.request_termination(replicas.session_id).approved
        before = world.query_belief(replicas.session_id)
        with pytest.raises(BeliefdError) as caught:
            world.merge(replicas.session_id, replicas.exports[1])
        assert caught.value.code is Code.SESSION_TERMINATED
        after = world.query_belief(replicas.session_id)
        assert (after.seq, after.survivors) == (before.seq + 1, ["h0"])


def test_merged_eliminations_count_towards_obligations() -> None:
    replicas = Replicas([[], [("s", ["h1", "h2"])]])
    with World(clock=Clock(6)) as world:
        world.import_ledger(replicas.exports[0])
        world.enter_obligation(replicas.session_id, "o", 2)
        world.merge(replicas.session_id, replicas.exports[1])
        assert world.request_exit(replicas.session_id, "o").approved
