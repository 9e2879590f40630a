"""Debian's Chromium, installed on first use where we may; elsewhere whatever is called so."""

import shutil
import subprocess
from functools import cache

NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def chromium() -> str:
    """INVARIANT: without a browser the tests fail; they are not skipped."""
    if not any(map(shutil.which, NAMES)) and shutil.which("apt-get"):
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "-y", "chromium"]):
            subprocess.run(command, check=True, capture_output=True)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found is not None, f"install one of {', '.join(NAMES)}"
    return found
