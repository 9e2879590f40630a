"""Forged databases: with the file in hand one drops the triggers and edits rows; `verify` names the event."""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import beliefd
from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.ledger import Verified
from beliefd.steward.directory import LOCAL_OPERATOR
from tests.ledger.ledgers import exported, parts, rehashed

EXPORT = exported()
HEADER, ENTRIES = parts(EXPORT)
ONTOLOGY = ENTRIES[0]["payload"]["ontology"]
SESSION, LAST = HEADER["session_id"], len(ENTRIES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database that holds the ledger, closed, with nothing in its way any more."""
    name = tmp_path / "ledger.db"
    with beliefd.open(name, principal=LOCAL_OPERATOR) as opened:
        opened.import_ledger(EXPORT)
        assert opened.verify(SESSION).ok
    return name


def tamper(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        changed = connection.execute(statement, values).rowcount
        assert changed > 0
    connection.close()


def verified(path: Path) -> Verified:
    with beliefd.open(path) as opened:
        return opened.verify(SESSION)


def named(path: Path) -> tuple[int, str]:
    answer = verified(path)
    assert not answer.ok
    assert answer.first_bad is not None
    return answer.first_bad.seq, answer.first_bad.reason


def record(seq: int, change: Callable[[dict[str, object]], dict[str, object]]) -> tuple[str, str]:
    """The row's record and hash after `change`, consistent with each other."""
    forged = rehashed(change(dict(ENTRIES[seq - 1])))
    claimed = forged.pop("hash")
    return canonical(forged).decode(), claimed


def test_triggers_stand_in_the_way_of_updates_and_deletes(path: Path) -> None:
    connection = sqlite3.connect(path)
    for statement in (
        "UPDATE audit_events SET hash = ''",
        "DELETE FROM audit_events",
        "DELETE FROM sessions",
    ):
        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|never deleted"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("seq", [1, 5, LAST])
def test_bytes_changed_in_place_are_named(path: Path, seq: int) -> None:
    tamper(path, "UPDATE audit_events SET record = replace(record, '2026', '2025') WHERE seq = ?", seq)
    assert named(path) == (seq, "its hash does not match its bytes")


@pytest.mark.parametrize("seq", [1, 5, LAST])
def test_a_hash_changed_is_named(path: Path, seq: int) -> None:
    tamper(path, "UPDATE audit_events SET hash = ? WHERE seq = ?", "0" * 64, seq)
    assert named(path) == (seq, "its hash does not match its bytes")


def test_bytes_and_hash_changed_together_break_the_link_after_them(path: Path) -> None:
    text, claimed = record(5, lambda entry: {**entry, "ts": "1999-01-01T00:00:00.000000Z"})
    tamper(path, "UPDATE audit_events SET record = ?, hash = ? WHERE seq = 5", text, claimed)
    assert named(path) == (6, "its `prev_hash` is not the hash of what comes before it")


def test_bytes_and_hash_of_the_last_event_changed_together_contradict_the_head(path: Path) -> None:
    text, claimed = record(LAST, lambda entry: {**entry, "ts": "1999-01-01T00:00:00.000000Z"})
    tamper(path, "UPDATE audit_events SET record = ?, hash = ? WHERE seq = ?", text, claimed, LAST)
    assert named(path) == (LAST, "it is not the head that was promised")


@pytest.mark.parametrize(
    ("seq", "reason"),
    [
        (1, "it stands at place 1 but says 2"),
        (6, "it stands at place 6 but says 7"),
        (LAST, f"the ledger ends here, but its head is event {LAST}"),
    ],
)
def test_a_row_deleted_is_named(path: Path, seq: int, reason: str) -> None:
    tamper(path, "DELETE FROM audit_events WHERE seq = ?", seq)
    assert named(path) == (seq, reason)


def test_all_rows_deleted_are_named(path: Path) -> None:
    tamper(path, "DELETE FROM audit_events")
    assert named(path) == (1, f"the ledger ends here, but its head is event {LAST}")


def test_a_row_added_past_the_head_is_named(path: Path) -> None:
    text, claimed = record(LAST, lambda entry: {**entry, "seq": LAST + 1, "prev_hash": entry["hash"]})
    tamper(
        path,
        "INSERT INTO audit_events (session_id, seq, event_id, record, hash) VALUES (?, ?, ?, ?, ?)",
        SESSION,
        LAST + 1,
        ENTRIES[-1]["event_id"],
        text,
        claimed,
    )
    assert named(path)[0] == LAST + 1


def test_rows_in_another_order_are_named(path: Path) -> None:
    tamper(
        path, "UPDATE audit_events SET seq = CASE seq WHEN 4 THEN -5 WHEN 5 THEN -4 END WHERE seq IN (4, 5)"
    )
    tamper(path, "UPDATE audit_events SET seq = -seq WHERE seq < 0")
    assert named(path) == (4, "it stands at place 4 but says 5")


def test_a_row_filed_under_another_event_id_is_named(path: Path) -> None:
    tamper(path, "UPDATE audit_events SET event_id = 'other' WHERE seq = 3")
    assert named(path) == (3, "its event id is not the one it is filed under")


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: json.dumps(json.loads(text)),
        lambda text: text.replace('"seq":5', '"seq":5.0'),
        lambda text: text.replace('"seq":5', '"seq":4,"seq":5'),
        lambda text: text.replace("look twice", "\\u006cook twice"),
        lambda text: text + " ",
    ],
    ids=["spaces", "number", "duplicate key", "escape", "trailing"],
)
def test_bytes_that_are_not_canonical_are_named_even_with_their_own_hash(
    path: Path, rewrite: Callable[[str], str]
) -> None:
    text, _ = record(5, lambda entry: entry)
    forged = rewrite(text)
    assert forged != text
    claimed = hashlib.sha256(forged.encode()).hexdigest()
    tamper(path, "UPDATE audit_events SET record = ?, hash = ? WHERE seq = 5", forged, claimed)
    seq, reason = named(path)
    assert seq == 5
    assert reason == "its bytes are not in canonical form" or "appears twice" in reason


