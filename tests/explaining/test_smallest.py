"""The smallest change: it passes, and no smaller one does."""

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.paths import ABSENT
from beliefd.kernel.substrate.proposals import Patch
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Role
from beliefd.policy.explaining.answering import explained
from beliefd.policy.explaining.changing import Target, changed
from beliefd.policy.explaining.searching import smallest
from beliefd.policy.explaining.trials import Trial, call_trial, delta_trial, somebody
from beliefd.testing.world import policy
from tests.substrate.kernel import NOW
from tests.substrate.support import when

PATHS = ("call.args.n", "call.args.m", "fact.a.n", "goal.g.n")
DOMAIN: tuple[Any, ...] = (ABSENT, 0, 1, 2, 3, True, "a", "b")
"""Every way in which the conditions below can come out is shown by one of these."""

leaves = st.one_of(
    st.builds(when, st.just("eq"), st.sampled_from(PATHS), st.sampled_from([1, 2, True, "a"])),
    st.builds(when, st.just("in"), st.sampled_from(PATHS), st.sampled_from([[1, 2], ["a", "b"], []])),
    st.builds(when, st.sampled_from(["exists", "missing"]), st.sampled_from(PATHS)),
    st.builds(
        when, st.sampled_from(["lt", "le", "gt", "ge"]), st.sampled_from(PATHS), st.sampled_from([1, 2])
    ),
    st.builds(when, st.just("starts_with"), st.sampled_from(PATHS), st.just("a")),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda op, args: when(op, *args), st.sampled_from(["all", "any"]), st.lists(inner, max_size=3)
        ),
        st.builds(lambda one: when("not", one), inner),
    ),
    max_leaves=4,
)
constraints = st.lists(
    st.builds(
        lambda effect, condition: {"v": 2, "effect": effect, "subject": None, "when": condition},
        st.sampled_from(["allow", "deny", "ask", "defer"]),
        st.none() | conditions,
    ),
    max_size=3,
)
held = st.sampled_from([0, 1, 2, True, "a", "b"])
args = st.dictionaries(st.sampled_from(["n", "m"]), held, max_size=2)
states = st.dictionaries(st.sampled_from(["fact.a", "goal.g"]), held.map(lambda one: {"v": 1, "n": one}))


def rules(items: list[dict[str, Any]]) -> Policy:
    return policy(constraints={f"constraint.c{number}": one for number, one in enumerate(items)})


def target(path: str) -> Target:
    return Target("argument" if path.startswith("call.") else "state", path)


def passing(trial: Trial, size: int) -> bool:
    """Does any change of so many values pass? By trying them all."""
    for paths in combinations(PATHS, size):
        for values in product(DOMAIN, repeat=size):
            tried = (trial.state, trial.candidate)
            for path, value in zip(paths, values, strict=True):
                after = changed(target(path), value, tried)
                if after is None:
                    break
                tried = after
            else:
                if trial.judge(*tried).verdict == "allow":
                    return True
    return False


@settings(max_examples=60)
@given(items=constraints, given_args=args, state=states)
def test_what_is_found_passes_and_nothing_smaller_does(
    items: list[dict[str, Any]], given_args: dict[str, Any], state: dict[str, Any]
) -> None:
    trial = call_trial(rules(items), state, Question(tool_id="t", args=given_args), now=NOW)
    if trial.ruling().verdict == "allow":
        return
    found = smallest(trial, most=2)
    if found.changes is None:
        assert not passing(trial, 1)
        assert found.whole is False or not passing(trial, 2)
        return
    tried = (trial.state, trial.candidate)
    for one, value in found.changes:
        after = changed(one, value, tried)
        assert after is not None
        tried = after
    assert trial.judge(*tried).verdict == "allow"
    assert not any(passing(trial, size) for size in range(1, len(found.changes)))


def told(
    items: list[dict[str, Any]], question: Question, state: dict[str, Any] | None = None, **more: Any
) -> Any:
    given_policy = policy(constraints=rules(items).constraints, **more)
    return explained(call_trial(given_policy, state or {}, question, now=NOW))


ALLOW = {"v": 1, "effect": "allow", "subject": None}


def test_an_argument_is_changed_as_little_as_can_be() -> None:
    large = {
        "v": 2,
        "effect": "ask",
        "subject": {"tool_id": "pay"},
        "when": when("gt", "call.args.amount", 100),
    }
    answer = told([ALLOW, large], Question(tool_id="pay", args={"amount": 250, "to": "ana"}))
    assert (answer.verdict, answer.remedy.person) == ("defer", True)
    (change,) = answer.remedy.changes
    assert (change.where, change.path, change.now, change.then) == ("argument", "call.args.amount", 250, 100)
    assert answer.remedy.words.endswith("; or a person must approve")


