"""Ledgers with every kind of event, as they were recorded: they verify and are decided again for ever."""

import json
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.events import KIND_OF
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import fold, redecide
from beliefd.ledger.state_hash import state_hash
from beliefd.ledger.transfer import Exported, read_export
from beliefd.ledger.verify import same_outcome, verify
from tests.conformance.node import CONFORMANCE, verify_many

LOGS = sorted((CONFORMANCE / "recorded-logs").glob("*/*.jsonl"))
HOW = "run `python conformance/make_recorded_logs.py`, and tell in it what no story tells"


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().splitlines()[1:]]


def exported(log: Path) -> Exported:
    return read_export(log.read_bytes().splitlines())


def expected(log: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((log.parent / "expected.json").read_text())[log.stem]
    return found


def test_every_kind_of_event_is_in_a_recorded_ledger() -> None:
    kinds = {entry["delta"]["kind"] for log in LOGS for entry in entries(log)}
    assert {*KIND_OF.values()} - kinds == set(), HOW


def test_every_verb_is_in_a_recorded_ledger() -> None:
    verbs = {entry["verb"] for log in LOGS for entry in entries(log)}
    assert COMMAND_OF.keys() - verbs == set(), HOW


def test_what_was_expected_of_ledgers_is_kept_as_long_as_they_are() -> None:
    for folder in {log.parent for log in LOGS}:
        names = json.loads((folder / "expected.json").read_text()).keys()
        assert names == {log.stem for log in LOGS if log.parent == folder}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}/{log.stem}")
def test_a_recorded_ledger_verifies_and_replays_to_what_was_known_then(log: Path) -> None:
    ledger, told = exported(log), expected(log)
    header = ledger.header
    result, decided = verify(
        ledger.entries, header.session_id, header.policies, header.head, contents=header.contents
    )
    assert result.ok, result.first_bad
    folded = fold(ledger.entries)
    assert folded is not None
    assert decided is not None
    assert [folded.head.seq, folded.head.hash] == [told["events"], told["head"]]
    assert state_hash(folded.session) == state_hash(decided.session) == told["state_hash"]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}/{log.stem}")
def test_a_recorded_ledger_is_decided_the_same_again(log: Path) -> None:
    ledger = exported(log)
    told = [read(entry.record) for entry in ledger.entries]
    for step in redecide(told, ledger.header.policies):
        assert same_outcome(step.event, step.entry.delta), step.entry.seq


def test_recorded_ledgers_verify_in_node() -> None:
    for log, verdict in zip(LOGS, verify_many([log.read_bytes() for log in LOGS]), strict=True):
        told = expected(log)
        assert verdict.code == 0, (log.name, verdict.text)
        assert verdict.text.startswith(f"ok {told['events']} events, head {told['head']}"), log.name
