"""What a permit adds to a call: decided and durable over HTTP, beside an echo on the same server."""

import subprocess
import sys
from typing import Final

import msgspec

from beliefd.client import Client
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import Figure, Run, Target, alternate, fsync_ms
from benchmarks.http import POLICY, serving
from benchmarks.pacing import Pace

CALLERS: Final = 64
PAUSE_SECONDS: Final = 0.5
RULES: Final = {
    **POLICY,
    "tools": {"*": {"executor": "caller"}},
    "constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}},
    "capabilities": [{"name": "all", "scope": {"tools": ["*"]}, "roles": ["agent"]}],
}
BODY: Final = {
    "provenance": {"source": "agent"},
    "execute": "caller",
    "candidates": [
        {"kind": "tool_call", "tool_id": "Bash", "args": {"command": "git status"}, "join_key": "{number}"}
    ],
}


def permits(run: Run) -> list[Figure]:
    data, policy = run.folder / "permits", run.folder / "permits-policy.json"
    policy.write_bytes(msgspec.json.encode(RULES))
    ours = ["-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(data), "--policy", str(policy)]
    own, echo = alternate(
        run.size(3, 1),
        lambda: _median(run, ours, True),
        lambda: _median(run, ["-m", "benchmarks.echo"], False),
    )
    return [
        Figure(
            benchmark="permits",
            what="one durable write (fsync), p50",
            unit="ms",
            ours=fsync_ms(run.folder, run.size(200, 20)),
        ),
        Figure(
            benchmark="permits",
            what=f"decide-only, {CALLERS} callers, one call each per {PAUSE_SECONDS:g} s: added time",
            unit="ms (p50)",
            ours=own - echo,
            target=Target(at_most=2.0),
        ),
        Figure(
            benchmark="permits",
            what=f"decide-only, {CALLERS} callers, one call each per {PAUSE_SECONDS:g} s",
            unit="ms (p50)",
            ours=own,
            peer=echo,
            peer_is="bare Starlette echo",
            ratio=own / echo,
            ratio_is="ours : peer",
        ),
    ]


def _median(run: Run, server: list[str], is_ours: bool) -> float:
    with serving(server) as port:
        paths = ["/"]
        if is_ours:
            with Client(f"http://127.0.0.1:{port}") as client:
                made = [client.declare_session(["a", "b"], ONTOLOGY).session_id for _ in range(CALLERS)]
            paths = [f"/v1/sessions/{name}/proposals" for name in made]
        pace = Pace(
            port=port,
            callers=CALLERS,
            requests=run.size(20, 4),
            pause=PAUSE_SECONDS,
            paths=paths,
            body=msgspec.json.encode(BODY).decode(),
        )
        plan = run.folder / "pace.json"
        plan.write_bytes(msgspec.json.encode(pace))
        command = [sys.executable, "-m", "benchmarks.pacing", str(plan)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
