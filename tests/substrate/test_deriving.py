"""Rules derive facts: what is kept up to date is what the plain reading gives, and costs what has changed."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rpds import HashTrieMap

from beliefd.kernel.substrate import deriving
from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.paths import ABSENT, look_up, same
from beliefd.kernel.substrate.predicates import BY_VERSION
from beliefd.kernel.substrate.rule_reading import Clause
from beliefd.kernel.substrate.rulebook import KnownSchemas
from beliefd.testing.world import policy
from tests.substrate import strategies as some
from tests.substrate.deriving_naively import naive
from tests.substrate.support import when

many = settings(max_examples=300, deadline=None)
BASE = ("fact.a", "fact.b", "goal.x", "goal.y.z")
DERIVED = ("fact.p", "fact.q", "fact.r", "fact.s.t", "fact.u")
PATHS = (*BASE, *DERIVED, "fact.a.n", "goal.y.z.n", "fact.p.n", "fact.q.n", "fact.s.t.n.m", "fact.u.w")
LITERALS = {key: {"v": 1, "n": number} for number, key in enumerate(DERIVED)}

paths = st.sampled_from(PATHS)
bounds = st.sampled_from([0, 1, 1.5, *some.TIMES[:3]])
leaves = st.one_of(
    st.builds(when, st.sampled_from(["lt", "le", "gt", "ge"]), paths, bounds),
    st.builds(when, st.just("between"), paths, st.just(0), st.sampled_from([0, 1.0])),
    st.builds(when, st.sampled_from(["starts_with", "ends_with"]), paths, st.sampled_from(["", "a", "2026"])),
    st.builds(when, st.just("matches"), paths, st.sampled_from(["^a", "b$", "[0-9]+"])),
    st.builds(when, st.sampled_from(["subset", "intersects"]), paths, st.just([0, "a", "b"])),
    st.builds(when, st.just("count"), paths, st.sampled_from(["lt", "ge", "eq"]), st.integers(0, 2)),
    st.builds(when, st.sampled_from(["exists", "missing"]), paths),
    st.builds(lambda path, value: when("eq", path, value), paths, st.sampled_from([0, 1, 2, {"v": 1}])),
    st.builds(lambda path, value: when("in", path, value), paths, st.just([0, 1, "a"])),
    st.builds(lambda path: when("schema", path, "whole"), paths),
)
conditions = st.recursive(
    leaves,
    lambda inner: (
        st.builds(
            lambda op, args: when(op, *args), st.sampled_from(["all", "any"]), st.lists(inner, max_size=3)
        )
        | st.builds(lambda one: when("not", one), inner)
    ),
    max_leaves=4,
)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """Some have no order: then nothing is asked of them here."""
    made: dict[str, Any] = {}
    copying = {key: draw(st.booleans()) for key in DERIVED}
    for number in range(draw(st.integers(0, 7))):
        key = draw(st.sampled_from(DERIVED))
        value: Any = LITERALS[key]
        if copying[key]:
            if any(key in one["derive"] for one in made.values()):
                continue
            value = {"v": 1, "n": {"from": draw(paths)}, "w": [{"from": draw(paths)}]}
        made[f"rule.{number}"] = {"v": 1, "derive": {key: value}}
        if draw(st.integers(0, 3)):
            made[f"rule.{number}"]["when"] = draw(conditions)
    return made


NUMBERS = (0, 1, 2, "a", None, True)
held: tuple[Any, ...] = (*NUMBERS, 1.5, "ab", "2026-01-01T00:00:00Z", [], ["a"], [0, "b", "c"], {"m": 1})
values = st.fixed_dictionaries({"v": st.just(1), "n": st.sampled_from(held)})
changes = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(BASE), values, max_size=2),
        st.lists(st.sampled_from(BASE), max_size=2).map(tuple),
    ),
    max_size=6,
)


def rule_set(raw: dict[str, Any]) -> RuleSet:
    known = KnownSchemas(policy(schemas=some.SCHEMAS))
    return RuleSet(raw, known.fit, known)


class Kept:
    """A state whose derived facts are kept up to date, change by change."""

    def __init__(self, rules: RuleSet, base: dict[str, Any] | None = None) -> None:
        self.rules = rules
        self.values: HashTrieMap[str, Any] = HashTrieMap(base or {})
        self.held: HashTrieMap[str, Source] = HashTrieMap()
        self.size = 0
        self.take(rules.settle_anew(self.values, self.held, 0))

    def change(self, sets: dict[str, Any], removes: tuple[str, ...] = ()) -> deriving.Settled:
        for key in removes:
            self.values = self.values.discard(key)
        for key, value in sets.items():
            self.values = self.values.insert(key, value)
        done = self.rules.settle(self.values, self.held, self.size, (*removes, *sets))
        self.take(done)
        return done

    def take(self, done: deriving.Settled) -> None:
        for key in done.fell:
            self.values, self.held = self.values.discard(key), self.held.discard(key)
        for key, fact in done.set.items():
            self.values = self.values.insert(key, fact.value)
            self.held = self.held.insert(key, Source(fact.rule, fact.inputs))
        self.size = done.size

    @property
    def base(self) -> dict[str, Any]:
        return {key: value for key, value in self.values.items() if key not in self.held}

    @property
    def derived(self) -> dict[str, Any]:
        return {key: self.values[key] for key in self.held}


def test_all_operators_of_rules_are_drawn() -> None:
    """`age_over` reads the time, which no rule does."""
    drawn = set[str]()

    @many
    @given(conditions)
    def look(condition: dict[str, Any]) -> None:
        waiting = [condition]
        while waiting:
            one = waiting.pop()
            drawn.add(one["op"])
            waiting += [inner for inner in one["args"] if isinstance(inner, dict) and "op" in inner]

    look()
    assert drawn == {*BY_VERSION[max(BY_VERSION)]} - {"age_over"}


@many
@given(rules(), st.dictionaries(st.sampled_from(BASE), values), changes)
def test_kept_up_to_date_is_what_the_plain_reading_gives(
    raw: dict[str, Any], base: dict[str, Any], changes: list[Any]
) -> None:
    found = rule_set(raw)
    assume(not found.problems)
    kept = Kept(found, base)
    for sets, removes in [({}, ()), *changes]:
        kept.change(sets, tuple(one for one in removes if one not in sets))
        expected = naive(raw, kept.base, found.fits)
        assert kept.derived.keys() == expected.keys()
        assert all(same(kept.derived[key], expected[key]) for key in expected)
        # What it says of where facts come from is what working everything out afresh says, too.
        afresh = Kept(found, kept.base)
        assert dict(kept.held.items()) == dict(afresh.held.items())
        assert kept.size == afresh.size == sum(deriving.weight(*one) for one in kept.derived.items())
        assert all(raw[source.rule]["derive"].keys() >= {key} for key, source in kept.held.items())
        assert all(one in kept.values for source in kept.held.values() for one in source.inputs)


def fact(key: str, condition: Any = None, **value: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"v": 1, "derive": {key: {"v": 1, **value}}}
    return made if condition is None else {**made, "when": condition}


def test_derived_facts_go_with_what_they_rest_on() -> None:
    kept = Kept(
        rule_set(
            {
                "rule.large": fact("fact.large", when("exists", "fact.order"), n={"from": "fact.order.n"}),
                "rule.watch": fact("fact.watch", when("exists", "fact.large")),
                "rule.calm": fact("fact.calm", when("missing", "fact.watch")),
            }
        )
    )
    assert kept.derived == {"fact.calm": {"v": 1}}
    kept.change({"fact.order": {"v": 1, "n": 5}})
    assert kept.derived == {"fact.large": {"v": 1, "n": 5}, "fact.watch": {"v": 1}}
    assert kept.held["fact.large"] == Source("rule.large", ("fact.order",))
    kept.change({"fact.order": {"v": 1}})
    assert kept.derived == {"fact.calm": {"v": 1}}, "what it copies is gone, so it does not fire"
    kept.change({}, ("fact.order",))
    assert kept.derived == {"fact.calm": {"v": 1}}


def test_facts_that_hold_each_other_up_fall_together() -> None:
    raw = {
        "rule.1": fact("fact.p", when("any", when("exists", "fact.a"), when("exists", "fact.q"))),
        "rule.2": fact("fact.q", when("exists", "fact.p")),
    }
    kept = Kept(rule_set(raw))
    assert kept.derived == {}
    kept.change({"fact.a": {"v": 1}})
    assert kept.derived.keys() == {"fact.p", "fact.q"}
    kept.change({}, ("fact.a",))
    assert kept.derived == {}


NO_ORDER = {
    "itself, denied": {"rule.1": fact("fact.p", when("not", when("exists", "fact.p")))},
    "itself, missing": {"rule.1": fact("fact.p", when("missing", "fact.p.n"))},
    "two": {
        "rule.1": fact("fact.p", when("missing", "fact.q")),
        "rule.2": fact("fact.q", when("exists", "fact.p")),
    },
    "copied in a circle": {
        "rule.1": fact("fact.p", n={"from": "fact.q.n"}),
        "rule.2": fact("fact.q", n={"from": "fact.p.n"}),
    },
}


@pytest.mark.parametrize("name", NO_ORDER)
def test_rules_that_would_rest_on_themselves_are_refused_with_the_circle(name: str) -> None:
    found = rule_set(NO_ORDER[name])
    assert [one.rule for one in found.problems] == ["rule.1"]
    message = found.problems[0].message
    assert message.startswith("`fact.p` -> ")
    assert "-> `fact.p`: `fact.p` would rest on itself, by" in message
    assert found.problem is not None
    assert found.problem.code == "MALFORMED_RULE"
    assert Kept(found, {"fact.a": {"v": 1}}).derived == {}, "none of them is applied"


def test_the_circle_is_named_whole() -> None:
    found = rule_set(
        {
            "rule.1": fact("fact.p", when("exists", "fact.q")),
            "rule.2": fact("fact.q", when("exists", "fact.r")),
            "rule.3": fact("fact.r", when("not", when("eq", "fact.p.n", 1))),
        }
    )
    circle = "`fact.r` -> `fact.p` -> `fact.q` -> `fact.r`"
    assert found.problems[0].message == f"{circle}: `fact.r` would rest on itself, by `not`"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"rule.1": {"v": 2, "derive": {}}}, "`v` is not 1"),
        ({"rule.1": {"v": 1}}, "`derive` is not an object"),
        ({"rule.1": {"v": 1, "derive": {"fact.p": {"v": 1}}, "then": 1}}, "`then` is not a field of a rule"),
        ({"rule.1": []}, "it is not an object"),
        ({"constraint.1": fact("fact.p")}, "is not in `rule.*`"),
        ({"rule.1": fact("goal.p")}, "rules derive facts"),
        ({"rule.1": fact("fact.call.n")}, "never derived"),
        ({"rule.1": {"v": 1, "derive": {"fact.p": {"n": 1}}}}, "needs an object with a whole `v`"),
        ({"rule.1": {"v": 1, "derive": {"fact.p": {"from": "fact.a"}}}}, "needs an object with a whole `v`"),
        ({"rule.1": fact("fact.p", n={"from": 3})}, "is not a path"),
        ({"rule.1": fact("fact.p", n={"from": "call.args.n"})}, "is about a call"),
        ({"rule.1": fact("fact.p", when("exists", "fact.call.sinks"))}, "about a call"),
        ({"rule.1": fact("fact.p", when("eq", "fact.a"))}, "takes a path and a value"),
        ({"rule.1": fact("fact.p", when("schema", "fact.a", "nobody"))}, "no schema `nobody` is known"),
        ({"rule.1": fact("fact.p", n=1), "rule.2": fact("fact.p", n=2)}, "both derive `fact.p`"),
        (dict.fromkeys(("rule.1", "rule.2"), fact("fact.p", n={"from": "fact.a.n"})), "both derive `fact.p`"),
        ({"rule.1": fact("fact.p"), "rule.2": fact("fact.p.q")}, "would stand inside `fact.p`"),
    ],
)
def test_what_is_no_rule_is_refused_by_name(raw: dict[str, Any], said: str) -> None:
    assert said in rule_set(raw).problems[0].message


def test_two_rules_may_derive_the_same() -> None:
    raw = {
        "rule.1": fact("fact.p", when("exists", "fact.b"), n=1),
        "rule.2": fact("fact.p", when("exists", "fact.a"), n=1),
    }
    kept = Kept(rule_set(raw), {"fact.a": {"v": 1}})
    assert kept.held["fact.p"] == Source("rule.2", ("fact.a",))
    kept.change({"fact.b": {"v": 1}})
    assert kept.held["fact.p"] == Source("rule.1", ("fact.b",))
    kept.change({}, ("fact.b",))
    assert kept.held["fact.p"] == Source("rule.2", ("fact.a",))


COPY_OF_A = {"v": 1, "n": {"from": "fact.a.n"}}


@pytest.mark.parametrize(
    ("key", "value", "is_claimed"),
    [
        ("fact.s.t", {"v": 1}, True),
        ("fact.s.t.n", {"v": 1}, True),
        ("fact.s", {"v": 1, "t": 1}, True),
        ("fact.s", {"v": 1, "t.n": 1}, True),
        ("fact.s", {"v": 1, "n": {"t": 1}, "tt": 2}, False),
        ("fact.s", None, False),
        ("fact.st", {"v": 1}, False),
        ("fact.x", {"v": 1, "y": {"z": 1}}, True),
        ("fact.x", {"v": 1, "y": {"z.n": 1}}, True),
        ("fact.x", {"v": 1, "y.z": 1}, True),
        ("fact.x", {"v": 1, "y": {"zz": 1}}, False),
        ("fact.x.y", {"v": 1, "z": 1}, True),
        ("fact.x.y", {"v": 1, "yz": 1}, False),
    ],
)
def test_nobody_else_speaks_at_the_path_of_a_derived_fact(key: str, value: Any, is_claimed: bool) -> None:
    found = rule_set({"rule.1": fact("fact.s.t"), "rule.2": fact("fact.x.y.z")})
    assert (found.claimed(key, value) is not None) is is_claimed


@many
@given(some.values, st.sampled_from(["fact.a.b", "fact.a.b.c", "fact.a.n", "fact.a.value.c"]))
def test_what_is_claimed_is_what_can_be_read_there(value: dict[str, Any], key: str) -> None:
    """If anything below the path of a derived fact can be read from a value by hand, it is claimed."""
    claimed = rule_set({"rule.1": fact(key)}).claimed("fact.a", value) is not None
    below = [key, *(f"{key}.{more}" for more in ("b", "c", "n", "b.c", "c.n", "v"))]
    if any(look_up({"fact.a": value}, path) is not ABSENT for path in below):
        assert claimed


def test_other_rules_leave_nothing_of_the_old_ones() -> None:
    kept = Kept(rule_set({"rule.1": fact("fact.p"), "rule.2": fact("fact.q", n=1)}))
    kept.values = kept.values.insert("fact.s", {"v": 1, "t": 1})
    other = rule_set({"rule.2": fact("fact.q", n=1), "rule.3": fact("fact.s.t")})
    done = other.settle_anew(kept.values, kept.held, kept.size)
    assert done.fell == ["fact.p", "fact.s"], "what was by hand where a rule speaks now falls, too"
    assert done.set.keys() == {"fact.s.t"}, "what is as before is not told again"
    assert done.size == deriving.weight("fact.q", {"v": 1, "n": 1}) + deriving.weight("fact.s.t", {"v": 1})


def test_what_was_by_hand_and_is_derived_now_is_derived() -> None:
    done = rule_set({"rule.1": fact("fact.p", n=1)}).settle_anew(
        HashTrieMap({"fact.p": {"v": 1, "n": 1}}), HashTrieMap(), 0
    )
    assert done.fell == []
    assert done.set["fact.p"].rule == "rule.1"


def test_a_change_costs_what_it_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundred times as many rules, as many of them are asked."""
    asked: list[str] = []
    plain = Clause.fact

    def counted(self: Clause, *args: Any) -> Any:
        asked.append(self.rule)
        return plain(self, *args)

    monkeypatch.setattr(Clause, "fact", counted)

    def cost(many: int) -> int:
        pairs = [
            {
                f"rule.{n}.a": fact(f"fact.p{n}", n={"from": f"fact.a{n}.n"}),
                f"rule.{n}.b": fact(f"fact.q{n}", when("exists", f"fact.p{n}")),
            }
            for n in range(many)
        ]
        kept = Kept(rule_set({name: rule for pair in pairs for name, rule in pair.items()}))
        kept.change({f"fact.a{n}": {"v": 1, "n": 0} for n in range(many)})
        asked.clear()
        kept.change({"fact.a3": {"v": 1, "n": 1}})
        return len(asked)

    assert cost(5) == cost(500) == 2
