"""A line of a timeline says what its event is about, whatever kind it is."""

import json
from pathlib import Path
from typing import Any

from beliefd.console.pages.telling import told

LOGS = Path(__file__).parents[2] / "conformance" / "recorded-logs"
SILENT = {
    "adopt_tokens",
    "declare_session",
    "merge",
    "receive_ledger",
    "request_termination",
    "restore_store",
}
"""What these are about is the session, or the server, itself."""


def events() -> list[dict[str, Any]]:
    lines = (line for path in LOGS.rglob("*.jsonl") for line in path.read_text().splitlines())
    return [event for line in lines if "verb" in (event := json.loads(line))]


def test_every_event_that_is_about_something_says_what() -> None:
    found = events()
    assert len({event["verb"] for event in found}) > 30
    assert {event["verb"].lower() for event in found if not told("s", event).words} <= SILENT


def test_an_intent_a_run_and_a_decision_say_which() -> None:
    said = [(event["delta"]["kind"], told("s", event).words) for event in events()]
    proposed = "create_proposition wait a wait takes 40 ms, give or take 2"
    assert ("intent_staged", proposed) in said
    assert ("run_recorded", "support numeric_consistency@2 of wait") in said
    assert ("approval_decided", f"APPROVED {proposed}") in said


def test_what_was_only_seen_says_what_it_was() -> None:
    delta = {"kind": "approval_decided", "approval": {"reason": "human gate: MODIFY needs a person"}}
    seen = told("s", {"payload": {"decision": "SEEN", "reason": ""}, "delta": delta})
    assert seen.words == "SEEN human gate: MODIFY needs a person"
