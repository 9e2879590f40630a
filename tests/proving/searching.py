"""Policies, calls and states at random, aimed at the edges of what policies tell apart: a search for calls
that refute what is proved. What a call comes to is asked of the evaluator, and nothing of the prover.

Two of three policies are about one path or two, and so is all that is tried under them.

    python -m tests.proving.searching --policies 2000 --first 0 --situations 300
"""

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.comparing import compare, moment
from beliefd.kernel.substrate.explaining import Explanation, explain_call, situated
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.modes import MODES
from beliefd.kernel.substrate.paths import is_ambiguous
from beliefd.kernel.substrate.predicates import Malformed, holds, parse
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rulebook import rule_set, rulebook
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.substrate.text_bounds import TextTooLong
from beliefd.kernel.values import Role, Tier
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.prover import Prover
from beliefd.protocol.proofs import Proof

TOOLS: Final = ("pay", "t.one", "t.two")
DRAFTS: Final = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
TIMES: Final = (
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000000Z",
    "2026-01-01T01:00:00+01:00",
    "2026-01-01T00:00:30Z",
    "2016-12-31T23:59:59Z",
    "0999-12-31T23:59:59Z",
    "9999-06-01T00:00:00Z",
)
ODD_TIMES: Final = (
    "2026-01-01 00:00:00Z",
    "2016-12-31T23:59:60Z",
    "2026-01-01t00:00Z",
    "2025-12-31T24:00:00Z",
    "2026-13-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
)
NUMBERS: Final = (
    0,
    1,
    -1,
    1.0,
    -0.0,
    0.5,
    1.5,
    2,
    3,
    2**53 - 1,
    1e21,
    -1e22,
    1.7976931348623157e308,
    5e-324,
    0.3,
)
TEXTS: Final = ("", "a", "ab", "b", "ba", "é", "e\u0301", "1", "true", *TIMES[:4], *ODD_TIMES)
PLAIN: Final = (None, True, False, *NUMBERS, *TEXTS)
DEEP: Final[tuple[Any, ...]] = (
    [],
    ["a"],
    ["a", "b"],
    [1],
    [1.0],
    [True],
    [[]],
    ["a", "a"],
    {},
    {"b": 1},
    {"v": 1},
    {"c": {"b": 1}},
    {"b.c": 1},
)
FACTS: Final = (
    "fact.a",
    "fact.a.b",
    "fact.a.v",
    "fact.a.b.c",
    "fact.a.t",
    "fact.b",
    "fact.b.t",
    "goal.x.n",
    "goal.x",
)
DERIVED: Final = ("fact.d", "fact.d.x", "fact.d.v", "fact.d.x.b", "fact.e", "fact.e.n")
ARGUMENTS: Final = (
    "call.args.n",
    "call.args.n",
    "call.args.m",
    "call.args.o",
    "call.args.o.k",
    "call.args",
    "call.args.a.b",
)
OF_CALL: Final = (
    "call.now",
    "call.now",
    "call.mode",
    "call.role",
    "call.tier",
    "call.agent_tier",
    "call.mutates",
    "call.tool_id",
    "call.agent_id",
    "call.confirmed",
    "call.v",
    "call.x",
    "call",
    "fact",
    "policy.mode",
    "policy.version",
    "policy.adopted_by",
    "fact.call.tier",
    "fact.call.nth",
    "fact.call",
)
COMPARISONS: Final = ("lt", "le", "gt", "ge")


