"""What the documentation says is what is decided: a second reading of it, on random policies and calls."""

import random
from typing import Any

import cedarpy
import msgspec
import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Action
from beliefd.kernel.substrate.explaining import explain_call, situated
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.cedar import Beyond, entities, exported, request
from beliefd.policy.proving.prover import Prover
from tests.substrate import by_the_docs

TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:01:00Z", "2026-13-01T00:00:00Z")
NOW = "2026-01-01T00:00:40Z"
SCALARS = (None, True, False, 0, 1, 1.0, 2, -0.5, "1", "a", "ab", "", *TIMES)
KEYS = ("fact.a", "fact.a.b", "fact.b", "goal.x", "goal.x.y")
DERIVED = ("fact.p", "fact.q", "fact.r")
PATHS = (*KEYS, *DERIVED, "fact.a.b.c", "fact.b.n", "goal.x.y.n", "fact.p.n", "fact.q.n.b", "call.args.n")
OF_CALL = ("call.args.n.b", "call.args.b", "call.tool_id")
SCHEMAS = {"whole": {"type": "integer"}, "thing": {"type": "object"}}
TOOLS = ("t.one", "t.two")
Drawn = random.Random


def value(draw: Drawn, depth: int = 2) -> Any:
    kind = draw.random()
    if depth and kind < 0.15:
        return [value(draw, depth - 1) for _ in range(draw.randrange(3))]
    if depth and kind < 0.35:
        names = draw.sample(["b", "c", "n", "b.c"], draw.randrange(3))
        return {name: value(draw, depth - 1) for name in names}
    return draw.choice(SCALARS)


def leaf(draw: Drawn, paths: tuple[str, ...], version: int) -> dict[str, Any]:
    known = by_the_docs.OF_VERSION_1[3:] + (by_the_docs.OF_VERSION_2 if version == 2 else ())
    # Rules read neither the call nor the time.
    op = draw.choice([one for one in known if one != "age_over" or paths[-1] == OF_CALL[-1]])
    given: dict[str, list[Any]] = {
        "eq": [value(draw)],
        "in": [[value(draw) for _ in range(3)]],
        "exists": [],
        "missing": [],
        "schema": [draw.choice(["whole", "thing", {"type": "array"}, {"required": ["n"]}])],
        "between": draw.choice([[0, 1.5], [TIMES[0], TIMES[2]]]),
        "age_over": [draw.choice([0, 30, 60])],
        "starts_with": [draw.choice(["", "a", "2026"])],
        "ends_with": [draw.choice(["", "b", "Z"])],
        "matches": [draw.choice(["", "^a", "b$", "[0-9]+", "^(a|ab)*$"])],
        "subset": [[value(draw, 1) for _ in range(3)]],
        "intersects": [[value(draw, 1) for _ in range(3)]],
        "count": [draw.choice(["lt", "le", "gt", "ge", "eq"]), draw.randrange(3)],
    }
    rest = given.get(op, [draw.choice([0, 1, 1.5, *TIMES[:3]])])
    return {"op": op, "args": [draw.choice(paths), *rest]}


def condition(draw: Drawn, paths: tuple[str, ...], version: int, depth: int = 2) -> dict[str, Any]:
    kind = draw.random()
    if depth and kind < 0.25:
        inner = [condition(draw, paths, version, depth - 1) for _ in range(draw.randrange(4))]
        return {"op": draw.choice(["all", "any"]), "args": inner}
    if depth and kind < 0.35:
        return {"op": "not", "args": [condition(draw, paths, version, depth - 1)]}
    return leaf(draw, paths, version)


def constraint(draw: Drawn) -> dict[str, Any]:
    version = draw.choice([1, 2])
    subjects = [None, *({"tool_id": name} for name in TOOLS), {"capability": "net"}]
    made: dict[str, Any] = {"v": version, "subject": draw.choice(subjects)}
    made["effect"] = draw.choice(["allow", "allow", "deny"] + ["ask", "defer", "degrade"] * (version == 2))
    if made["effect"] in ("allow", "deny") and draw.random() < 0.7:
        made["on_fail"] = draw.choice(["block", "ask", "defer", "degrade"])
    if draw.random() < 0.7:
        made["when"] = condition(draw, PATHS + OF_CALL, version)
    return spoilt(draw, made) if draw.random() < 0.04 else made


def spoilt(draw: Drawn, made: dict[str, Any]) -> dict[str, Any]:
    ways: list[dict[str, Any]] = [
        {"effect": "ask", "v": 1},
        {"when": {"op": "gt", "args": ["fact.a", 1]}, "v": 1, "effect": "deny"},
        {"when": {"op": "xor", "args": []}},
        {"when": {"op": "not", "args": []}},
        {"effect": "ask", "on_fail": "ask", "v": 2},
    ]
    return made | draw.choice(ways)


