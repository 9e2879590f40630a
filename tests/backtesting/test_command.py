"""`beliefd policy backtest`: sessions, exported ledgers and recorded runs, for people and as JSON."""

import json
from pathlib import Path

import pytest

from beliefd.cli.output import Exit
from beliefd.policy.presets import preset_text
from tests.backtesting.support import Chat, Claude, written
from tests.backtesting.test_formats import mailed
from tests.cli.runner import answer, beliefd

OLD = """
tools: {mail: {executor: caller}}
capabilities: [{name: all, principals: ["operator://local"], scope: {tools: ["*"]}, expires_in_seconds: 60}]
constraints: {constraint.all: {v: 1, effect: allow, subject: null}}
"""
EVE = "  constraint.eve: {v: 1, effect: deny, subject: null, when: {op: eq, args: [call.args.to, eve]}}\n"
NEW = OLD.replace("constraints: {", "constraints:\n  ").replace("null}}\n", "null}\n") + EVE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "new.yaml").write_text(NEW)
    data = ("--data", tmp_path / "data")
    assert beliefd("policy", "adopt", tmp_path / "old.yaml", *data).exit_code == 0
    for _ in range(2):
        session = answer("session", "declare", "a", "b", *data)["session_id"]
        for number, to in enumerate(("ann", "eve")):
            call = {"kind": "tool_call", "tool_id": "mail", "args": {"to": to}, "join_key": f"k{number}"}
            (tmp_path / "call.json").write_text(json.dumps([call]))
            made = beliefd("state", "propose", session, tmp_path / "call.json", "--execute", "caller", *data)
            assert made.exit_code in (0, 3), made.output
    (tmp_path / "session").write_text(session)
    return tmp_path


def test_sessions_are_decided_again_and_shown_in_groups(place: Path) -> None:
    told = beliefd("policy", "backtest", "--all", "--policy", place / "new.yaml", "--data", place / "data")
    assert told.exit_code == 0, told.output
    assert "2 sessions, 4 decisions: 2 would change, 0 cannot be decided" in told.stdout
    assert "allow -> deny  constraint.eve" in told.stdout
    assert '{"to": "eve"}' in told.stdout
    assert "mail: 2 of 4 would change" in told.stdout


def test_a_session_and_its_export_give_the_same_answer(place: Path) -> None:
    session, data = (place / "session").read_text(), ("--data", place / "data")
    by = ("--policy", place / "new.yaml")
    stored = answer("policy", "backtest", "--session", session, *by, *data)
    assert beliefd("audit", "export", session, "-o", place / "ledger.jsonl", *data).exit_code == 0
    assert answer("policy", "backtest", place / "ledger.jsonl", *by) == stored
    assert (stored["sessions"], stored["decisions"], stored["changed"]) == (1, 2, 1)
    assert answer("policy", "backtest", "--session", session[-8:], *by, *data) == stored, "a part is enough"
    (place / "ledger.jsonl").write_bytes((place / "ledger.jsonl").read_bytes()[:-300])
    broken = answer("policy", "backtest", place / "ledger.jsonl", *by, code=Exit.LEDGER_BROKEN)
    assert [one["session_id"] for one in broken["broken"]] == [session]


def test_runs_are_told_line_by_line_as_json(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", [*mailed(Claude).lines, "{torn"])
    told = beliefd("policy", "backtest", path, "--json")
    assert told.exit_code == Exit.BAD_INPUT
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert [sorted(line) for line in lines] == [["call_id", "reasons", "run", "tool", "verdict"]] * 3
    assert [line["verdict"] for line in lines] == ["allow", "allow", "ask"]
    assert lines[2]["reasons"][0]["constraint"] == "constraint.guard.04_sinks"
    assert "line 8 cannot be read" in told.stderr


def test_what_gates_take_for_granted_is_told_first_and_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", mailed(Chat).lines)
    told = beliefd("policy", "backtest", path)
    assert told.stdout.splitlines()[0] == (
        "assumed: an agent of tier PRIVILEGE (`--agent-tier`); mode normal (`--mode`); "
        "a capability for every call, without a budget"
    )
    given = (
        "--agent-tier",
        "READ_ONLY",
        "--mode",
        "offline-safe",
        "--role",
        "agent",
        "--agent-id",
        "agent://a",
    )
    told = beliefd("policy", "backtest", path, *given, "--json")
    assert told.stderr == "assumed: a capability for every call, without a budget\n"
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert {line["reasons"][0]["code"] for line in lines} <= {"TIER_TOO_LOW", "MODE"}


def test_what_a_ledger_says_itself_is_not_given(place: Path) -> None:
    session, data = (place / "session").read_text(), ("--data", place / "data")
    assert beliefd("audit", "export", session, "-o", place / "ledger.jsonl", *data).exit_code == 0
    for what in (("--session", session, *data), (place / "ledger.jsonl",)):
        told = beliefd("policy", "backtest", *what, "--policy", place / "new.yaml", "--agent-tier", "MODIFY")
        assert (told.exit_code, "--agent-tier" in told.stderr) == (2, True), told.output


def test_what_cannot_be_decided_is_counted_with_the_reason(tmp_path: Path) -> None:
    run = mailed(Chat)
    del run.messages[2]
    (tmp_path / "policy.yaml").write_bytes(preset_text("guard"))
    path = written(tmp_path / "run.jsonl", run.lines)
    told = beliefd("policy", "backtest", path, "--policy", tmp_path / "policy.yaml")
    assert told.exit_code == 0
    assert "undecidable: 2" in told.stdout
    assert "the result of `web.fetch_page` (`c1`) is not in the trace: 2" in told.stdout


@pytest.mark.parametrize(
    "given", [(), ("--all",), ("--all", "--session", "s"), ("--session", "s"), ("x.jsonl", "--all")]
)
def test_it_says_what_is_missing(given: tuple[str, ...]) -> None:
    told = beliefd("policy", "backtest", *given)
    assert told.exit_code == 2
    assert "--policy" in told.stderr or "give one of" in told.stderr


def test_a_file_that_is_not_there_is_named() -> None:
    told = beliefd("policy", "backtest", "nowhere.jsonl")
    assert (told.exit_code, "nowhere.jsonl" in told.stderr) == (2, True)