class Some:
    """Everything that is drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.focused = seed % 3 != 0
        self.often = self.random.sample((*FACTS, *ARGUMENTS, *OF_CALL), 4)
        if self.focused:
            first = self.of(*self.of(FACTS, FACTS, ARGUMENTS, ARGUMENTS, OF_CALL))
            kin = [one for one in (*FACTS, *ARGUMENTS, "call.now") if one[:6] == first[:6]]
            self.often = [first, self.of(first, *kin, "call.now")]
        self.derives = self.random.random() < 0.3
        self.words = self.random.sample(PLAIN, 3 if self.focused else 6)
        self.bounds = self.random.sample(self.of(NUMBERS, TIMES), 2)
        if self.focused:
            self.words += [*self.bounds, self.of(*DEEP)]

    def of(self, *some: Any) -> Any:
        return self.random.choice(some)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, most: int, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(self.random.randint(0, most))]

    def path(self) -> str:
        if self.focused and self.chance(0.97):
            return str(self.of(*self.often))
        groups = [self.often] * 4 + [FACTS, ARGUMENTS, OF_CALL] + [DERIVED] * (3 * self.derives)
        return str(self.of(*self.of(*groups)))

    def value(self) -> Any:
        if self.focused and self.chance(0.8):
            return self.of(*self.words)
        return self.of(*self.of(self.words, self.words, PLAIN, NUMBERS, DEEP))

    def named(self, path: str) -> Any:
        """A value that has to do with a path."""
        fitting: dict[str, tuple[Any, ...]] = {
            "call.now": (*TIMES, *ODD_TIMES),
            "call.mode": MODES,
            "policy.mode": MODES,
            "call.role": tuple(one.value for one in Role),
            "call.tier": tuple(one.name for one in Tier),
            "call.agent_tier": tuple(one.name for one in Tier),
            "call.tool_id": TOOLS,
            "call.agent_id": ("agent://a", "x"),
        }
        return self.of(*fitting[path]) if path in fitting and self.chance(0.8) else self.value()

    def leaf(self, rules: bool = False) -> dict[str, Any]:
        path = self.path()
        if rules and path.startswith(("call", "fact.call")):
            path = self.of(*FACTS)
        op = self.of(
            "eq",
            "eq",
            "in",
            "exists",
            "missing",
            "schema",
            "compare",
            "compare",
            "between",
            "age_over",
            "starts_with",
            "ends_with",
            "matches",
            "subset",
            "intersects",
            "count",
            "count",
        )
        if op == "age_over" and rules:
            op = "exists"
        return (
            {"op": self.of(*COMPARISONS), "args": [path, self.bound()]}
            if op == "compare"
            else {"op": op, "args": [path, *self.arguments(op, path)]}
        )

    def arguments(self, op: str, path: str) -> list[Any]:
        if op == "between":
            of_times = not self.chance(0.5)
            some = TIMES if of_times else NUMBERS
            ends = [self.of(*some), self.of(*some)]
            return ends if compare("le", *ends) else ends[::-1]
        made: dict[str, Callable[[], list[Any]]] = {
            "eq": lambda: [self.named(path)],
            "in": lambda: [self.some(3, lambda: self.named(path))],
            "exists": list,
            "missing": list,
            "schema": lambda: [self.schema(2)],
            "age_over": lambda: [self.of(0, 0.3, 30, 1e9, 3e11, 1e308)],
            "starts_with": lambda: [self.of("", "a", "2026", "call")],
            "ends_with": lambda: [self.of("", "b", "Z", "e")],
            "matches": lambda: [self.of("", "^a", "b$", "[0-9]+", "^x|q{900}")],
            "subset": lambda: [self.some(3, lambda: self.of("a", "b", 1, True, [], 0.5))],
            "intersects": lambda: [self.some(3, lambda: self.of("a", "b", 1, True, [], 0.5))],
            "count": lambda: [self.of(*COMPARISONS, "eq"), self.of(0, 1, 2, 2.0, 3)],
        }
        return made[op]()

    def bound(self) -> Any:
        if self.focused and self.chance(0.9):
            return self.of(*self.bounds)
        return self.of(*self.of(NUMBERS, NUMBERS, TIMES))

    def schema(self, depth: int) -> Any:
        if self.chance(0.05) and depth < 2:
            return self.chance(0.5)
        found: dict[str, Any] = {}
        for word in self.random.sample(tuple(self.words_of(0)), self.random.randint(0, 2)):
            found[word] = self.words_of(depth)[word]()
        if self.chance(0.1):
            found["$schema"] = self.of(*DRAFTS)
        if self.chance(0.05):
            found |= {"$ref": "#/definitions/any", "definitions": {"any": self.of({}, {"type": "string"})}}
        return found

    def words_of(self, depth: int) -> dict[str, Callable[[], Any]]:
        types = ("string", "integer", "number", "boolean", "null", "array", "object")

        def inner() -> Any:
            return self.schema(depth - 1) if depth else {}

        return {
            "type": lambda: self.of(self.of(*types), self.random.sample(types, 2)),
            "enum": lambda: [self.value(), self.value()],
            "const": self.value,
            "minimum": lambda: self.of(*NUMBERS),
            "maximum": lambda: self.of(*NUMBERS),
            "exclusiveMinimum": lambda: self.of(0, 1, 0.5, True, False),
            "minLength": lambda: 1,
            "maxItems": lambda: 1,
            "pattern": lambda: self.of("^a", "Z$"),
            "not": inner,
            "anyOf": lambda: [inner(), inner()],
            "items": inner,
            "default": self.value,
            "required": lambda: [self.of("n", "k", "b")],
            "properties": lambda: {self.of("n", "k", "b", "v"): inner()},
        }

    def predicate(self, depth: int = 2, *, rules: bool = False) -> dict[str, Any]:
        if not depth or self.chance(0.4):
            return self.leaf(rules)

        def inner() -> dict[str, Any]:
            return self.predicate(depth - 1, rules=rules)

        op = self.of("all", "any", "not")
        return {"op": op, "args": [inner()] if op == "not" else self.some(3, inner)}

    def constraint(self) -> dict[str, Any]:
        subject = self.of(None, None, {"tool_id": self.of(*TOOLS)}, {"capability": self.of("net", "disk")})
        if self.focused and self.chance(0.9):
            return {"v": 2, "effect": "deny", "subject": None, "when": self.predicate(self.of(0, 0, 1))}
        effect = self.of("allow", "allow", "allow", "deny", "deny", "deny", "ask", "defer", "degrade")
        made: dict[str, Any] = {"v": self.of(1, 2, 2, 2), "effect": effect, "subject": subject}
        if effect in ("allow", "deny") and self.chance(0.2):
            made["on_fail"] = self.of("block", "ask", "defer", "degrade")
        if self.chance(0.75):
            made["when"] = self.predicate()
        return made

    def tiling(self) -> Iterator[dict[str, Any]]:
        """Denials that leave little: what is proved hangs on where exactly one ends and another begins."""
        first = self.leaf()
        for _ in range(self.random.randint(1, 3)):
            other = self.of(first, self.leaf(), self.leaf())
            yield self.of(other, {"op": "not", "args": [other]}, {"op": "not", "args": [other]})
        yield self.of(first, {"op": "not", "args": [first]}, {"op": "missing", "args": [first["args"][0]]})

    def arguments_schema(self) -> dict[str, Any]:
        named = ("n", "m", "o", "k", "a.b", "a")
        found: dict[str, Any] = {}
        if self.chance(0.7):
            found["properties"] = {self.of(*named): self.schema(1) for _ in range(self.random.randint(0, 3))}
            if self.chance(0.3):
                found["properties"]["o"] = {
                    "type": "object",
                    "properties": {"k": self.schema(1)},
                    **self.of({}, {"additionalProperties": False}, {"required": ["k"]}),
                }
        if self.chance(0.4):
            found["required"] = self.random.sample(named, self.random.randint(1, 2))
        if self.chance(0.3):
            found["additionalProperties"] = self.of(False, False, True, {"type": "string"})
        if self.chance(0.3):
            found |= self.of(
                {"type": "object"},
                {"title": "t"},
                {"minProperties": 1},
                {"enum": [{"n": 1}, {}]},
                {"patternProperties": {"^n": {}}},
                {"$id": "x:y"},
                {"const": {"n": 1}},
            )
        if self.chance(0.3):
            found["$schema"] = self.of(*DRAFTS)
        if self.chance(0.1):
            found |= {"$ref": "#/definitions/any", "definitions": {"any": self.of({}, {"required": ["n"]})}}
        return found

    def tool(self) -> dict[str, Any]:
        made: dict[str, Any] = {"schema": self.arguments_schema() if self.chance(0.6) else {}}
        if self.chance(0.3):
            made["network"] = self.chance(0.5)
        if self.chance(0.3):
            made["mutates"] = True
        if self.chance(0.3):
            made["capabilities"] = [self.of("net", "disk")]
        if self.chance(0.4):
            made["tier"] = self.of("READ_ONLY", "MODIFY", "DELETE", "PRIVILEGE")
        if self.chance(0.1):
            made["executor"] = "caller"
        return made

    def rule(self) -> dict[str, Any]:
        value = self.of(
            {"v": 1},
            {"v": 1, "x": self.value()},
            {"v": 2, "x": {"b": 1}},
            {"v": 1, "x": {"from": self.of(*FACTS)}},
            {"v": 1, "n": [{"from": self.of(*FACTS)}, "a"]},
        )
        made = {"v": 1, "derive": {self.of("fact.d", "fact.e"): value}}
        return {**made, "when": self.predicate(rules=True)} if self.chance(0.7) else made

    def policy(self) -> Policy:
        count = self.random.randint(1, 5)
        made: dict[str, Any] = {
            "constraints": {f"constraint.c{at}": self.constraint() for at in range(count)},
            "tools": {name: self.tool() for name in TOOLS if self.chance(0.4)},
        }
        made["constraints"]["constraint.z"] = {"v": 1, "effect": "allow", "subject": None}
        if self.focused and self.chance(0.7):
            deny = {"v": 2, "effect": "deny", "subject": None}
            for at, one in enumerate(self.tiling()):
                made["constraints"][f"constraint.c{at}"] = {**deny, "when": one}
        if self.derives:
            made["rules"] = {f"rule.r{at}": self.rule() for at in range(self.random.randint(1, 2))}
        more: dict[str, Callable[[], Any]] = {
            "approvals": lambda: {"tools_without_person": [self.of(*TOOLS)]},
            "tiers": lambda: {"tools": {self.of("t.*", "pay", "t.two"): self.of("MODIFY", "DELETE")}},
            "modes": lambda: {
                "rules": {self.of(*MODES): self.of({"mutating": False}, {"network": False}, {})}
            },
            "context": lambda: {},
            "arbitration": self.arbitration,
            "schemas": lambda: {"whole": {"type": "integer"}},
        }
        for name, make in more.items():
            if self.chance(0.05 if self.focused else 0.15):
                made[name] = make()
        return self.read(made)

    def arbitration(self) -> dict[str, Any]:
        return dict(
            self.of(
                {"failures": "first"}, {"constraints": 1}, {"meaning": 1}, {"meaning": 1, "failures": "first"}
            )
        )

    def read(self, made: dict[str, Any]) -> Policy:
        """What is no schema is none of a policy's."""
        for tool in made["tools"].values():
            try:
                Schema(tool["schema"])
            except BadSchema:
                tool["schema"] = {}
        return msgspec.convert(made, Policy)

    def changed(self, old: Policy) -> Policy:
        """The policy after an update: most is as it was."""
        made, other = msgspec.to_builtins(old), msgspec.to_builtins(self.policy())
        for _ in range(self.random.randint(1, 2)):
            what = self.of("constraints", "constraints", "constraints", "tools", "tools", "other")
            if what == "other":
                name = self.of("approvals", "tiers", "modes", "arbitration", "rules", "context")
                made.pop(name, None)
                made |= {name: other[name]} if name in other else {}
                continue
            name = self.of(*(made[what] or {"constraint.c0" if what == "constraints" else "pay": 0}))
            if what == "constraints" and self.chance(0.5) and isinstance(made[what].get(name), dict):
                made[what][name] = {**made[what][name], "when": self.near(made[what][name].get("when"))}
            elif other[what] and self.chance(0.6):
                made[what][name] = self.of(*other[what].values())
            else:
                made[what].pop(name, None)
        return self.read(made)

    def near(self, when: Any) -> Any:
        """A condition that is a little different."""
        if not isinstance(when, dict) or self.chance(0.1):
            return self.predicate()
        args = list(when["args"])
        if when["op"] in ("all", "any", "not") and args:
            at = self.random.randrange(len(args))
            changed = [*args[:at], self.near(args[at]), *args[at + 1 :]]
            return {
                "op": when["op"],
                "args": self.of(changed, list(reversed(args)) if when["op"] != "not" else args),
            }
        if when["op"] in COMPARISONS:
            return {"op": self.of(*COMPARISONS), "args": [args[0], self.of(args[1], self.bound())]}
        return self.of(self.leaf(), {"op": "not", "args": [when]})

    def question(self, policy: Policy) -> Guarantee:
        keys = [key for key in policy.constraints if not key.startswith("constraint.invariant")]
        of_constraints = ("fire", "matter", "conflict") if keys else ()
        kind = self.of("alone", "alone", "at_all", "at_all", "can", *of_constraints)
        if self.focused and self.chance(0.7):
            return Guarantee(never="at_all")
        if kind == "conflict":
            return Guarantee(
                never_conflict=(
                    self.of(*(keys or ["constraint.none"])),
                    self.of(*(keys or ["constraint.none"])),
                )
            )
        about: dict[str, Any] = {
            "role": self.of(*Role),
            "tool": self.of(*TOOLS, "zzz"),
            "capability": "net",
            "agent_tier": self.of(*(one.name for one in Tier)),
            "mode": self.of(*MODES),
            "when": self.predicate(),
        }
        if not is_readable(about["when"]):
            del about["when"]
        named = {name: one for name, one in about.items() if self.chance(0.25)}
        said = {
            "alone": {"never": "without_person"},
            "at_all": {"never": "at_all"},
            "can": {"can": "pass"},
            "fire": {"constraint": self.of(*(keys or ["constraint.none"])), self.of("never", "can"): "fire"},
            "matter": {"constraint": self.of(*(keys or ["constraint.none"])), "never": "matter"},
        }
        return Guarantee(**named, **said[kind])


