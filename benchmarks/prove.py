"""What an update lets through, proved for all calls: the processor time that it takes under many constraints.

All constraints are of one tool: of other tools only those are looked at that changed. Each question is asked
of a process of its own, and its start counts. In `tangled` policies a proof needs every constraint. `read,
compiled and proved` is what a server spends that is handed the new policy as a text: it reads it, compiles it
and has it proved.
"""

import resource
import time
from typing import Any, Final

import msgspec

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.compiling import compiled
from beliefd.policy.proving.process import prove as proved
from beliefd.protocol.wire import convert, parse
from benchmarks.figures import Figure, Run, Target

SECONDS: Final = {1_000: 1.0, 10_000: 10.0}
"""What a change may take."""
TOOL: Final = "email.send"
ASKED: Final = Guarantee(update="loosens_nothing")
EXPECTED: Final = {"stricter": "proved", "looser": "counterexample", "tangled": "proved"}


def prove(run: Run) -> list[Figure]:
    sizes = {10: 1.0, 20: 1.0} if run.quick else SECONDS
    figures: list[Figure] = []
    for kind in EXPECTED:
        both = {size: _seconds(size, kind) for size in sizes}
        took = {size: proving for size, (proving, _) in both.items()}
        figures += [
            Figure(
                benchmark="prove",
                what=f"one change of {size} constraints, {kind}",
                unit="s",
                ours=took[size],
                target=Target(at_most=most),
            )
            for size, most in sizes.items()
        ]
        figures += [
            Figure(
                benchmark="prove",
                what=f"one change of {size} constraints, {kind}: read, compiled and proved",
                unit="s",
                ours=whole,
            )
            for size, (_, whole) in both.items()
        ]
        figures.append(_growth(kind, took))
    return figures


def _growth(kind: str, took: dict[int, float]) -> Figure:
    low, high = min(took), max(took)
    return Figure(
        benchmark="prove",
        what=f"{high} constraints against {low}, {kind}",
        unit="s",
        ours=took[high],
        peer=took[low],
        peer_is=f"ours with {low}",
        ratio=took[high] / took[low],
        ratio_is="ours : peer",
    )


def _seconds(size: int, kind: str) -> tuple[float, float]:
    """The processor time of the process that proves, and of both processes together."""
    old, new = _tangled(size) if kind == "tangled" else _plain(size, kind)
    text = msgspec.json.encode(new)
    before, own = _spent(), time.process_time()
    new = compiled(convert(parse(text), Policy))
    found = proved(new, [ASKED], old)[0]
    if found.answer != EXPECTED[kind]:
        raise RuntimeError(f"{size} constraints, {kind}: {found.answer}, {found.why}")
    proving = _spent() - before
    return proving, proving + time.process_time() - own


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _plain(size: int, kind: str) -> tuple[Policy, Policy]:
    """Constraints that have little to do with each other; one of them has a condition more or less."""
    raw = {f"constraint.c{number}": _deny(_one(number)) for number in range(1, size - 1)}
    raw["constraint.allow"] = _allow()
    wide, narrow = [_is("fact.k0.value", 1)], [_is("fact.k0.value", 1), _is("fact.z.value", 2)]
    first, second = (
        Policy(constraints={**raw, "constraint.c0": _deny({"op": "all", "args": one})})
        for one in (narrow, wide)
    )
    return (first, second) if kind == "stricter" else (second, first)


def _tangled(size: int) -> tuple[Policy, Policy]:
    """Whoever may be written to is denied by a constraint of their own: nothing passes, before and after."""
    names = [f"p{number}" for number in range(size - 2)]
    raw = {f"constraint.{name}": _deny(_is("call.args.to", name)) for name in names}
    raw["constraint.allow"] = {**_allow(), "when": {"op": "in", "args": ["call.args.to", names]}}
    more = {**raw, "constraint.z": _deny(_is("fact.z.value", 2))}
    return Policy(constraints=more), Policy(constraints=raw)


def _one(number: int) -> dict[str, Any]:
    return {"op": "all", "args": [_is(f"fact.k{number}.value", 1), _is("call.args.to", f"p{number}")]}


def _deny(when: dict[str, Any]) -> dict[str, Any]:
    return {"v": 1, "effect": "deny", "subject": {"tool_id": TOOL}, "when": when}


def _allow() -> dict[str, Any]:
    return {"v": 1, "effect": "allow", "subject": {"tool_id": TOOL}}


def _is(path: str, value: Any) -> dict[str, Any]:
    return {"op": "eq", "args": [path, value]}
