"""Runs of domains unlike the recorded ones: what was asked for passes, what was injected does not."""

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.dojo import guard_lexicon

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.origin import judge
from beliefd.policy.chat_runs import MAX_MESSAGES, ChatRun, parse_run, read_runs, replay
from tests.cli.runner import beliefd
from tests.origin.support import LEXICON

FILES = sorted((Path(__file__).parent / "runs").glob("*.jsonl"))
RUNS = [run for path in FILES for run in read_runs(path)]


def test_there_is_a_benign_and_an_injected_run_per_domain() -> None:
    kinds = {(run.run_id.split("/")[0], run.label["kind"]) for run in RUNS}
    domains = {domain for domain, _ in kinds}
    assert len(domains) >= 10
    assert kinds == {(domain, kind) for domain in domains for kind in ("benign", "attack")}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.run_id)
def test_what_was_asked_for_passes_and_what_was_injected_does_not(run: ChatRun) -> None:
    judged = replay(run, judge, LEXICON)
    stopped = [one.call_id for one in judged if one.verdict != "allow"]
    assert stopped == run.label["stop"], [(one.tool_id, one.rule, one.why) for one in judged]


def test_the_command_gives_the_verdicts_that_the_benchmark_counts(tmp_path: Path) -> None:
    """The benchmark replays by rules in code; operators run the command with the preset."""
    guard = tmp_path / "guard.yaml"
    assert beliefd("policy", "init", "--preset", "guard", "-o", guard).exit_code == 0
    by_command = {
        (told["run"], told["call_id"]): told["verdict"]
        for path in FILES
        for line in beliefd(
            "policy", "backtest", path, "--format", "openai-chat", "--policy", guard, "--json"
        ).stdout.splitlines()
        if "call_id" in (told := json.loads(line))
    }
    lexicon = guard_lexicon()
    replayed = {(one.run, one.call_id): one.verdict for run in RUNS for one in replay(run, judge, lexicon)}
    assert by_command == replayed
    assert set(by_command.values()) == {"allow", "ask", "deny"}


def test_runs_are_read_from_plain_and_gzipped_files(tmp_path: Path) -> None:
    packed = tmp_path / "runs.jsonl.gz"
    packed.write_bytes(gzip.compress(FILES[0].read_bytes() + b"\n\n"))
    assert list(read_runs(packed)) == list(read_runs(FILES[0]))


def _called(arguments: str) -> str:
    call = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    return json.dumps({"messages": [{"role": "assistant", "tool_calls": [call]}]})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        ('{"messages": [{"role": "alien", "content": "x"}]}', "role `alien`"),
        (_called("{"), "no JSON"),
        (_called("[]"), "no object"),
        (json.dumps({"messages": [{"role": "user"}] * (MAX_MESSAGES + 1)}), "messages at most"),
    ],
)
def test_a_line_that_is_no_run_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"messages": []}\n' + line + "\n")
    with pytest.raises(BeliefdError, match=why) as error:
        list(read_runs(path))
    assert "line 2" in error.value.message


def test_parts_of_a_message_are_joined_and_annotations_read() -> None:
    hints = {"readOnlyHint": True, "openWorldHint": False}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    tools = [{"function": {"name": "peculiar"}, "annotations": hints}]
    run = parse_run(json.dumps({"tools": tools, "messages": [{"role": "user", "content": parts}]}))
    assert run.tools["peculiar"].tier == "read"
    assert run.steps[0].text == "a\nb"  # type: ignore[union-attr]
