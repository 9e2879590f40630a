"""What people install: the wheel alone, in an environment that has nothing else, plays the whole demo."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.client import Client

HERE = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheels = tmp_path_factory.mktemp("wheels")
    _done(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(wheels), str(HERE))
    [built] = wheels.iterdir()
    return built


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The commands of an environment that has the wheel, what it asks for, and nothing else."""
    _done(sys.executable, "-m", "venv", str(tmp_path / "env"))
    bin_ = tmp_path / "env" / "bin"
    _done(str(bin_ / "python"), "-m", "pip", "install", str(wheel))
    return bin_


@pytest.fixture
def demo(installed: Path) -> "Iterator[subprocess.Popen[str]]":
    """From elsewhere than the checkout: its files must not stand in for those of the wheel."""
    command = [str(installed / "beliefd"), "demo", "--pace", "0", "--port", "0", "--data", "data"]
    with subprocess.Popen(command, cwd=installed, stdout=subprocess.PIPE, text=True) as running:
        yield running
        running.terminate()


def test_a_plain_install_of_the_wheel_plays_the_demo_up_to_what_you_decide(
    demo: "subprocess.Popen[str]",
) -> None:
    assert demo.stdout is not None
    told = ""
    while "until Ctrl-C" not in told:
        line = demo.stdout.readline()
        assert line, told
        told += line
    assert "not installed" not in told
    link = re.search(r"decide in a browser: (\S+)", told)
    way = re.search(r"BELIEFD_TOKEN=(\S+) \S*beliefd inbox approve (\S+) --url (\S+)", told)
    assert link is not None
    assert way is not None
    secret, approval_id, url = way.groups()
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60) as browser:
        card = browser.get(link[1])
        assert (card.status_code, card.url.path) == (200, f"/inbox/{approval_id}")
        for asset in re.findall(r'(?:src|href)="(/static/[^"]+)"', card.text):
            assert browser.get(asset).status_code == 200
    with Client(url, secret) as approver:
        seen = approver.show_approval(approval_id)
        approver.decide_approval(approval_id, "APPROVED", content_hash=seen.content_hash)
    assert "approved, and it ran" in demo.stdout.readline()


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Pages, lexicons, kits, schemas: whatever is beside the code is read from the wheel, too."""
    there = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"beliefd/{path.relative_to(sources).as_posix()}"
        for sources in (HERE / "src" / "beliefd", HERE / "examples")
        for path in (sources if sources.name == "beliefd" else sources / "kits").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 500
    wanted |= {
        f"beliefd/conformance/data/{path.relative_to(HERE / 'conformance').as_posix()}"
        for part in ("vectors", "released-logs")
        for path in (HERE / "conformance" / part).rglob("*.json*")
    }
    assert sorted(wanted - there) == []


def _done(*command: str) -> str:
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return run.stdout