def rules(draw: Drawn) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for at, key in enumerate(DERIVED[: draw.randrange(4)]):
        seen = (*KEYS, "fact.a.b.c", "fact.b.n", *DERIVED[:at], *(f"{one}.n" for one in DERIVED[:at]))
        own: Any = {"from": draw.choice(seen)} if draw.random() < 0.6 else draw.choice([0, 1, "a"])
        made[f"rule.{at}"] = {"v": 1, "derive": {key: {"v": 1, "n": own}}}
        if draw.random() < 0.7:
            made[f"rule.{at}"]["when"] = condition(draw, seen, 2, 1)
    return made


def document(draw: Drawn) -> dict[str, Any]:
    names = draw.sample("abcdefgh", draw.randrange(1, 6))
    made = {f"constraint.{name}": constraint(draw) for name in names}
    if draw.random() < 0.6:  # so that not most of it is denied because nothing allows it
        made["constraint.z"] = {"v": 1, "effect": "allow", "subject": None}
    return {
        "constraints": made,
        "rules": rules(draw),
        "schemas": SCHEMAS,
        "tools": {"t.two": {"capabilities": ["net"]}},
    }


def situation(draw: Drawn) -> tuple[dict[str, Any], dict[str, Any]]:
    state = {
        key: {
            "v": 1,
            **{name: value(draw) for name in draw.sample(["b", "n", "c", "b.c"], draw.randrange(4))},
        }
        for key in draw.sample(KEYS, draw.randrange(5))
    }
    args = {name: value(draw) for name in draw.sample(["n", "b", "n.b"], draw.randrange(4))}
    return state, {"tool_id": draw.choice((*TOOLS, "other")), "args": args, "now": NOW}


def told(policy: Policy, state: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    found = explain_call(policy, policy_hash(policy), state, msgspec.convert(call, Question))
    against = {(one.constraint, one.code) for one in found.reasons if one.constraint is not None}
    return {
        "verdict": found.verdict,
        "on_fail": found.on_fail,
        "reason_code": found.reason_code,
        "against": against,
    }


def by_index(index: ConstraintIndex, state: dict[str, Any], call: dict[str, Any], tools: Any) -> set[Any]:
    """What stands in the way, with the state taken in key by key."""
    truths, held = index.truths({}), dict[str, Any]()
    for key, one in state.items():
        held = {**held, key: one}
        truths = truths.after(held, [key])
    needed = tuple(tools.get(call["tool_id"], {}).get("capabilities", ()))
    action = Action(call["tool_id"], needed, call["args"], {"now": call["now"]})
    return {(one.constraint.key, one.code) for one in truths.judge(held, action).failures}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_documented_is_what_is_decided(seed: int) -> None:
    draw = random.Random(seed)  # the same policies every time
    for _ in range(15):
        raw = document(draw)
        policy = msgspec.convert(raw, Policy)
        index = rulebook(policy, policy_hash(policy))
        for _ in range(4):
            state, call = situation(draw)
            expected = by_the_docs.decide(raw, state, call)
            assert told(policy, state, call) == expected, (raw, state, call)
            if not raw["rules"]:
                assert by_index(index, state, call, raw["tools"]) == expected["against"], (raw, state, call)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_documented_is_what_is_proved(seed: int) -> None:
    draw = random.Random(1_000 + seed)  # the same policies every time
    raw = document(draw)
    alone = Guarantee(tool="t.one", never="without_person")
    proof = Prover(msgspec.convert(raw, Policy)).answer(alone)
    if proof.answer == "counterexample":
        assert proof.call is not None
        asked = {"args": {}, "now": NOW, **proof.call.call}
        assert by_the_docs.decide(raw, proof.call.state, asked)["verdict"] == "allow", proof
    for _ in range(200):
        state, call = situation(draw)
        allowed = by_the_docs.decide(raw, state, {**call, "tool_id": "t.one"})["verdict"] == "allow"
        assert not (allowed and proof.answer == "proved"), (raw, state, call)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_documented_is_what_cedar_says_of_what_is_exported(seed: int) -> None:
    draw = random.Random(2_000 + seed)  # the same policies every time
    compared = 0
    for _ in range(5):
        raw = {**document(draw), "rules": {}}
        found = exported(msgspec.convert(raw, Policy))
        raw["constraints"] = {
            key: one for key, one in raw["constraints"].items() if key not in found.left_out
        }
        policy = msgspec.convert(raw, Policy)
        for _ in range(4):
            state, call = situation(draw)
            if raw["tools"].get(call["tool_id"]):
                call["args"] = {}  # they are as the tool's schema says, of which nothing is exported
            asked = msgspec.convert(call, Question)
            action = situated(policy, policy_hash(policy), state, asked).action
            try:
                given = request(policy, state, action, (asked.tier, action.context["tier"]))
            except Beyond:
                continue
            answer = cedarpy.is_authorized(given, found.text, entities(action))
            ours = by_the_docs.decide(raw, state, call)
            assert not answer.diagnostics.errors
            assert answer.allowed == (ours["verdict"] == "allow"), (raw, state, call, found.text)
            compared += 1
    assert compared
