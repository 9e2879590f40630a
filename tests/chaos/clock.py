"""Imported by a server of these tests with `--tools`: its clock follows a file, and jumps with it."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

from beliefd.steward import environment

OFFSET = Path(os.environ["BELIEFD_CHAOS_CLOCK"])
"""Holds the seconds to add."""


def time_ns() -> int:
    try:
        return time.time_ns() + int(OFFSET.read_text()) * 1_000_000_000
    except (OSError, ValueError):
        return time.time_ns()


environment.time = SimpleNamespace(  # type: ignore[assignment, attr-defined]
    time_ns=time_ns, strftime=time.strftime, gmtime=time.gmtime
)
