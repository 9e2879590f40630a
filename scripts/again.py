"""Run the tests that failed beside all others once more, one after the other: `python -m scripts.again`.

Some tests start servers, databases and browsers, and two shared cores can starve one of them. A test that
passes when it has the machine to itself does not hold a change back, but it is named: it waits for too
little, or there is a race. Dozens of failures are no accident, and are not tried again.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")
MOST: Final = 30


def main() -> int:
    """Zero if there were few failures and all of them pass alone."""
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.is_file() else []
    if not 0 < len(failed) <= MOST:
        print(f"{len(failed)} tests failed: none is tried again (up to {MOST} would be)", file=sys.stderr)
        return 1
    print(f"{len(failed)} failed; each is tried once more, alone", flush=True)
    ended = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:xdist", *failed], check=False)  # noqa: S603
    if ended.returncode == 0:
        print("passed only alone, to be mended:", *failed, sep="\n  ")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
