"""Decisions per second of a backtest, on one core: recorded runs without and with origin facts, and ledgers.

Runs are those of `BELIEFD_DOJO`, or a made set where there are none. Times are the processor's own.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from beliefd.embedded import Embedded
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import explain_call
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash
from beliefd.policy.backtesting.files import lines_of, steps_of
from beliefd.policy.backtesting.steps import Called, Step
from beliefd.policy.presets import preset
from beliefd.steward.backtesting.exports import decide_exports
from beliefd.steward.backtesting.ledgers import Trial
from beliefd.steward.backtesting.run_tally import Tallies
from beliefd.steward.backtesting.runs import RunsTrial
from beliefd.steward.backtesting.tally import Tally
from beliefd.stores.opening import MEMORY
from beliefd.testing.world import ONTOLOGY
from benchmarks.dojo import FOLDER
from benchmarks.figures import Figure, Run, Target

FORM: Final = "openai-chat"
PER_SECOND: Final = "decisions/s"
CALLS: Final = 8
CALLER: Final = Principal(id="agent://caller", role=Role.AGENT, tier="WRITE_LIMITED")
ALLOW: Final = {"constraint.all": {"v": 1, "effect": "allow", "subject": None}}
EVE: Final = {
    "constraint.eve": {
        "v": 1,
        "effect": "deny",
        "subject": None,
        "on_fail": "ask",
        "when": {"op": "in", "args": ["call.args.to", ["eve@example.net"]]},
    }
}


def backtest(run: Run) -> list[Figure]:
    path = _runs(run)
    plain = replace(preset("guard"), context=UNSET, constraints={**ALLOW, **EVE})
    steps = list(_first(path, run.size(20_000, 50)))
    calls = [one for one in steps if isinstance(one, Called)]
    judged = _rate(len(calls), lambda: _judge(plain, steps))
    asked = _rate(len(calls), lambda: _explain(plain, calls))
    told = list(_first(path, run.size(1_500, 50)))
    facts = _rate(sum(isinstance(one, Called) for one in told), lambda: _judge(preset("guard"), told))
    ledger = run.folder / "ledger.jsonl"
    events = _ledger(ledger, run.size(3_000, 20))
    again = _rate(events, lambda: decide_exports(lines_of(ledger), Trial(_policy(**EVE)), Tally()))
    return [
        Figure(
            benchmark="backtest",
            what="calls of recorded runs, without origin facts",
            unit=PER_SECOND,
            ours=judged,
            peer=asked,
            peer_is="`explain` per call",
            ratio=judged / asked,
            ratio_is="ours : peer",
        ),
        _figure("calls of recorded runs, without origin facts: as such", judged, Target(at_least=20_000)),
        _figure("calls of recorded runs, with origin facts", facts, Target(at_least=1_500)),
        _figure("proposals of an exported ledger", again),
    ]


def _figure(what: str, value: float, target: Target | None = None) -> Figure:
    return Figure(benchmark="backtest", what=what, unit=PER_SECOND, ours=value, target=target)


def _rate(count: int, work: Callable[[], object], rounds: int = 3) -> float:
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        taken.append(max(time.process_time() - started, 1e-9))
    return count / statistics.median(taken)


def _judge(policy: Policy, steps: list[Step]) -> None:
    tallies = Tallies()
    for item in RunsTrial(policy).verdicts(steps):
        tallies.take(item)


def _explain(policy: Policy, calls: list[Called]) -> None:
    name = policy_hash(policy)
    for one in calls:
        explain_call(policy, name, {}, Question(tool_id=one.tool_id, args=one.args))


def _first(path: Path, calls: int) -> Iterator[Step]:
    """The steps of a file up to so many calls."""
    left = calls
    for step in steps_of(path, FORM):
        left -= isinstance(step, Called)
        if left < 0:
            return
        yield step


def _runs(run: Run) -> Path:
    recorded = Path(os.environ.get(FOLDER, "")) / "runs.jsonl.gz"
    if os.environ.get(FOLDER) and recorded.exists() and not run.quick:
        return recorded
    path = run.folder / "runs.jsonl"
    encode = msgspec.json.encode
    lines = (encode(_made(number)) for number in range(run.size(3_000, 10)))
    path.write_bytes(b"\n".join(islice(lines, None)) + b"\n")
    return path


def _made(number: int) -> dict[str, Any]:
    """A run of calls whose results are read by the next ones."""
    messages: list[Any] = [{"role": "user", "content": f"Mail the notes {number} to ann{number}@example.org"}]
    for at in range(CALLS):
        name, tool = f"c{at}", "mail.send" if at % 2 else "notes.list"
        args = {"to": f"ann{number}@example.org", "body": f"note {at}"} if at % 2 else {"folder": f"f{at}"}
        call = {"id": name, "function": {"name": tool, "arguments": msgspec.json.encode(args).decode()}}
        rows = [
            {"id": f"{number}-{row}", "title": f"Note {row}", "text": "It is late. " * 5} for row in range(5)
        ]
        messages.append({"role": "assistant", "tool_calls": [call]})
        content = msgspec.json.encode(rows).decode()
        messages.append({"role": "tool", "tool_call_id": name, "content": content})
    return {"id": f"r{number}", "messages": messages}


def _policy(**constraints: Any) -> Policy:
    return msgspec.convert(
        {
            "tools": {"mail.send": {"executor": "caller", "mutates": True}},
            "constraints": {**ALLOW, **constraints},
            "capabilities": [
                {
                    "name": "all",
                    "principals": ["agent://*"],
                    "scope": {"tools": ["*"]},
                    "expires_in_seconds": 86_400,
                }
            ],
        },
        Policy,
    )


def _ledger(path: Path, calls: int) -> int:
    with Embedded(MEMORY, CALLER, policy=_policy()) as ledger:
        session = ledger.declare_session(["a", "b"], ONTOLOGY).session_id
        for number in range(calls):
            args = {"to": f"ann{number % 50}@example.org", "body": "hello " * 10}
            call = {
                "kind": "tool_call",
                "tool_id": "mail.send",
                "args": args,
                "idempotency_key": f"k{number}",
            }
            ledger.propose(session, [call], execute="caller")
        path.write_bytes(ledger.export(session))
    return calls
