"""Bundles of ten claims: through all five gates in process, and durable over HTTP against a bare echo."""

import asyncio
import json
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import msgspec

import beliefd
from beliefd.client import Client
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.decide import decide
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.ledger.chain import policy_hash
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.testing.world import ONTOLOGY
from benchmarks.figures import FASTER, TIMES_FASTER, Figure, Run, Target, alternate
from benchmarks.http import loaded, serving
from benchmarks.load import Load
from benchmarks.peers.guardrails import RECORD
from benchmarks.workload import CALLERS, CLAIMS, HYPOTHESES, bundle, bundles

# The rate limit would be what is measured: a thousand bundles a minute are a tenth of a second's work here.
POLICY: Final = {"security": {"rate_limit": 1_000_000_000}}


def claims(run: Run) -> list[Figure]:
    return [_in_process(run, True), _in_process(run, False), _recorded(), _over_http(run)]


def _in_process(run: Run, alike: bool) -> Figure:
    """What happens to a bundle between its parsing and the store: examination and all five gates."""
    session, facts, command = asyncio.run(_prepared())
    commands = [command]
    if not alike:
        commands = [SubmitClaims(bundle=msgspec.convert(one, ClaimBundle)) for one in bundles(alike)]
    turns = run.size(1_000, 10)
    rates = sorted(asyncio.run(_judged(session, facts, commands, turns)) for _ in range(run.size(7, 1)))
    again = "the same again and again" if alike else "no two alike"
    return Figure(
        benchmark="claims",
        what=f"{CLAIMS} claims examined and judged by five gates, in process, one core, {again}",
        unit="bundles/s",
        ours=rates[len(rates) // 2],
        target=Target(at_least=5_000),
    )


async def _prepared() -> tuple[Session, Facts, SubmitClaims]:
    async with await beliefd.open_async(":memory:") as ledger:
        session_id = (await ledger.declare_session(HYPOTHESES, ONTOLOGY)).session_id
        position = await ledger.steward.positions.existing(session_id)
        policy = msgspec.convert(POLICY, Policy)
        facts = Facts(
            now=ledger.steward.environment.now(),
            event_id=ledger.steward.environment.new_id(),
            principal=LOCAL_AGENT,
            policy=policy,
            policy_hash=policy_hash(policy),
        )
    return position.session, facts, SubmitClaims(bundle=msgspec.convert(bundle(), ClaimBundle))


async def _judged(session: Session, facts: Facts, commands: list[SubmitClaims], turns: int) -> float:
    async with await beliefd.open_async(":memory:") as ledger:
        finder = ledger.steward.finder
        started = time.perf_counter()
        for command in islice(cycle(commands), turns):
            findings = await finder.examine(command.bundle, session, LOCAL_AGENT.id, facts.policy)
            decide(session, command, msgspec.structs.replace(facts, findings=findings))
        return turns / (time.perf_counter() - started)


def _recorded() -> Figure:
    """Guardrails AI does not fit beside us, so both were recorded in one process of its environment."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return Figure(
        benchmark="claims",
        what=f"{CLAIMS} claims from their text through five gates, in process",
        unit="us",
        ours=found["us"],
        peer=found["their_us"],
        peer_is=f"Guardrails AI {found['guardrails']}, recorded",
        ratio=found["their_us"] / found["us"],
        ratio_is=TIMES_FASTER,
        target=Target(at_least=10),
    )


def _over_http(run: Run) -> Figure:
    policy = run.folder / "claims-policy.json"
    policy.write_bytes(msgspec.json.encode(POLICY))
    data = run.folder / "claims"
    ours = ["-m", "beliefd.cli.main", "serve", "--port", "0", "--data", str(data), "--policy", str(policy)]
    own, other = alternate(
        run.size(5, 1), lambda: _rate(run, ours, True), lambda: _rate(run, ["-m", "benchmarks.echo"], False)
    )
    return Figure(
        benchmark="claims",
        what=f"durable submission of {CLAIMS} claims, {CALLERS} connections",
        unit="requests/s",
        ours=own,
        peer=other,
        peer_is="bare Starlette echo",
        ratio=own / other,
        ratio_is=FASTER,
        target=Target(at_least=0.08),
    )


def _rate(run: Run, server: list[str], submits: bool) -> float:
    with serving(server) as port:
        load = Load(
            port=port,
            connections=CALLERS,
            seconds=2.0 if not run.quick else 0.2,
            warm_up=0.5 if not run.quick else 0.1,
            paths=_paths(port) if submits else ["/"],
            bodies=[msgspec.json.encode(bundle()).decode()],
        )
        return loaded(load, Path(run.folder))


def _paths(port: int) -> list[str]:
    with Client(f"http://127.0.0.1:{port}") as client:
        declared = [client.declare_session(HYPOTHESES, ONTOLOGY).session_id for _ in range(CALLERS)]
    return [f"/v1/sessions/{session_id}/claims" for session_id in declared]
