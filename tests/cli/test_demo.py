"""`beliefd demo`: the story is true, the invitation works, and it ends cleanly."""

import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from beliefd.cli.commands.demo import demo
from beliefd.cli.demo import story
from beliefd.cli.demo.run import DemoRun, StoryBroken
from tests.cli.runner import answer, finished, in_terminal, process

STOP_SECONDS = 60


def test_the_story_is_told_in_plain_lines_and_twice_on_one_directory(data: Path) -> None:
    for run in (1, 2):
        told = finished("demo", "--port", "0", "--data", data, "--once")
        assert (told.returncode, told.stderr) == (0, "")
        assert "\x1b" not in told.stdout
        for number, act in enumerate(story.ACTS, 1):
            assert f"\n{number}. {act.title}\n" in told.stdout
        left = [int(found) for found in re.findall(r"(\d+) of 12 left", told.stdout)]
        assert left == sorted(left, reverse=True)
        assert (left[0], left[-1]) == (12, 1)
        assert "refused root_cause:bad_deploy" in told.stdout
        assert "allowed root_cause:db_connection_exhaustion" in told.stdout
        assert re.search(r"verified \d+ events: every hash, link and decision recomputed", told.stdout)
        assert "witnessed: call" in told.stdout
        assert "attested: numbers typed by agent://demo-agent" in told.stdout
        assert "waits human gate: DELETE needs a person" in told.stdout
        assert "waits uncertainty gate: measured uncertainty of 1.0 is above 0.75" in told.stdout
        # And the server's own, which the operator sees.
        assert len(answer("session", "list", "--data", data)["sessions"]) == run
    tokens = answer("token", "list", "--data", data)["tokens"]
    assert sum(item["revoked_at"] is None for item in tokens) == 3
    assert answer("audit", "verify", "--all", "--data", data)["ok"] is True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stays_up_with_a_curl_line_that_works_until_told_to_stop(data: Path, how: signal.Signals) -> None:
    running = process("demo", "--port", "0", "--data", data)
    try:
        assert running.stdout is not None
        lines: list[str] = []
        while not lines or "until Ctrl-C" not in lines[-1]:
            lines.append(running.stdout.readline())
            assert lines[-1], "".join(lines)
        curl = next(line for line in lines if line.strip().startswith("curl "))
        fetched = subprocess.run(shlex.split(curl), capture_output=True, text=True, check=True)
        assert '"status":"terminated"' in fetched.stdout
        assert any(
            line.strip().endswith(shlex.split(curl)[3].removeprefix("Authorization: Bearer "))
            for line in lines
        )
    finally:
        running.send_signal(how)
        _, errors = running.communicate(timeout=STOP_SECONDS)
    assert (running.returncode, errors) == (0, "")


def test_in_a_terminal_the_board_is_redrawn(data: Path) -> None:
    code, shown = in_terminal("demo", "--port", "0", "--data", data, "--once", "--pace", "0")
    assert code == 0
    assert shown.count("of 12 left") > 8
    assert "✗" in shown
    assert "\x1b[" in shown


def test_a_story_that_turns_out_otherwise_fails(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    def lie(_: DemoRun) -> None:
        raise StoryBroken("the server ruled otherwise")

    monkeypatch.setattr(story, "ACTS", (story.Act("A lie", lie),))
    kept = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        result = CliRunner().invoke(demo, ["--port", "0", "--data", str(data), "--once"])
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), kept, strict=True):
            signal.signal(number, handler)
    assert result.exit_code == 1
    assert "the server ruled otherwise" in result.stderr
