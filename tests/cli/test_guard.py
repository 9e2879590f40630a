"""`beliefd guard` in front of what cannot be started."""

import sys
from pathlib import Path

import pytest

from tests.cli.runner import finished


@pytest.mark.parametrize(
    ("command", "told"),
    [(["no-such-program"], "there is no such command"), ([sys.executable, "no-such.py"], "does not start: ")],
)
def test_a_tool_server_that_does_not_start_is_told_in_one_line(
    tmp_path: Path, command: list[str], told: str
) -> None:
    ended = finished("guard", "--data", tmp_path, "--", *command)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert told in ended.stderr.splitlines()[-1]
