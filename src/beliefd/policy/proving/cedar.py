"""What a policy permits and forbids, in Cedar: for a second opinion by an engine that others have written.

A path is an attribute of `context.at`. Its value is a record with one field per kind of value that it is,
because Cedar has no way to ask: `json` is its JSON, `s` a text, `t` the microseconds of a time, `n` a whole
number, `l` the JSON of each that a list holds, `c` how many a list or an object holds.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.policy import HUMAN_ALWAYS, Policy
from beliefd.kernel.substrate.comparing import moment
from beliefd.kernel.substrate.constraints import Action, Constraint, ambiguous
from beliefd.kernel.substrate.paths import ABSENT, look_up
from beliefd.kernel.substrate.predicates import Predicate, paths_read
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.values import Tier
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.paths import EPOCH, NOW

COMPARE: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
WHOLE: Final = 2**53
MICROSECOND: Final = timedelta(microseconds=1)


class Beyond(ValueError):
    """Not in the part of the language that Cedar has words for."""


class Exported(Struct, frozen=True):
    """Policies in Cedar, and which constraints are not among them, with why."""

    text: str
    left_out: dict[str, str]


def exported(policy: Policy) -> Exported:
    """INVARIANT: what is left out is named. Without it, Cedar may allow what this policy does not."""
    lines: list[str] = []
    left_out: dict[str, str] = {}
    for one in rulebook(policy, policy_hash(policy)).constraints:
        if one.key.startswith("constraint.invariant."):
            left_out[one.key] = "it is about states, and not about calls"
            continue
        try:
            lines += _constraint(one)
        except Beyond as error:
            left_out[one.key] = str(error)
    return Exported("\n".join([*lines, *_gates(policy)]) + "\n", left_out)


def _constraint(one: Constraint) -> list[str]:
    """An allow that does not hold stands in the way: it permits, and forbids unless it holds."""
    name = f"@id({_text(one.key)})"
    head = f"(principal, action, {_resource(one)})"
    if one.malformed is not None:
        return [f"{name} forbid {head};"]
    when = "true" if one.when is None else _condition(one.when)
    if one.effect != "allow":
        return [f"{name} forbid {head} when {{ {when} }};"]
    return [f"{name} permit {head};", f"{name} forbid {head} unless {{ {when} }};"]


def _resource(one: Constraint) -> str:
    if one.subject.tool_id is not None:
        return f"resource == Tool::{_text(one.subject.tool_id)}"
    if one.subject.capability is not None:
        return f"resource in Capability::{_text(one.subject.capability)}"
    return "resource"


def _gates(policy: Policy) -> list[str]:
    """Nobody calls a tool of a higher tier, and a person decides about the highest."""
    without = ", ".join(f"Tool::{_text(name)}" for name in policy.approvals.tools_without_person)
    spared = f" && ![{without}].contains(resource)" if without else ""
    asked = int(min(Tier[name] for name in HUMAN_ALWAYS))
    every = "forbid (principal, action, resource) when"
    return [
        f'@id("tier") {every} {{ context.tool_tier > context.agent_tier }};',
        f'@id("person") {every} {{ context.tool_tier >= {asked}{spared} }};',
    ]


def _condition(predicate: Predicate) -> str:
    op, args = predicate.op, predicate.args
    if op in ("all", "any"):
        joint, none = (" && ", "true") if op == "all" else (" || ", "false")
        return f"({joint.join(map(_condition, args))})" if args else none
    if op == "not":
        return f"!({_condition(args[0])})"
    there = f"context.at has {_text(args[0])}"
    if op in ("exists", "missing"):
        return f"({there})" if op == "exists" else f"!({there})"
    return f"({there} && {_leaf(op, f'context.at[{_text(args[0])}]', args[1:])})"


def _leaf(op: str, value: str, args: tuple[Any, ...]) -> str:
    if op == "eq":
        return f"{value} has json && {value}.json == {_kinded(args[0])}"
    if op == "in":
        return f"({' || '.join(_leaf('eq', value, (one,)) for one in args[0])})" if args[0] else "false"
    if op in ("lt", "le", "gt", "ge"):
        return _compared(op, value, args[0])
    if op == "between":
        return f"{_compared('ge', value, args[0])} && {_compared('le', value, args[1])}"
    if op == "age_over":
        return f"{value} has t && context.now - {value}.t > {_whole(args[0] * 1_000_000)}"
    if op in ("starts_with", "ends_with"):
        plain = _text(args[0]).replace("*", "\\*")[1:-1]
        pattern = f"{plain}*" if op == "starts_with" else f"*{plain}"
        return f'{value} has s && {value}.s like "{pattern}"'
    if op in ("subset", "intersects"):
        listed = f"[{', '.join(map(_kinded, args[0]))}]"
        if op == "subset":
            return f"{value} has l && {listed}.containsAll({value}.l)"
        return f"{value} has l && {value}.l.containsAny({listed})"
    if op == "count":
        return f"{value} has c && {value}.c {COMPARE[args[0]]} {_whole(args[1])}"
    raise Beyond(f"Cedar has no `{op}`")


def _compared(op: str, value: str, bound: Any) -> str:
    if isinstance(bound, str):
        found = moment(bound)
        if found is None:
            raise Beyond(f"`{bound}` is no time")
        return f"{value} has t && {value}.t {COMPARE[op]} {(found - EPOCH) // MICROSECOND}"
    return f"{value} has n && {value}.n {COMPARE[op]} {_whole(bound)}"


def _whole(value: Any) -> int:
    if value % 1 or abs(value) >= WHOLE:
        raise Beyond(f"Cedar has whole numbers only, and not `{value}`")
    return int(value)


def _kinded(value: Any) -> str:
    """A value with its kind: as text, so that values of all kinds can be compared."""
    return _text(kinded(value))


def kinded(value: Any) -> str:
    return canonical(value).decode()


def _text(text: str) -> str:
    """A text as Cedar writes it."""
    return '"' + "".join(_letter(one) for one in text) + '"'


def _letter(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if " " <= one <= "~" else f"\\u{{{ord(one):x}}}"


def request(
    policy: Policy, state: Mapping[str, Any], action: Action, tiers: tuple[str, str]
) -> dict[str, Any]:
    """A call on a state as Cedar is asked about it; `tiers` are the caller's own and the tool's.

    INVARIANT: a path that can be read in two ways has no one value to tell. Here such a call is denied.
    """
    known = action.known(state)
    for one in rulebook(policy, policy_hash(policy)).constraints:
        if one.names(action) and (twofold := ambiguous(one, known)) is not None:
            raise Beyond(f"`{twofold.path}` can be read in two ways")
    found = {path: _value(look_up(known, path)) for path in _paths(policy)}
    now = moment(look_up(known, NOW))
    context = {
        "at": {path: value for path, value in found.items() if value is not None},
        "agent_tier": int(Tier[tiers[0]]),
        "tool_tier": int(Tier[tiers[1]]),
        "now": 0 if now is None else (now - EPOCH) // MICROSECOND,
    }
    return {
        "principal": f"Role::{_text(str(action.context.get('role', 'agent')))}",
        "action": 'Action::"call"',
        "resource": f"Tool::{_text(str(action.tool_id))}",
        "context": context,
    }


def entities(action: Action) -> list[dict[str, Any]]:
    """The tool, with the capabilities that it needs."""
    tool = {"type": "Tool", "id": action.tool_id}
    needs = [{"type": "Capability", "id": name} for name in action.capabilities]
    above = [{"uid": one, "attrs": {}, "parents": []} for one in needs]
    return [{"uid": tool, "attrs": {}, "parents": needs}, *above]


def _paths(policy: Policy) -> Iterable[str]:
    found = (one.when for one in rulebook(policy, policy_hash(policy)).constraints)
    return sorted({path for when in found if when is not None for path in paths_read(when)})


def _value(value: Any) -> dict[str, Any] | None:
    if value is ABSENT:
        return None
    found: dict[str, Any] = {"json": kinded(value)}
    if isinstance(value, str):
        found["s"] = value
        if (when := moment(value)) is not None:
            found["t"] = (when - EPOCH) // MICROSECOND
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found["n"] = _whole(value)
    elif isinstance(value, list | tuple):
        found["l"] = [kinded(one) for one in value]
    if isinstance(value, list | tuple | dict):
        found["c"] = len(value)
    return found
