"""The command line in process (fast) and as a process of its own (where that matters)."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from beliefd.cli.main import main

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("BELIEFD_")}
COMMAND = [sys.executable, "-m", "beliefd"]
LIMIT_SECONDS = 120


def beliefd(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run a command in this process; anything but a clean exit is raised."""
    result = CliRunner(env=dict.fromkeys(os.environ.keys() - CLEAN.keys())).invoke(
        main, [str(argument) for argument in arguments], input=stdin
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def answer(*arguments: str | Path, stdin: str | None = None, code: int = 0) -> Any:
    """The JSON that a command prints, after checking its exit code."""
    result = beliefd(*arguments, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def process(*arguments: str | Path, **options: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=CLEAN,
        **options,
    )


def finished(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=CLEAN,
        timeout=LIMIT_SECONDS,
        check=False,
        **options,
    )


def in_terminal(*arguments: str | Path, keys: bytes = b"", **settings: str) -> tuple[int, str]:
    """Run to the end in a terminal of 120 columns, with `keys` typed into it; its exit code and output."""
    ours, theirs = pty.openpty()
    environment = {**CLEAN, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50", **settings}
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as running:
        os.close(theirs)
        os.write(ours, keys)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return running.returncode, shown.decode(errors="replace")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that nobody holds the other end any more
        return b""
