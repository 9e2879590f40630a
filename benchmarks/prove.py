"""What an update lets through, proved for all calls: how much processor time it takes under many constraints.

All constraints are of one tool: of other tools only those are looked at that changed.
"""

import time
from typing import Any, Final

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.proving.prover import Prover
from benchmarks.figures import Figure, Run, Target

SECONDS: Final = {1_000: 1.0, 10_000: 10.0}
"""What a change may take."""
TOOL: Final = "email.send"
ASKED: Final = Guarantee(update="loosens_nothing")


def prove(run: Run) -> list[Figure]:
    sizes = {10: 1.0} if run.quick else SECONDS
    return [_figure(size, most, kind) for size, most in sizes.items() for kind in ("stricter", "looser")]


def _figure(size: int, most: float, kind: str) -> Figure:
    wide, narrow = (
        _policy(size, [_is("fact.k0.value", 1)]),
        _policy(size, [_is("fact.k0.value", 1), _is("fact.z.value", 2)]),
    )
    old, new = (narrow, wide) if kind == "stricter" else (wide, narrow)
    started = time.process_time()
    found = Prover(new, old).answer(ASKED)
    took = time.process_time() - started
    expected = "proved" if kind == "stricter" else "counterexample"
    if found.answer != expected:
        raise RuntimeError(f"a {kind} policy is not {expected}, but {found.answer}: {found.why}")
    return Figure(
        benchmark="prove",
        what=f"one change of {size} constraints that makes a policy {kind}",
        unit="s",
        ours=took,
        target=Target(at_most=most),
    )


def _policy(size: int, first: list[dict[str, Any]]) -> Policy:
    raw = {f"constraint.c{number}": _deny(number) for number in range(1, size - 1)}
    raw["constraint.c0"] = {**_deny(0), "when": {"op": "all", "args": first}}
    raw["constraint.allow"] = {"v": 1, "effect": "allow", "subject": {"tool_id": TOOL}}
    return Policy(constraints=raw)


def _deny(number: int) -> dict[str, Any]:
    both = [_is(f"fact.k{number}.value", 1), _is("call.args.to", f"p{number}")]
    return {"v": 1, "effect": "deny", "subject": {"tool_id": TOOL}, "when": {"op": "all", "args": both}}


def _is(path: str, value: Any) -> dict[str, Any]:
    return {"op": "eq", "args": [path, value]}
