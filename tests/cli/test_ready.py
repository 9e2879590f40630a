"""A server that says it is ready has imported what it answers with: nobody waits for that later."""

import re
import subprocess
import sys
from pathlib import Path

import httpx

from beliefd.protocol.operations import OPERATIONS
from tests.cli.runner import CLEAN

IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)
STOP_SECONDS = 30
ON_THREADS = ("beliefd.experiments", "beliefd.uncertainty.conformal", "numpy", "scipy")
"""What only experiments and conformal sets need. They are worked on in threads and processes of their own,
and a server that is never asked for them saves their memory."""


def imported_after_ready(data: Path) -> list[str]:
    """What a server imports while every operation that takes JSON is asked with its own example."""
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "beliefd",
        "serve",
        "--port",
        "0",
        "--data",
        str(data),
    ]
    log = data.parent / "imports.log"
    with log.open("w") as errors:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=CLEAN)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().removeprefix("beliefd is listening on ").strip()
        with httpx.Client(base_url=url, timeout=60, verify=False) as client:
            client.get("/healthz")
            before = len(IMPORTED.findall(log.read_text()))
            assert before, "imports are told"
            session = (
                client.post("/v1/sessions", json={"hypotheses": ["a", "b"]}).json().get("session_id", "x")
            )
            for row in OPERATIONS:
                if row.body is None or row.body_media != "application/json":
                    continue
                path = re.sub(r"\{\w+\}", "x", row.path.replace("{session_id}", session))
                assert client.request(row.method, path, json=row.example or {}).status_code < 500, row.name
    finally:
        server.terminate()
        server.communicate(timeout=STOP_SECONDS)
    return IMPORTED.findall(log.read_text())[before:]


def test_no_module_is_imported_for_whoever_asks_first(tmp_path: Path) -> None:
    late = imported_after_ready(tmp_path / "data")
    assert not [name for name in late if name.startswith("beliefd.") and not name.startswith(ON_THREADS)]