def test_two_rules_that_pull_apart_are_both_kept() -> None:
    """What the first rule asks for, the second forbids alone: both values must change."""
    first = {"v": 1, "effect": "deny", "subject": None, "when": when("missing", "fact.a.n")}
    second = {
        "v": 1,
        "effect": "deny",
        "subject": None,
        "when": when("all", when("exists", "fact.a.n"), when("missing", "fact.b.n")),
    }
    answer = told([ALLOW, first, second], Question(tool_id="t"))
    assert {change.path for change in answer.remedy.changes} == {"fact.a.n", "fact.b.n"}
    assert all(change.by == ("encoder", "tool") for change in answer.remedy.changes)


@pytest.mark.parametrize(
    ("items", "tools", "words"),
    [
        ([], {}, "nothing you can change: the policy must change"),
        (
            [{"v": 1, "effect": "deny", "subject": None}, ALLOW],
            {},
            "nothing you can change: the policy must change",
        ),
        (
            [ALLOW, {"v": 2, "effect": "ask", "subject": None}],
            {},
            "a person must approve",
        ),
        ([ALLOW], {"t": {"tier": "DELETE"}}, "a person must approve"),
        (
            [ALLOW, {"v": 1, "effect": "deny", "subject": None, "when": when("eq", "call.role", "agent")}],
            {},
            "nothing you can change: the policy must change",
        ),
    ],
)
def test_where_no_value_helps_it_is_said_who_can(items: list[Any], tools: Any, words: str) -> None:
    answer = told(items, Question(tool_id="t"), tools=tools)
    assert (answer.remedy.words, answer.remedy.changes, answer.remedy.searched) == (words, (), "all")


def test_a_pattern_that_no_text_was_found_for_is_no_reason_to_say_never() -> None:
    item = {**ALLOW, "v": 2, "when": when("matches", "call.args.to", "^[a-f]{3}[0-9]+$")}
    answer = told([item], Question(tool_id="t", args={"to": "x"}))
    assert (answer.remedy.searched, answer.remedy.changes) == ("part", ())
    assert answer.remedy.words.startswith("no change was found in ")


def test_a_schema_of_the_tool_is_kept_to() -> None:
    """What a rule would let pass and the tool does not take is no answer."""
    item = {"v": 1, "effect": "deny", "subject": None, "when": when("eq", "call.args.level", 3)}
    schema = {"type": "object", "properties": {"level": {"enum": [2, 3]}}, "required": ["level"]}
    answer = told([ALLOW, item], Question(tool_id="t", args={"level": 3}), tools={"t": {"schema": schema}})
    assert [one.then for one in answer.remedy.changes] == [2]


def test_the_search_ends_and_says_so() -> None:
    many = [
        {
            "v": 1,
            "effect": "deny",
            "subject": None,
            "when": when("any", *(when("missing", f"fact.k{number}.n") for number in range(12))),
        }
    ]
    found = smallest(call_trial(rules([ALLOW, *many]), {}, Question(tool_id="t"), now=NOW), budget=50)
    assert (found.changes, found.whole, found.judged) == (None, False, 50)


def test_a_change_of_the_state_is_explained_like_a_call() -> None:
    invariant = {"v": 1, "effect": "deny", "subject": None, "when": when("eq", "fact.a.n", 9)}
    given_policy = policy(constraints={"constraint.may": ALLOW, "constraint.invariant.nine": invariant})
    patch = Patch(set={"fact.a": {"v": 1, "n": 9}})
    answer = explained(delta_trial(given_policy, {}, patch, somebody(Role.ENCODER), now=NOW))
    assert (answer.verdict, answer.reasons[0].code) == ("deny", "INVARIANT_BROKEN")
    assert answer.remedy is not None
    (change,) = answer.remedy.changes
    assert (change.where, change.path, change.now) == ("patch", "fact.a.n", 9)


def test_who_may_not_write_is_told_who_may() -> None:
    patch = Patch(set={"fact.a": {"v": 1}})
    answer = explained(
        delta_trial(policy(constraints={"constraint.may": ALLOW}), {}, patch, somebody(Role.AGENT), now=NOW)
    )
    assert answer.remedy is not None
    assert answer.remedy.words == "nothing you can change: a principal with role encoder, tool"