class Pool:
    """Values to fill calls and states with: what policies name, and what lies right beside it."""

    def __init__(self, some: Some, *policies: Policy) -> None:
        self.some = some
        self.values: dict[bytes, Any] = {}
        for one in (*PLAIN, *DEEP):
            self._add(one)
        self.named: dict[bytes, Any] = {}
        for policy in policies:
            raw = msgspec.to_builtins((policy.constraints, policy.tools, policy.rules or {}))
            for literal in literals(raw):
                for one in beside(literal):
                    self._add(one, self.named)
        self.all, self.own = list(self.values.values()), list(self.named.values()) or [1]

    def _add(self, value: Any, to: dict[bytes, Any] | None = None) -> None:
        try:
            (self.values if to is None else to)[canonical([type(value).__name__, value])] = value
        except NotCanonical:
            return

    def value(self) -> Any:
        return self.some.of(*self.own) if self.some.chance(0.7) else self.some.of(*self.all)

    def now(self) -> str:
        named = [one for one in self.own if isinstance(one, str) and moment(one, wide=False) is not None]
        times = [*(named or TIMES), *TIMES]
        fitting = (one for one in times if one[:4] >= "0002" and one[:7] < "9999-07" and len(one) <= 40)
        return str(self.some.of(*fitting))

    def fields(self, *names: str) -> dict[str, Any]:
        return {name: self.value() for name in names if self.some.chance(0.4)}

    def state(self) -> dict[str, Any]:
        keys = ("fact.a", "fact.a.b", "fact.b", "goal.x", "fact.d", "fact.e")
        found: dict[str, Any] = {}
        if self.some.focused and self.some.chance(0.9):
            for path in self.some.often:
                if path.startswith(("fact.", "goal.")) and self.some.chance(0.8):
                    key, fields = ".".join(path.split(".")[:2]), path.split(".")[2:]
                    held = found.get(key, {"v": 1, **self.fields(*"xy"[: self.some.of(0, 0, 1, 2)])})
                    found[key] = placed(held, fields, self.value())
            return found
        for key in keys:
            if self.some.chance(0.35):
                found[key] = {"v": self.some.of(1, 1, 1, 2, 7), **self.fields("b", "t", "n", "c", "x", "b.c")}
        whole = [
            one for one in self.own if isinstance(one, dict) and type(one.get("v")) is int and one["v"] > 0
        ]
        if whole and self.some.chance(0.3):
            found[self.some.of(*keys)] = self.some.of(*whole)
        return found

    def args(self) -> dict[str, Any]:
        objects = [one for one in self.own if isinstance(one, dict)]
        if objects and self.some.chance(0.1):
            return dict(self.some.of(*objects))
        if self.some.focused and self.some.chance(0.9):
            made: dict[str, Any] = {}
            for path in self.some.often:
                if path.startswith("call.args.") and self.some.chance(0.8):
                    made = placed(made, path.split(".")[2:], self.value())
            return made
        found = self.fields("n", "m", "o", "k", "a", "a.b", "b")
        if self.some.chance(0.3):
            found[self.some.of("o", "a")] = self.fields("k", "b", "x")
        return found

    def call(self, asked: Guarantee | None) -> Question:
        of, chance = self.some.of, self.some.chance
        made: dict[str, Any] = {
            "tool_id": of(*TOOLS, *TOOLS, "zzz", "t.", "a"),
            "args": self.args(),
            "tier": of("PRIVILEGE", "PRIVILEGE", *(one.name for one in Tier)),
            "role": of(*Role),
            "mode": of("normal", *MODES),
            "now": self.now(),
        }
        if chance(0.2):
            made["agent_id"] = of("agent://a", "x", "agent")
        if chance(0.3):
            made["definition"] = {
                "capabilities": self.some.some(2, lambda: of("net", "disk")),
                "tier": of("READ_ONLY", "MODIFY", "DELETE"),
                "mutates": chance(0.3),
                **of({}, {"network": True}, {"network": False}),
            }
        if chance(0.15):
            made["hosts"] = ["example.org"]
        if chance(0.3):
            made["facts"] = {
                "tool_id": made["tool_id"],
                "tier": "read",
                "action": "read",
                "hard": chance(0.5),
                "intended": True,
                "nth": of(0, 1, 2),
            }
        for name in ("tool", "role", "mode", "agent_tier"):
            if asked is not None and getattr(asked, name) is not UNSET:
                made[{"tool": "tool_id", "agent_tier": "tier"}.get(name, name)] = getattr(asked, name)
        return msgspec.convert(made, Question)


