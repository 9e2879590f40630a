"""What fails beside all others is tried once more, alone; what fails again has failed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import again

FAILS_ONCE = """
from pathlib import Path

def test_first_time():
    seen = Path("seen")
    assert seen.exists() or seen.touch()

def test_never():
    assert False

def test_always():
    pass
"""


@pytest.mark.parametrize(
    ("failed", "code", "said"),
    [
        (["test_first_time"], 0, "passed only alone, to be mended:\n  test_few.py::test_first_time"),
        (["test_first_time", "test_never"], 1, "2 failed; each is tried once more"),
        ([], 1, "0 tests failed"),
        ([f"test_{number}" for number in range(again.MOST + 1)], 1, "none is tried again"),
    ],
)
def test_few_failures_are_tried_again(tmp_path: Path, failed: list[str], code: int, said: str) -> None:
    (tmp_path / "test_few.py").write_text(FAILS_ONCE)
    (tmp_path / "seen").touch()
    (tmp_path / again.FAILED).parent.mkdir(parents=True)
    (tmp_path / again.FAILED).write_text(json.dumps({f"test_few.py::{name}": True for name in failed}))
    ended = subprocess.run(
        [sys.executable, again.__file__], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert said in ended.stdout + ended.stderr
