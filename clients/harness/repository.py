"""A small repository for tests of what reads one."""

import subprocess
from pathlib import Path


def repository(folder: Path) -> None:
    """One commit, by somebody who is nobody."""
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    for command in (
        ["init", "--quiet"],
        [*who, "commit", "--quiet", "--allow-empty", "-m", "the first commit"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True, timeout=60)
