"""CONTRIBUTING says how a verb is added: here it is added as the page says, and used in every way."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.node import node
from tests.docs.pages import ROOT, blocks
from tests.support.server import ServerProcess

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
MOST_FILES = 12
COPIED = ("src", "conformance", "examples", "BELIEF_PROTOCOL.md")


def changes() -> Iterator[tuple[str, str, str]]:
    """File, text before and text after, for every place that the page changes."""
    for block in blocks(CONTRIBUTING):
        if block.language != "diff":
            continue
        for of_file in block.text.split("--- ")[1:]:
            name, *hunks = of_file.split("@@\n")
            for hunk in hunks:
                lines = hunk.splitlines()
                before = [line[1:] for line in lines if not line.startswith("+")]
                after = [line[1:] for line in lines if not line.startswith("-")]
                yield name.strip(), "\n".join(before), "\n".join(after)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the verb in it."""
    root = tmp_path_factory.mktemp("verb")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    for name, before, after in changes():
        text = (root / name).read_text()
        assert text.count(before) == 1, (
            f"{name}: the page shows a place that is not there, or not once: {before}"
        )
        (root / name).write_text(text.replace(before, after))
    return root


def run(place: Path, *command: str) -> str:
    """What a command prints, with the sources of `place`."""
    env = {**os.environ, "PYTHONPATH": str(place / "src")}
    done = subprocess.run(command, cwd=place, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_a_verb_takes_few_files_and_no_central_list() -> None:
    files = {name for name, _, _ in changes()}
    assert 0 < len(files) <= MOST_FILES
    central = (
        "decide.py",
        "evolve.py",
        "kernel/commands.py",
        "kernel/events.py",
        "kernel/state.py",
        "operations.py",
    )
    listed = ("dispatch.py", "bootstrap.py", "openapi.py", "state_hash.py", "main.py", "positions.py")
    assert not [name for name in files if name.endswith(central + listed) and "beliefs" not in name]


def test_the_verb_is_reachable_over_http_from_python_and_on_the_command_line(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "use.py"
    program.write_text(USE)
    monkeypatch.setenv("PYTHONPATH", str(place / "src"))
    server = ServerProcess(tmp_path / "data")
    try:
        told = json.loads(run(place, sys.executable, str(program), server.url))
        cli = (sys.executable, "-m", "beliefd.cli.main")
        run(place, *cli, "session", "annotate", told["session"], "by hand", "--url", server.url)
        timeline = run(place, *cli, "audit", "show", told["session"], "--url", server.url)
        ledger = tmp_path / "ledger.jsonl"
        ledger.write_text(run(place, *cli, "audit", "export", told["session"], "--url", server.url))
    finally:
        server.stop()
        server.forget()
    assert told["refused"] == "CONFLICT"
    assert told["path"] == "/v1/sessions/{session_id}/notes"
    assert told["notes"] == 300
    assert "noted: by hand" in timeline
    assert run(place, *cli, "audit", "verify", "--file", str(ledger))
    assert run(place, node(), str(place / "conformance" / "verify.mjs"), str(ledger)).startswith(
        "ok 304 events"
    )


USE = """
import json, sys
from beliefd import BeliefdError, Client
from beliefd.http.openapi import openapi_document

client = Client(sys.argv[1])
names = ("hypothesis_space_id", "hypothesis_version", "causal_graph_ref", "causal_graph_version")
ontology = dict.fromkeys(names, "none")
session = client.declare_session(["a", "b"], ontology).session_id
client.annotate(session, "first")
try:
    client.annotate(session, "first")
    refused = None
except BeliefdError as error:
    refused = str(error.code)
lines = [{"verb": "ANNOTATE", "note": f"note {n}"} for n in range(300)]
answers = client.batch(session, lines)
described = openapi_document()["paths"]["/v1/sessions/{session_id}/notes"]["post"]
assert described["operationId"] == "annotate", described
assert client.verify(session).ok
print(json.dumps({
    "session": session, "refused": refused, "path": "/v1/sessions/{session_id}/notes",
    "notes": sum("snapshot" in answer for answer in answers),
}))
"""