def is_readable(when: dict[str, Any]) -> bool:
    try:
        parse(when)
    except Malformed:
        return False
    return True


def placed(held: Any, fields: list[str], value: Any) -> Any:
    """An object with one more field; a whole value stays an object with a version."""
    if not fields:
        return {**held, **value} if isinstance(value, dict) else held
    below = held.get(fields[0]) if isinstance(held, dict) else None
    inner = value if not fields[1:] else placed(below if isinstance(below, dict) else {}, fields[1:], value)
    return {**(held if isinstance(held, dict) else {}), fields[0]: inner}


def literals(raw: Any) -> Iterator[Any]:
    yield raw
    if isinstance(raw, dict | list | tuple):
        for one in raw.values() if isinstance(raw, dict) else raw:
            yield from literals(one)


def beside(value: Any) -> Iterator[Any]:
    """The value, and those that are easily taken for it or lie next to it."""
    if isinstance(value, dict | list | tuple):
        if len(canonical(value)) < 80 and not (isinstance(value, dict) and "op" in value):
            yield from (value, [*value][:-1], [*value, *value], [value])
        return
    yield value
    if isinstance(value, bool):
        yield from (int(value), not value)
    elif isinstance(value, int | float):
        yield from (value - 1, value + 1, -value, value == 1, str(value), [value])
        near = float(value)
        yield from (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
        if near.is_integer() and abs(near) < 2**53:
            yield int(near)
    elif isinstance(value, str) and (found := moment(value)) is not None and 1 < found.year < 9998:
        for step in (-30, -0.3, -1e-6, 1e-6, 0.3, 30, 31):
            plain = (found + timedelta(seconds=step)).isoformat()
            yield from (plain, plain.replace("T", " "))
    elif isinstance(value, str) and len(value) < 30:
        yield from (f"{value}a", f"a{value}", value[:-1], [value], [value, "~"])


def has_version(state: dict[str, Any]) -> bool:
    return all(type(one.get("v")) is int and one["v"] > 0 for one in state.values())


class Found(Struct, frozen=True):
    """A call on a state, and what is wrong about what was said of it."""

    seed: int
    asked: Guarantee
    proof: Proof
    call: Question | None
    state: dict[str, Any]


class World:
    """One policy, or two, asked by the evaluator alone."""

    def __init__(self, new: Policy, old: Policy | None = None) -> None:
        self.new, self.old = new, old
        self.hashes = {id(one): policy_hash(one) for one in (new, old) if one is not None}
        self.schemas = {
            id(one): {name: Schema(tool.schema) for name, tool in one.tools.items()}
            for one in (new, old)
            if one
        }
        read = set[str]()
        for one in (new, old):
            if one is not None:
                read |= {
                    path for rule in rulebook(one, self.hashes[id(one)]).constraints for path in rule.deep
                }
                read |= {
                    path for paths in rule_set(one, self.hashes[id(one)]).deep.values() for path in paths
                }
        self.deep = [path for path in read if not path.startswith("call.")]

    def is_state(self, state: dict[str, Any]) -> bool:
        """The kernel refuses to write what makes a path ambiguous that is read."""
        return not any(is_ambiguous(state, path) for path in self.deep)

    def said(self, policy: Policy, call: Question, state: dict[str, Any]) -> Explanation:
        schema = self.schemas[id(policy)].get(call.tool_id)
        errors = () if schema is None else schema.errors(call.args)
        return explain_call(policy, self.hashes[id(policy)], state, call, errors)

    def is_about(self, asked: Guarantee, call: Question, state: dict[str, Any]) -> bool:
        wanted = {"tool": call.tool_id, "role": call.role, "mode": call.mode, "agent_tier": call.tier}
        if any(getattr(asked, name) not in (UNSET, one) for name, one in wanted.items()):
            return False
        shadow = self.new
        if asked.when is not UNSET:
            # What a constraint with that condition would read.
            asking = {"v": 2, "effect": "deny", "subject": None, "when": asked.when}
            shadow = replace(shadow, constraints={**shadow.constraints, "constraint.asked": asking})
        setting = situated(shadow, policy_hash(shadow), state, call)
        if asked.capability is not UNSET and asked.capability not in setting.action.capabilities:
            return False
        if asked.when is UNSET:
            return True
        known = setting.action.known(setting.situation.state)
        try:
            return holds(parse(asked.when), known, rulebook(self.new, self.hashes[id(self.new)]).fits)
        except TextTooLong:
            return False

    def happens(self, asked: Guarantee, call: Question, state: dict[str, Any]) -> bool:
        """Does the call show what the question is about?"""
        if asked.update is not UNSET:
            assert self.old is not None
            before, after = (self.said(one, call, state).verdict for one in (self.old, self.new))
            worse = before != "allow" if asked.update == "permits_nothing_new" else before == "deny"
            return (after == "allow" and before != "allow") or (
                worse and after not in ("deny",) and asked.update == "loosens_nothing"
            )
        if not self.is_about(asked, call, state):
            return False
        found = self.said(self.new, call, state)
        if asked.never_conflict is not UNSET:
            return self._conflict(asked.never_conflict, found)
        if asked.constraint is UNSET:
            return found.verdict == "allow" or (asked.never == "at_all" and found.verdict == "defer")
        if "fire" in (asked.never, asked.can):
            return self._fires(asked.constraint, found)
        kept = {key: raw for key, raw in self.new.constraints.items() if key != asked.constraint}
        rest = World(replace(self.new, constraints=kept))
        return rest.said(rest.new, call, state).verdict != found.verdict

    def _reads(self, found: Explanation) -> bool:
        return all(one.constraint is not None or one.code == "NO_ALLOW" for one in found.reasons)

    def _fires(self, key: str, found: Explanation) -> bool:
        one = self._constraint(key)
        if one.effect == "allow" and one.malformed is None:
            return self._reads(found) and key in found.allowed_by
        return any(reason.constraint == key for reason in found.reasons)

    def _constraint(self, key: str) -> Any:
        return next(
            one for one in rulebook(self.new, self.hashes[id(self.new)]).constraints if one.key == key
        )

    def _conflict(self, keys: tuple[str, str], found: Explanation) -> bool:
        lets = [self._reads(found) and key in found.allowed_by for key in keys]
        stands = [any(reason.constraint == key for reason in found.reasons) for key in keys]
        effects = {self._constraint(key).on_fail for key in keys}
        return (lets[0] and stands[1]) or (lets[1] and stands[0]) or (all(stands) and len(effects) > 1)


def searched(seed: int, situations: int, said: Counter[str], seconds: float = 20) -> Iterator[Found]:
    """What is wrong about the answers on one random policy and one random update of it."""
    some = Some(seed)
    old = some.policy()
    new = some.changed(old)
    questions = [some.question(new) for _ in range(2)]
    questions.append(Guarantee(update=some.of("permits_nothing_new", "loosens_nothing")))
    prover, pool = Prover(new, old, seconds), Pool(some, new, old)
    for asked in questions:
        world = World(new, old)
        proof = prover.answer(asked, questions)
        kind = "update" if asked.update is not UNSET else "policy"
        said[f"{kind} {proof.answer}"] += 1
        if proof.answer == "cannot_say":
            said[f"  {kind}: {proof.why[:60]}"] += 1
        if proof.call is not None:
            call = msgspec.convert(proof.call.call, Question)
            if not world.happens(asked, call, proof.call.state):
                yield Found(seed, asked, proof, call, proof.call.state)
        nothing = ("proved", "refuted") if asked.can is UNSET else ("refuted",)
        if proof.answer not in nothing or proof.call is not None:
            continue
        for _ in range(situations):
            call, state = pool.call(asked), pool.state()
            if has_version(state) and world.is_state(state) and world.happens(asked, call, state):
                yield Found(seed, asked, proof, call, state)
                break


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--policies", type=int, default=100)
    asked.add_argument("--first", type=int, default=0)
    asked.add_argument("--situations", type=int, default=300)
    given = asked.parse_args()
    said, wrong, began = Counter[str](), 0, time.process_time()
    for seed in range(given.first, given.first + given.policies):
        try:
            for found in searched(seed, given.situations, said):
                wrong += 1
                sys.stdout.write(f"{found}\n")
        except KeyboardInterrupt:
            break
        except Exception as error:
            wrong += 1
            sys.stdout.write(f"seed {seed}: {type(error).__name__}: {error}\n")
    took = time.process_time() - began
    counts = "\n".join(f"{count:6} {name}" for name, count in said.most_common(40))
    sys.stdout.write(f"{counts}\nto seed {seed}: {wrong} wrong, {took:.1f} s of processor time\n")


if __name__ == "__main__":
    main()
