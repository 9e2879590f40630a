"""The guard preset is the default rules as text: whatever the facts are, both say the same."""

from pathlib import Path

import msgspec
from hypothesis import given, settings

from beliefd.kernel.origin import RULES, CallFacts, judge
from beliefd.policy.backtesting.steps import Called
from beliefd.policy.presets import preset, preset_text
from beliefd.steward.backtesting.runs import RunsTrial, verdict_of
from tests.cli.runner import beliefd
from tests.kernel.any_value import any_of

GUARD = preset("guard")
TRIAL = RunsTrial(GUARD)


def judge_by_guard(facts: CallFacts) -> tuple[str, str]:
    result = TRIAL.result(Called("c1", facts.tool_id), facts)
    return verdict_of(result), (result.reasons[0].constraint or "") if result.reasons else ""


def rule_of(constraint: str) -> str:
    return constraint.rpartition("_")[2]


@settings(max_examples=500, deadline=None)
@given(any_of(CallFacts))
def test_the_preset_says_what_the_default_rules_say(facts: CallFacts) -> None:
    verdict, rule, _ = judge(facts)
    said, constraint = judge_by_guard(facts)
    assert said == verdict
    if verdict != "allow":
        assert rule_of(constraint) == rule


def test_every_default_rule_is_a_rule_of_its_own_in_the_preset() -> None:
    named = [rule_of(key) for key in sorted(GUARD.constraints)]
    assert named == ["allow", "facts", *(name for name, *_ in RULES), "shell"]


def test_the_file_is_written_once_and_can_be_adopted(tmp_path: Path) -> None:
    place = tmp_path / "policy.yaml"
    assert beliefd("policy", "init", "--preset", "guard", "-o", str(place)).exit_code == 0
    assert place.read_bytes() == preset_text("guard")
    assert beliefd("policy", "check", str(place)).exit_code == 0
    again = beliefd("policy", "init", "--preset", "guard", "-o", str(place))
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def _run(tool: str, **args: str) -> bytes:
    call = {"id": "c1", "function": {"name": tool, "arguments": args}}
    said = {"role": "user", "content": "How warm is it?"}
    return msgspec.json.encode({"id": "r1", "messages": [said, {"role": "assistant", "tool_calls": [call]}]})


def test_a_backtest_knows_what_tools_do_that_a_run_does_not_list(tmp_path: Path) -> None:
    runs, mine = tmp_path / "runs.jsonl", tmp_path / "policy.yaml"
    runs.write_bytes(_run("thermo.frobnicate", room="kitchen"))
    asked = beliefd("policy", "backtest", str(runs))
    assert "asked: 1" in asked.stdout
    assert "by rule" in asked.stdout
    assert "constraint.guard.03_intent: 1" in asked.stdout
    mine.write_bytes(preset_text("guard").replace(b"{Read: read,", b"{thermo.*: read, Read: read,"))
    told = beliefd("policy", "backtest", str(runs), "--policy", str(mine))
    assert "asked: 0" in told.stdout
    assert "by rule" not in told.stdout


def test_a_backtest_of_no_runs_says_so(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_text("\n")
    answer = beliefd("policy", "backtest", str(runs))
    assert answer.exit_code == 2
    assert "holds no runs" in answer.stderr