def test_a_policy_edited_in_the_database_is_no_policy(path: Path) -> None:
    """Otherwise a lenient policy put in later could make a forbidden decision look allowed."""
    tamper(path, "UPDATE policies SET document = replace(document, '\"admin\"', '\"agent\"')")
    seq, reason = named(path)
    assert seq == 1
    assert reason.endswith("is not known here")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM audit_events WHERE seq = 1", "UPDATE audit_events SET record = '{}' WHERE seq = 4"],
)
def test_a_broken_ledger_answers_with_a_clear_error_wherever_it_is_needed(path: Path, statement: str) -> None:
    tamper(path, statement)
    with beliefd.open(path) as opened:
        for ask in (
            lambda: opened.query_belief(SESSION),
            lambda: opened.declare_conclusion(SESSION, "c"),
            lambda: opened.why(SESSION, "disk_full"),
        ):
            with pytest.raises(BeliefdError) as caught:
                ask()
            assert caught.value.code is Code.LEDGER_BROKEN


def test_a_tail_cut_together_with_the_head_in_the_sessions_row_shows_only_against_a_head_kept_elsewhere(
    path: Path,
) -> None:
    kept_elsewhere = HEADER["head"]
    tamper(path, "DELETE FROM audit_events WHERE seq > 5")
    tamper(
        path,
        "UPDATE sessions SET head_seq = 5, head_event_id = ?, head_hash = ?",
        ENTRIES[4]["event_id"],
        ENTRIES[4]["hash"],
    )
    answer = verified(path)
    assert answer.ok
    assert answer.head is not None
    assert answer.head.hash != kept_elsewhere["hash"]


def test_a_broken_ledger_is_listed_as_such_beside_the_others(path: Path) -> None:
    with beliefd.open(path) as opened:
        whole = [opened.declare_session(["a", "b"], ONTOLOGY).session_id for _ in range(2)]
    tamper(path, "UPDATE audit_events SET record = record || ' ' WHERE session_id = ? AND seq = 5", SESSION)
    with beliefd.open(path) as opened:
        page = opened.list_sessions()
        assert [session.session_id for session in page.sessions] == whole
        [broken] = page.broken
        assert (broken.session_id, broken.seq) == (SESSION, 5)
        assert "does not match its bytes" in broken.reason
        first, rest = opened.list_sessions(limit=1), opened.list_sessions(limit=2, cursor=SESSION)
        assert (first.sessions, first.broken, first.next) == ([], [broken], SESSION)
        assert ([session.session_id for session in rest.sessions], rest.broken) == (whole, [])
