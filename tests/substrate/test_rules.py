"""Two evaluators, one truth: the compiled, incremental rules always say what the naive reading says."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beliefd.kernel.substrate.constraint_index import ConstraintIndex, Truths
from beliefd.kernel.substrate.constraints import (
    INVARIANTS,
    Action,
    Constraint,
    Judgement,
    failing,
    judge,
    read_constraint,
)
from beliefd.kernel.substrate.predicates import JOINING
from beliefd.kernel.substrate.rulebook import KnownSchemas
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.testing.world import policy
from tests.substrate import strategies as some

many = settings(max_examples=400, deadline=None)


def compiled(raw: dict[str, Any]) -> tuple[ConstraintIndex, list[Constraint]]:
    """A policy in both forms."""
    known = KnownSchemas(policy(schemas=some.SCHEMAS))
    return ConstraintIndex(raw, known.fit, known), [
        read_constraint(key, one, known) for key, one in raw.items()
    ]


def told(judgement: Judgement) -> tuple[bool, str | None, list[tuple[str, str]]]:
    failures = sorted((one.constraint.key, one.code) for one in judgement.failures)
    assert len(set(failures)) == len(failures), "a failure is told once"
    return judgement.allowed, judgement.on_fail, failures


def naive(read: list[Constraint], rules: ConstraintIndex, state: dict[str, Any], action: Action) -> Judgement:
    about_actions = [one for one in read if not one.key.startswith(INVARIANTS) or one.malformed is not None]
    return judge(about_actions, state, action, rules.fits)


def broken(read: list[Constraint], rules: ConstraintIndex, state: dict[str, Any]) -> list[str]:
    invariants = [one for one in read if one.key.startswith(INVARIANTS)]
    return sorted(one.key for one in invariants if failing(one, state, rules.fits) is not None)


@many
@given(some.policies, some.states, st.lists(some.actions, min_size=1, max_size=4))
def test_compiled_rules_judge_as_the_naive_reading_does(
    raw: dict[str, Any], state: dict[str, Any], actions: list[Action]
) -> None:
    rules, read = compiled(raw)
    sparse = SymbolicState(state)
    for action in actions:
        assert told(sparse.truths(rules).judge(sparse, action)) == told(naive(read, rules, state, action))
        assert set(rules.allowing(state, action)) == {
            one.key
            for one in read
            if one.effect == "allow"
            and one.names(action)
            and not one.key.startswith(INVARIANTS)
            and failing(one, action.known(state), rules.fits) is None
        }


@many
@given(some.policies, some.states, st.lists(some.patches, max_size=6), some.actions)
def test_truths_kept_up_to_date_are_those_worked_out_afresh(
    raw: dict[str, Any], state: dict[str, Any], patches: list[Any], action: Action
) -> None:
    rules, read = compiled(raw)
    sparse, plain = SymbolicState(state), dict(state)
    sparse.truths(rules)
    for sets, removes in patches:
        before = told(sparse.truths(rules).judge(sparse, action))
        after = sparse.patched(sets, removes)
        assert told(sparse.truths(rules).judge(sparse, action)) == before, "the old value stays as it was"
        plain = {key: value for key, value in plain.items() if key not in removes} | sets
        assert dict(after) == plain
        assert kept(after.truths(rules)) == kept(rules.truths(plain))
        assert told(after.truths(rules).judge(after, action)) == told(naive(read, rules, plain, action))
        assert sorted(one.constraint.key for one in after.truths(rules).broken) == broken(read, rules, plain)
        sparse = after


ONE = "fact.b.value"


def on_one_path(raw: Any) -> Any:
    """The same rules, but all about one value, which they then often have to do with."""
    if not isinstance(raw, dict):
        return raw
    if "args" not in raw:
        return {name: on_one_path(value) if name == "when" else value for name, value in raw.items()}
    if raw["op"] in JOINING:
        return {**raw, "args": [on_one_path(item) for item in raw["args"]]}
    return {**raw, "args": [ONE, *raw["args"][1:]]}


@many
@given(
    some.policies.map(lambda raw: {key: on_one_path(one) for key, one in raw.items()}),
    st.lists(some.scalars | some.lists, min_size=1, max_size=4),
    st.lists(some.actions, min_size=2, max_size=4),
)
@example(
    {"constraint.old": {"v": 2, "effect": "deny", "when": {"op": "age_over", "args": [ONE, 30]}}},
    [some.TIMES[0]],
    [Action("t.one", context={"now": now}) for now in (some.TIMES[0], some.TIMES[2])],
)
def test_it_is_the_same_where_all_rules_are_about_one_value_that_changes(
    raw: dict[str, Any], found: list[Any], actions: list[Action]
) -> None:
    rules, read = compiled(raw)
    sparse = SymbolicState({})
    sparse.truths(rules)
    for value in found:
        plain = {"fact.b": {"v": 1, "value": value}}
        sparse = sparse.patched(plain)
        assert kept(sparse.truths(rules)) == kept(rules.truths(plain))
        for action in actions:
            assert told(sparse.truths(rules).judge(sparse, action)) == told(naive(read, rules, plain, action))


def kept(truths: Truths) -> dict[Any, dict[str, str]]:
    return {
        subject: {key: failure.code for key, failure in truths.failures[subject].items()}
        for subject in truths.failures
    }


@many
@given(some.policies, some.states, some.patches, some.actions)
def test_a_key_that_judging_does_not_read_changes_no_judgement(
    raw: dict[str, Any], state: dict[str, Any], patch: Any, action: Action
) -> None:
    """What makes it safe to rebase a proposal over changes that it does not look at."""
    rules, read = compiled(raw)
    sets = {key: value for key, value in patch[0].items() if key not in rules.reads(action)}
    removes = {key for key in patch[1] if key not in rules.reads(action)}
    after = {key: value for key, value in state.items() if key not in removes} | sets
    assert told(naive(read, rules, state, action)) == told(naive(read, rules, after, action))


@given(some.small | some.junk)
@settings(max_examples=300, deadline=None)
def test_any_junk_at_all_is_a_constraint_that_denies_or_one_that_can_be_read(raw: Any) -> None:
    read = read_constraint("constraint.x", raw)
    action = Action("t.one")
    judged = judge([read], {}, action, lambda _, __: True)
    if read.malformed is not None:
        assert judged.on_fail == "block"


def test_a_decision_looks_at_no_constraint_that_has_not_to_do_with_the_action() -> None:
    """The index holds: rules about other tools are not even asked, and state is read at commit only."""
    asked: list[str] = []

    class Watched(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            asked.append(key)
            return super().get(key, default)

    raw = {
        f"constraint.{number}": {
            "v": 1,
            "effect": "deny",
            "subject": {"tool_id": "t.one"},
            "when": {"op": "eq", "args": [f"fact.k{number}.value", 1]},
        }
        for number in range(1_000)
    }
    raw["constraint.allow"] = {"v": 1, "effect": "allow", "subject": None}
    rules = ConstraintIndex(raw, lambda _, __: True)
    state = Watched({f"fact.k{number}": {"v": 1, "value": 0} for number in range(1_000)})
    truths = rules.truths(state)
    asked.clear()
    assert truths.judge(state, Action("t.one")).on_fail is None
    assert asked == []
    state["fact.k7"] = {"v": 1, "value": 1}
    after = truths.after(state, ["fact.k7"])
    assert set(asked) <= {"fact.k7.value", "fact.k7", "fact"}, "all that its path might mean"
    assert after.judge(state, Action("t.one")).on_fail == "block"


@pytest.mark.parametrize("depth", [33, 1_000, 10_000])
def test_predicates_nested_without_end_are_malformed_and_nothing_overflows(depth: int) -> None:
    when: Any = {"op": "all", "args": []}
    for _ in range(depth):
        when = {"op": "not", "args": [when]}
    read = read_constraint("constraint.deep", {"v": 1, "effect": "allow", "subject": None, "when": when})
    assert read.malformed is not None
    assert "nested deeper" in read.malformed


def test_a_predicate_that_holds_itself_is_malformed() -> None:
    when: dict[str, Any] = {"op": "all", "args": []}
    when["args"].append(when)
    read = read_constraint("constraint.loop", {"v": 1, "effect": "allow", "subject": None, "when": when})
    assert read.malformed is not None


@pytest.mark.parametrize(
    "value", [{"x": float("nan")}, {"x": 2**60}, {"x": {1: 2}}, {"x": object()}, {"x": "\ud800"}]
)
def test_a_policy_that_has_no_hash_is_refused_whole(value: Any) -> None:
    for place in ("constraints", "schemas"):
        with pytest.raises(msgspec.ValidationError):
            policy(**{place: {"constraint.x": value}})
    with pytest.raises(msgspec.ValidationError):
        policy(tools={"t": {"schema": value}})


def test_a_policy_with_a_predicate_too_deep_to_be_hashed_is_refused_whole() -> None:
    when: Any = {"op": "all", "args": []}
    for _ in range(40):
        when = {"op": "not", "args": [when]}
    with pytest.raises(msgspec.ValidationError, match="nested deeper"):
        policy(constraints={"constraint.deep": {"v": 1, "effect": "allow", "when": when}})


def test_a_schema_that_refers_to_a_file_is_malformed_even_where_the_file_is_there(tmp_path: Path) -> None:
    """What a rule means must not depend on which machine it is read on."""
    (tmp_path / "schema.json").write_text('{"type": "object"}')
    for schema in ({"$ref": f"file://{tmp_path}/schema.json"}, {"$schema": f"file://{tmp_path}/schema.json"}):
        raw = {"v": 1, "effect": "allow", "when": {"op": "schema", "args": ["call.args", schema]}}
        assert read_constraint("constraint.x", raw).malformed is not None