def test_values_that_were_read_are_told_with_the_constraints_that_decide_first() -> None:
    block = {"v": 1, "effect": "deny", "subject": None, "when": when("exists", "fact.a.n")}
    ask = {"v": 2, "effect": "ask", "subject": None, "when": when("eq", "call.args.x", "y" * 3_000)}
    question = Question(tool_id="t", args={"x": "y" * 3_000})
    answer = told([ALLOW, ask, block], question, {"fact.a": {"v": 1, "n": None}})
    assert [one.constraint for one in answer.deciding] == ["constraint.c2", "constraint.c1"]
    (first,), (second,) = (one.reads for one in answer.deciding)
    assert (first.path, first.present, first.value, first.key) == ("fact.a.n", True, None, "fact.a")
    assert (second.path, second.long) == ("call.args.x", 3_002)


RULES = {
    "rule.late": {
        "v": 1,
        "when": when("gt", "fact.delay.minutes", 30),
        "derive": {"fact.late": {"v": 1, "is": True}},
    },
    "rule.copy": {"v": 1, "derive": {"fact.seen": {"v": 1, "who": {"from": "fact.badge.who"}}}},
}


@pytest.mark.parametrize(
    ("condition", "state", "path"),
    [
        (when("eq", "fact.late.is", True), {"fact.delay": {"v": 1, "minutes": 45}}, "fact.delay.minutes"),
        (
            when("not", when("eq", "fact.seen.who", "ana")),
            {"fact.badge": {"v": 1, "who": "bob"}},
            "fact.badge.who",
        ),
    ],
)
def test_of_what_rules_derive_that_is_changed_which_they_read(condition: Any, state: Any, path: str) -> None:
    item = {"v": 1, "effect": "deny", "subject": None, "when": condition}
    answer = told([ALLOW, item], Question(tool_id="t"), state, rules=RULES)
    assert answer.verdict == "deny"
    assert [one.path for one in answer.remedy.changes] == [path]
    (reading,) = answer.deciding[0].reads
    assert (reading.present, reading.rule in RULES) == (True, True)


def test_a_flag_is_turned_rather_than_taken_away() -> None:
    item = {"v": 1, "effect": "deny", "subject": None, "when": when("eq", "fact.shop.open", False)}
    answer = told([ALLOW, item], Question(tool_id="t"), {"fact.shop": {"v": 1, "open": False}})
    (change,) = answer.remedy.changes
    assert (change.now, change.then, change.example) == (False, True, False)


def test_one_value_is_rather_changed_than_two() -> None:
    """Two arguments would do, and they are tried first; the one key of the state is less."""
    both = when("all", when("eq", "call.args.m", "a"), when("eq", "call.args.n", 1))
    item = {**ALLOW, "when": when("any", both, when("eq", "goal.g.n", 1))}
    answer = told([item], Question(tool_id="t", args={"m": "b", "n": 2}))
    assert [(one.path, one.then) for one in answer.remedy.changes] == [("goal.g.n", 1)]


@pytest.mark.parametrize(
    "end", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z"]
)
@pytest.mark.parametrize("op", ["lt", "ge"])
def test_a_time_that_has_none_before_or_after_it_is_answered_about(op: str, end: str) -> None:
    about = {"op": op, "args": ["fact.until", end]}
    asks = {"v": 2, "effect": "ask", "subject": None, "when": {"op": "not", "args": [about]}}
    rules = policy(constraints={"constraint.all": {"v": 1, "effect": "allow"}, "constraint.until": asks})
    told = explained(call_trial(rules, {}, Question(tool_id="pay"), None, NOW))
    assert told.verdict == "defer"


@pytest.mark.parametrize(
    ("least", "most"), [(1e308, 1.7976931348623157e308), (2**53 - 2, 2**53 - 1), (2**53 - 1, 1e21)]
)
def test_numbers_at_the_end_of_all_numbers_are_answered_about(least: float, most: float) -> None:
    low = {"op": "ge", "args": ["call.args.n", least]}
    about = {"op": "all", "args": [low, {"op": "le", "args": ["call.args.n", most]}]}
    asks = {"v": 2, "effect": "ask", "subject": None, "when": about}
    rules = policy(constraints={"constraint.all": {"v": 1, "effect": "allow"}, "constraint.most": asks})
    told = explained(call_trial(rules, {}, Question(tool_id="pay", args={"n": most}), None, NOW))
    assert told.remedy is not None
    assert told.verdict == "defer"
