"""Operators of version 2: their borders, values of the wrong kind, words, and how long they take."""

import time
from typing import Any

import pytest
from hypothesis import given, settings

from beliefd.kernel.substrate.comparing import key_of
from beliefd.kernel.substrate.constraints import read_constraint
from beliefd.kernel.substrate.operators import TABLE
from beliefd.kernel.substrate.paths import same
from beliefd.kernel.substrate.predicates import (
    BY_VERSION,
    JOINING,
    OPERATORS,
    Malformed,
    holds,
    parse,
    paths_read,
    reads_call,
)
from beliefd.kernel.substrate.reasons import needed
from beliefd.kernel.substrate.schemas import Schema
from tests.substrate import strategies as some
from tests.substrate.support import when

NOW = "2026-01-01T00:00:00.000000Z"
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    # one true value of each operator, after the arguments that it is true with
    "lt": (5, 4),
    "le": (5, 5),
    "gt": (5, 6),
    "ge": (5, 5.0),
    "between": (1, 3, 2),
    "age_over": (60, "2025-12-31T23:58:59Z"),
    "starts_with": ("a", "ab"),
    "ends_with": ("b", "ab"),
    "matches": ("^a", "ab"),
    "subset": (["a"], ["a", "a"]),
    "intersects": (["a"], ["b", "a"]),
    "count": ("eq", 2, {"a": 1, "b": 2}),
}
ODD: list[Any] = [None, True, False, 0, -1, 1e300, "", "x" * 2_000, [], [[]], {}, {"v": 1}, [None, {"a": []}]]
LATER = pytest.mark.parametrize("op", sorted(set(TABLE) - set(OPERATORS)))


def state(value: Any, now: str = NOW) -> dict[str, Any]:
    return {"fact.x": {"v": 1, "value": value}, "call": {"now": now}}


def is_true(op: str, value: Any, *args: Any, now: str = NOW) -> bool:
    return holds(parse(when(op, "fact.x.value", *args)), state(value, now), trust)


def trust(_: str, __: Any) -> bool:
    return True


def test_version_one_knows_what_it_knew() -> None:
    assert OPERATORS == ("all", "any", "not", "eq", "in", "exists", "missing", "schema")
    assert set(BY_VERSION[2]) == {*JOINING, *TABLE}
    assert set(ARGUMENTS) == set(TABLE) - set(OPERATORS)


@LATER
def test_each_is_true_of_something_and_of_nothing_of_another_kind(op: str) -> None:
    *args, value = ARGUMENTS[op]
    assert is_true(op, value, *args)
    kinds = TABLE[op].kinds
    for odd in ODD:
        if not TABLE[op].can_hold(_kinds(odd), (..., *args)):
            assert not is_true(op, odd, *args), (kinds, odd)
    assert not holds(parse(when(op, "fact.y", *args)), state(value), trust)
    assert holds(parse(when("not", when(op, "fact.y", *args))), state(value), trust)


def _kinds(value: Any) -> list[str]:
    names = {"int": "number", "float": "number", "str": "text", "list": "list", "dict": "object"}
    return [names[kind]] if (kind := type(value).__name__) in names else []


@LATER
def test_each_takes_its_arguments_and_no_others(op: str) -> None:
    *args, _ = ARGUMENTS[op]
    for wrong in ([], ["fact.x"], [5, *args], ["", *args], ["fact.x", *args, 1], ["fact.x", *map(str, ODD)]):
        with pytest.raises(Malformed, match=f"{op} takes {TABLE[op].takes}"):
            parse({"op": op, "args": wrong})
    with pytest.raises(Malformed, match="is none of all, any, not, eq, in, exists, missing, schema"):
        parse(when(op, "fact.x", *args), version=1)
    for number in range(len(args)):
        for odd in ODD:
            raw = when(op, "fact.x", *args[:number], odd, *args[number + 1 :])
            read = read_constraint("constraint.x", {"v": 2, "effect": "deny", "subject": None, "when": raw})
            if read.malformed is None:
                assert read.when is not None
                holds(read.when, state(odd), trust)


@LATER
def test_each_says_in_words_what_would_make_it_pass(op: str) -> None:
    *args, value = ARGUMENTS[op]
    predicate = parse(when(op, "fact.x.value", *args))
    holding, missing = needed(predicate, False, state(value), trust), needed(predicate, True, {}, trust)
    assert holding.startswith("`fact.x.value` ")
    assert holding != missing
    assert missing.endswith("(now missing)")


WORDS = {
    "`call.args.n` is more than 100 (now 7)": when("gt", "call.args.n", 100),
    '`call.args.t` is before "2026-01-01T00:00:00Z" (now missing)': when(
        "lt", "call.args.t", "2026-01-01T00:00:00Z"
    ),
    "`call.args.n` is between 1 and 5 (now 7)": when("between", "call.args.n", 1, 5),
    "`call.args.n` is older than 60 seconds (now 7)": when("age_over", "call.args.n", 60),
    "`call.args.n` holds at most 3 (now 7)": when("count", "call.args.n", "le", 3),
    '`call.args.n` lists only some of ["a"] (now 7)': when("subset", "call.args.n", ["a"]),
    '`call.args.n` starts with "a" (now 7)': when("starts_with", "call.args.n", "a"),
}


@pytest.mark.parametrize("words", WORDS)
def test_the_words(words: str) -> None:
    assert needed(parse(WORDS[words]), True, {"call": {"args": {"n": 7}}}, trust) == words


def test_an_age_is_more_than_so_many_seconds_at_the_time_of_the_decision() -> None:
    assert not is_true("age_over", "2026-01-01T00:00:00Z", 60, now="2026-01-01T00:01:00.000000Z")
    assert is_true("age_over", "2026-01-01T00:00:00Z", 60, now="2026-01-01T00:01:00.000001Z")
    assert is_true("age_over", "2026-01-01T00:00:00Z", 0.5, now="2026-01-01T00:00:00.600000Z")
    assert not is_true("age_over", "2026-01-01T00:00:00Z", 0, now="2025-01-01T00:00:00.000000Z")
    predicate = parse(when("age_over", "fact.x.value", 60))
    assert not holds(predicate, {"fact.x": {"v": 1, "value": "1990-01-01T00:00:00Z"}}, trust)
    assert paths_read(predicate) == {"fact.x.value", "call.now"}
    assert reads_call(predicate)


WRITTEN = {
    "2025-12-31T23:00:00.123456789Z": "2025-12-31T23:00:00.123456Z",
    "2025-12-31t23:00:00z": "2025-12-31T23:00:00Z",
    "2025-12-31 23:00:00Z": "2025-12-31T23:00:00Z",
    "2025-12-31T23:00Z": "2025-12-31T23:00:00Z",
    "2025-12-31T23:00:00,5+0100": "2025-12-31T23:00:00.5+01:00",
    "2025-12-31T22:59:60Z": "2025-12-31T23:00:00Z",
    "2025-12-30T24:00:00Z": "2025-12-31T00:00:00Z",
    "9999-12-31T23:59:60Z": "9999-12-31T23:59:59.999999Z",
    f"2025-12-31T23:00:00.{'9' * 900}Z": "2025-12-31T23:00:00.999999Z",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_time_is_one_however_it_is_written(text: str) -> None:
    assert is_true("between", text, WRITTEN[text], WRITTEN[text])
    assert is_true("age_over", text, 60) == text.startswith("2025")
    before = parse(when("age_over", "fact.x.value", 60), widely=False)
    assert not holds(before, state(text), trust), "as ledgers from before were decided"
    assert not holds(parse(when("lt", "fact.x.value", NOW), widely=False), state(text), trust)


@pytest.mark.parametrize(
    "text",
    [
        "2025-12-31T24:00:01Z",
        "2025-12-31T23:00:61Z",
        "2025-12-31T23:00:00",
        "2025-12-31T23:00:00+24:00",
        "2025-12-31T23:00:00Z\n",
        "2025-12-31",
        "20251231T230000Z",
        "2025-13-31T23:00:00Z",
    ],
)
def test_what_names_no_moment_is_no_time(text: str) -> None:
    assert not is_true("age_over", text, 0)
    assert not is_true("lt", text, NOW)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59"])
def test_times_at_the_ends_of_the_calendar_are_compared(text: str) -> None:
    assert is_true("gt", text, NOW) == text.startswith("9999")
    assert is_true("age_over", text, 60) == text.startswith("0001")


@settings(max_examples=300, deadline=None)
@given(some.small, some.small)
def test_what_is_the_same_has_the_same_key(left: Any, right: Any) -> None:
    assert (key_of(left) == key_of(right)) == same(left, right)


def seconds_of(judge: Any) -> float:
    began = time.process_time()
    judge()
    return time.process_time() - began


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    predicate = parse(when("matches", "fact.x.value", "(a+)+$"))
    text = "a" * 100_000 + "!"
    assert seconds_of(lambda: holds(predicate, state(text), trust)) < 0.1
    assert holds(predicate, state("a" * 100_000), trust)


def test_a_schema_with_look_around_gives_up() -> None:
    """Neither it nor its opposite fits then. A million steps, as before, take 20 seconds on 100 KB."""
    pattern = {"pattern": r"(?=a)(a+)\1*$"}
    text = "a" * 4_000 + "!"
    for schema in (Schema(pattern), Schema({"not": pattern})):
        assert seconds_of(lambda schema=schema: schema.fits(text)) < 3
        assert not schema.fits(text)
    assert Schema(pattern).fits("aaa")
    assert not Schema({"not": pattern}).fits("aaa")
    assert seconds_of(lambda: Schema({"pattern": "(a+)+$"}).fits(text)) < 0.1


def test_large_sets_are_looked_up() -> None:
    many = [f"name {number}" for number in range(20_000)]
    predicate = parse(when("subset", "fact.x.value", many))
    assert seconds_of(lambda: holds(predicate, state(many), trust)) < 1
    assert holds(predicate, state(many), trust)
