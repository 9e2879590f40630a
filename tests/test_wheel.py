"""What people install: the wheel alone, in an environment that has nothing else, plays the whole demo."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_plain_install_of_the_wheel_plays_the_demo(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    _done(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(wheels), str(HERE))
    [wheel] = wheels.iterdir()
    _done(sys.executable, "-m", "venv", str(tmp_path / "env"))
    bin_ = tmp_path / "env" / "bin"
    _done(str(bin_ / "python"), "-m", "pip", "install", str(wheel))
    told = _done(str(bin_ / "beliefd"), "demo", "--once", "--pace", "0", "--port", "0", "--data", "data")
    assert "waits" in told
    assert "not installed" not in told


def _done(*command: str) -> str:
    """From elsewhere than the checkout: its files must not stand in for those of the wheel."""
    away = Path(command[0]).parent if command[0] != sys.executable else HERE
    run = subprocess.run(command, cwd=away, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout
