"""One decision about a tool call under many constraints: ours, Cedar's, Casbin's, and a naive reading.

All get the same rules: each denies one tool when one fact has one value, one rule allows it; none fires.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, Final

from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Action, judge, read_constraint
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from benchmarks.figures import TIMES_FASTER, Figure, Run, Target

SIZES: Final = (10, 100, 1_000, 10_000)
TOOL: Final = "email.send"
ACTION: Final = Action(TOOL, (), {"to": "ana@example.org"})
READERS: Final = 100
CASBIN_AT_MOST: Final = 1_000
"""Ten times as many take Casbin most of a minute a decision."""


def arbitration(run: Run) -> list[Figure]:
    sizes = SIZES if not run.quick else SIZES[:2]
    own = {size: _timed(_ours(size, size), run.size(4_000, 20)) for size in sizes}
    spread = {size: _timed(_ours(size, max(size // 10, 1)), run.size(4_000, 20)) for size in sizes}
    figures = [_flat("all on one tool", own, sizes), _flat("a tenth on the tool", spread, sizes)]
    for size in sizes:
        figures += _peers(run, size, own[size])
    return [*figures, _commit(run)]


def _flat(where: str, times: dict[int, float], sizes: tuple[int, ...]) -> Figure:
    low, high = sizes[0], sizes[-1]
    return Figure(
        benchmark="arbitration",
        what=f"one decision, {high} constraints against {low}, {where}",
        unit="us",
        ours=times[high],
        peer=times[low],
        peer_is=f"ours with {low}",
        ratio=times[high] / times[low],
        ratio_is="ours : peer",
        target=Target(at_most=2),
    )


def _peers(run: Run, size: int, own: float) -> list[Figure]:
    turns = max(run.size(20_000, 20) // size, 2)
    peers: dict[str, Callable[[], Any]] = {"naive": _naive(size), "cedarpy": _cedar(size)}
    if size <= CASBIN_AT_MOST:
        peers["pycasbin"] = _casbin(size)
    found = []
    for name, ask in peers.items():
        peer = _timed(ask, turns)
        target = Target(at_least=100) if (name, size) == ("cedarpy", 1_000) else None
        found.append(
            Figure(
                benchmark="arbitration",
                what=f"one decision under {size} constraints",
                unit="us",
                ours=own,
                peer=peer,
                peer_is=name,
                ratio=peer / own,
                ratio_is=TIMES_FASTER,
                target=target,
            )
        )
    return found


def _commit(run: Run) -> Figure:
    """A commit that changes a key which a hundred constraints read."""
    raw = {f"constraint.c{number}": _constraint("fact.shared", number) for number in range(READERS)}
    rules = ConstraintIndex(raw, lambda _, __: True)
    state = SymbolicState({"fact.shared": {"v": 1, "value": -1}})
    state.truths(rules)
    turns = run.size(300, 3)
    took = _timed(lambda: state.patched({"fact.shared": {"v": 1, "value": 7}}).truths(rules), turns)
    return Figure(
        benchmark="arbitration",
        what=f"commit of a key that {READERS} constraints read",
        unit="us",
        ours=took,
        target=Target(at_most=1_000),
    )


def _constraint(key: str, value: int, tool: str = TOOL) -> dict[str, Any]:
    return {
        "v": 1,
        "effect": "deny",
        "subject": {"tool_id": tool},
        "when": {"op": "eq", "args": [f"{key}.value", value]},
        "on_fail": "block",
    }


def _raw(size: int, on_tool: int) -> dict[str, Any]:
    raw = {
        f"constraint.c{number}": _constraint(
            f"fact.k{number}", 1, TOOL if number < on_tool else f"tool.t{number % 97}"
        )
        for number in range(size - 1)
    }
    raw["constraint.allow"] = {"v": 1, "effect": "allow", "subject": {"tool_id": TOOL}}
    return raw


def _state(size: int) -> SymbolicState:
    return SymbolicState({f"fact.k{number}": {"v": 1, "value": 0} for number in range(size - 1)})


def _ours(size: int, on_tool: int) -> Callable[[], Any]:
    rules, state = ConstraintIndex(_raw(size, on_tool), lambda _, __: True), _state(size)
    _must(state.truths(rules).judge(state, ACTION).on_fail is None)
    return lambda: state.truths(rules).judge(state, ACTION)


def _naive(size: int) -> Callable[[], Any]:
    constraints = [read_constraint(key, value) for key, value in _raw(size, size).items()]
    state = _state(size)
    return lambda: judge(constraints, state, ACTION, lambda _, __: True)


def _cedar(size: int) -> Callable[[], Any]:
    import cedarpy

    lines = [
        f'forbid(principal, action, resource == Tool::"{TOOL}") when {{ context.k{number} == 1 }};'
        for number in range(size - 1)
    ]
    policies = "\n".join([f'permit(principal, action, resource == Tool::"{TOOL}");', *lines])
    request = {
        "principal": 'Agent::"a"',
        "action": 'Action::"call"',
        "resource": f'Tool::"{TOOL}"',
        "context": {f"k{number}": 0 for number in range(size - 1)},
    }
    _must(cedarpy.is_authorized(request, policies, []).allowed)
    return lambda: cedarpy.is_authorized(request, policies, [])


def _casbin(size: int) -> Callable[[], Any]:
    import casbin

    model = casbin.Model()
    model.load_model_from_text(
        "[request_definition]\nr = tool, facts\n[policy_definition]\np = tool, key, value, eft\n"
        "[policy_effect]\ne = some(where (p.eft == allow)) && !some(where (p.eft == deny))\n"
        "[matchers]\nm = r.tool == p.tool && (p.key == 'always' || r.facts[p.key] == p.value)\n"
    )
    enforcer = casbin.Enforcer(model)
    enforcer.add_policies([[TOOL, f"k{number}", "1", "deny"] for number in range(size - 1)])
    enforcer.add_policy(TOOL, "always", "", "allow")
    facts = {f"k{number}": "0" for number in range(size - 1)}
    _must(enforcer.enforce(TOOL, facts))
    return lambda: enforcer.enforce(TOOL, facts)


def _timed(ask: Callable[[], Any], turns: int) -> float:
    """The median of single calls, in microseconds."""
    ask()
    took = []
    for _ in range(turns):
        started = time.perf_counter()
        ask()
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1e6


def _must(allowed: bool) -> None:
    if not allowed:
        raise RuntimeError("a rule fired that should not have: the engines were not asked the same")
