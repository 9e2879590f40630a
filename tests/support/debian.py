"""Packages of Debian that tests need, installed on first use where we may."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

LOCK = Path(tempfile.gettempdir()) / "beliefd-tests-apt.lock"
WAIT = ["-o", "DPkg::Lock::Timeout=300"]
"""Somebody else on this machine may be installing something, too."""
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}


def installed(packages: str, *names: str) -> str | None:
    """The first program of these names that is there, if need be after installing what brings it.

    No service is started: tests start what they need themselves.
    """
    if (found := _first(names)) is not None or shutil.which("apt-get") is None:
        return found
    with LOCK.open("w") as lock:  # several test processes start at once, and apt-get lets one in
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _first(names) is None:
            for command in (["update", "-qq"], ["install", "-qq", "-y", *packages.split()]):
                subprocess.run(["apt-get", *WAIT, *command], check=True, capture_output=True, env=QUIET)
    return _first(names)


def _first(names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)
