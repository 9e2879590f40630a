"""Loading a session recomputes its whole chain; what does not hold is refused and named, never folded."""

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

import beliefd
from beliefd import BeliefdError, Code
from beliefd.testing.world import ONTOLOGY

LENGTH = 21


@pytest.fixture
def ledger(tmp_path: Path) -> tuple[Path, str]:
    """A file with one session of `LENGTH` events that no trigger protects any more."""
    path = tmp_path / "ledger.db"
    with beliefd.open(path) as opened:
        session_id = opened.declare_session([f"h{n}" for n in range(30)], ONTOLOGY).session_id
        for n in range(LENGTH - 1):
            opened.eliminate(session_id, source_id="s", observation_id=f"o{n}", eliminated=[f"h{n}"])
    with sqlite3.connect(path) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
    return path, session_id


def loaded(ledger: tuple[Path, str]) -> int:
    with beliefd.open(ledger[0]) as opened:
        return opened.query_belief(ledger[1]).n_survivors


def refusal(ledger: tuple[Path, str]) -> tuple[int, str]:
    with pytest.raises(BeliefdError) as refused:
        loaded(ledger)
    assert refused.value.code is Code.LEDGER_BROKEN
    assert refused.value.details is not None
    return refused.value.details["seq"], refused.value.details["reason"]


def tamper(ledger: tuple[Path, str], statement: str, *values: object) -> None:
    with sqlite3.connect(ledger[0]) as file:
        assert file.execute(statement, values).rowcount > 0


def rewrite(ledger: tuple[Path, str], seq: int) -> None:
    """Change what an event eliminated, and its hash with it."""
    with sqlite3.connect(ledger[0]) as file:
        (record,) = file.execute("SELECT record FROM audit_events WHERE seq = ?", (seq,)).fetchone()
        forged = record.replace(f'"h{seq - 2}"', '"h29"')
        assert forged != record
        file.execute(
            "UPDATE audit_events SET record = ?, hash = ? WHERE seq = ?",
            (forged, sha256(forged.encode()).hexdigest(), seq),
        )


def test_an_honest_ledger_loads(ledger: tuple[Path, str]) -> None:
    assert loaded(ledger) == 30 - (LENGTH - 1)


@pytest.mark.parametrize("seq", [1, 2, 9, LENGTH])
def test_changed_bytes_are_named(ledger: tuple[Path, str], seq: int) -> None:
    tamper(ledger, "UPDATE audit_events SET record = replace(record, '\"h', '\"g') WHERE seq = ?", seq)
    assert refusal(ledger) == (seq, "its hash does not match its bytes")


def test_an_event_rewritten_with_its_hash_breaks_the_link_after_it(ledger: tuple[Path, str]) -> None:
    rewrite(ledger, 9)
    assert refusal(ledger) == (10, "it is not linked to the event before it")


def test_the_last_event_rewritten_with_its_hash_is_not_the_head(ledger: tuple[Path, str]) -> None:
    rewrite(ledger, LENGTH)
    assert refusal(ledger) == (LENGTH, "it is not the head that was promised")


def test_a_tail_cut_off_is_missed(ledger: tuple[Path, str]) -> None:
    tamper(ledger, "DELETE FROM audit_events WHERE seq > 15")
    assert refusal(ledger) == (LENGTH, "it is not the head that was promised")


def test_an_event_cut_out_is_missed(ledger: tuple[Path, str]) -> None:
    tamper(ledger, "DELETE FROM audit_events WHERE seq = 7")
    assert refusal(ledger) == (8, "it is not linked to the event before it")


def test_events_past_the_head_are_not_believed(ledger: tuple[Path, str]) -> None:
    tamper(
        ledger,
        "INSERT INTO audit_events SELECT session_id, ?, 'x', record, hash FROM audit_events WHERE seq = 9",
        LENGTH + 1,
    )
    assert loaded(ledger) == 30 - (LENGTH - 1)
