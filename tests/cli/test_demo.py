"""`beliefd demo`: the story is true, the invitation works, and it ends cleanly."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.cli.commands.demo import demo
from beliefd.cli.demo import story
from beliefd.cli.demo.run import DemoRun, StoryBroken
from beliefd.client import Client
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
        # The incident, and what is asked of whoever watches.
        assert len(answer("session", "list", "--data", data)["sessions"]) == 2 * run
        assert len(answer("inbox", "list", "--data", data)["approvals"]) == run
    tokens = answer("token", "list", "--data", data)["tokens"]
    assert sum(item["revoked_at"] is None for item in tokens) == 3
    assert answer("audit", "verify", "--all", "--data", data)["ok"] is True


@pytest.fixture
def staying(data: Path) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """The demo once it has said all that it says by itself, and what that was."""
    running = process("demo", "--port", "0", "--data", data)
    try:
        assert running.stdout is not None
        told = ""
        while "until Ctrl-C" not in told:
            line = running.stdout.readline()
            assert line, told
            told += line
        yield running, told
    finally:
        running.kill()
        running.communicate(timeout=STOP_SECONDS)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stays_up_with_a_curl_line_that_works_until_told_to_stop(
    staying: "tuple[subprocess.Popen[str], str]", how: signal.Signals
) -> None:
    running, told = staying
    curl = next(line for line in told.splitlines() if line.strip().startswith("curl "))
    fetched = subprocess.run(shlex.split(curl), capture_output=True, text=True, check=True)
    assert '"status":"terminated"' in fetched.stdout
    assert f"token of demo-agent: {shlex.split(curl)[3].removeprefix('Authorization: Bearer ')}\n" in told
    running.send_signal(how)
    _, errors = running.communicate(timeout=STOP_SECONDS)
    assert (running.returncode, errors) == (0, "")


def test_the_item_that_waits_for_whoever_watches_is_done_when_they_approve_it(
    staying: "tuple[subprocess.Popen[str], str]",
) -> None:
    running, told = staying
    link = re.search(r"decide in a browser: (\S+)", told)
    command = re.search(
        r"or in a terminal: (BELIEFD_TOKEN=(\S+) .*beliefd inbox approve (\S+) --url (\S+))", told
    )
    assert link is not None
    assert command is not None
    _, secret, approval_id, url = command.groups()
    with httpx.Client(base_url=url, follow_redirects=True, verify=False, timeout=60) as browser:
        shown = browser.get(link[1])
        assert (shown.status_code, shown.url.path) == (200, f"/inbox/{approval_id}")
        assert "pool.set_limit" in shown.text
    with Client(url, secret) as approver:
        card = approver.show_approval(approval_id)
        assert card.status == "pending"
        done = approver.decide_approval(approval_id, "APPROVED", content_hash=card.content_hash)
        assert done.call is not None
        assert (done.call.status, done.call.result) == ("ok", {"before": 200, "now": 300})
    assert running.stdout is not None
    assert running.stdout.readline() == "pool.set_limit: approved, and it ran (human://demo-approver)\n"


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
