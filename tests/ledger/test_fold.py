"""Folding checks whole chunks at once, and still names the first entry that does not hold."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256

import pytest
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate
from beliefd.kernel.decide import decide
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.ledger.chain import seal
from beliefd.ledger.envelope import LedgerBroken, Sealed, head_of
from beliefd.ledger.replay import CHUNK, Position, fold
from beliefd.ledger.state_hash import state_hash
from beliefd.testing.world import AGENT, ONTOLOGY

LENGTH = 2 * CHUNK + 10


@cache
def ledger() -> tuple[tuple[Sealed, ...], Position]:
    declaration = DeclareSession(ontology=ONTOLOGY, hypotheses=tuple(f"h{n}" for n in range(200)))
    facts = Facts(now="t", event_id="e1", principal=AGENT, policy=Policy(), policy_hash="p")
    session = begin("s", declaration)
    entries = [seal(None, declaration, decide(None, declaration, facts), session, None, facts)]
    for number in range(2, LENGTH + 1):
        facts = replace(facts, event_id=f"e{number}")
        named = f"h{number // 20}"
        command = Eliminate(source_id="s", observation_id="o", eliminated=(named,), justification={})
        event = decide(session, command, facts)
        after = evolve(session, event)
        entries.append(seal(session, command, event, after, head_of(entries[-1]), facts))
        session = after
    return tuple(entries), Position(session, head_of(entries[-1]))


def test_a_ledger_of_several_chunks_folds_to_its_state() -> None:
    entries, expected = ledger()
    position = fold(entries)
    assert position is not None
    assert (state_hash(position.session), position.head) == (state_hash(expected.session), expected.head)


def rehashed(entry: Sealed, old: bytes, new: bytes) -> Sealed:
    record = entry.record.replace(old, new)
    assert record != entry.record
    return replace(entry, record=record, hash=sha256(record).hexdigest())


FORGERIES: dict[str, tuple[Callable[[Sealed], Sealed], str]] = {
    "bytes": (lambda entry: replace(entry, record=entry.record.replace(b'"o"', b'"x"')), "hash"),
    "hash": (lambda entry: replace(entry, hash="0" * 64), "hash"),
    "link": (lambda entry: rehashed(entry, b'"prev_hash":"', b'"prev_hash":"0'), "not linked"),
    "place": (lambda entry: rehashed(entry, b'"seq":', b'"seq":1'), "not linked"),
    "kind": (lambda entry: rehashed(entry, b'"kind":"eliminated"', b'"kind":"guessed"'), "cannot be read"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("at", [2, 3, CHUNK, CHUNK + 1, CHUNK + 2, LENGTH - 1, LENGTH])
def test_the_first_entry_that_does_not_hold_is_named(forgery: str, at: int) -> None:
    forge, reason = FORGERIES[forgery]
    entries = list(ledger()[0])
    entries[at - 1] = forge(entries[at - 1])
    with pytest.raises(LedgerBroken, match=reason) as broken:
        fold(entries)
    assert broken.value.seq == at


@pytest.mark.parametrize("at", [2, CHUNK + 1, LENGTH - 1])
def test_an_entry_taken_out_is_missed_where_it_stood(at: int) -> None:
    entries = list(ledger()[0])
    del entries[at - 1]
    with pytest.raises(LedgerBroken, match="not linked") as broken:
        fold(entries)
    assert broken.value.seq == at + 1
