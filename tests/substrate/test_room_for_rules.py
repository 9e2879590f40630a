"""How many rules there may be, and how large and deep what they derive: past it, no more is copied."""

from typing import Any

import pytest

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate import deriving, rule_reading, rule_room
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.deriving import MAX_RULES, RuleSet
from beliefd.kernel.substrate.rule_graph import MAX_STRATA
from beliefd.kernel.substrate.rule_reading import MAX_BYTES, MAX_FACTS, TooLarge
from tests.substrate.support import when
from tests.substrate.test_deriving import COPY_OF_A, Kept, fact, rule_set


def test_how_many_rules_and_strata_there_may_be() -> None:
    assert not rule_set({f"rule.{n}": fact(f"fact.p{n}") for n in range(MAX_RULES)}).problems
    more = rule_set({f"rule.{n}": fact(f"fact.p{n}") for n in range(MAX_RULES + 1)})
    assert more.problems[0].message == f"there are {MAX_RULES + 1} rules, and {MAX_RULES} at most are applied"

    def tower(levels: int) -> dict[str, Any]:
        return {f"rule.{n}": fact(f"fact.p{n}", when("missing", f"fact.p{n - 1}")) for n in range(levels)}

    assert not rule_set(tower(MAX_STRATA)).problems
    assert "65 strata, and 64 at most" in rule_set(tower(MAX_STRATA + 1)).problems[0].message


def test_copies_of_copies_come_to_an_end() -> None:
    """Each of forty rules copies the one before it twice: a value of five bytes would take up a terabyte."""
    twice = {
        f"rule.{n}": fact(f"fact.p{n}", a={"from": f"fact.p{n - 1}"}, b={"from": f"fact.p{n - 1}"})
        for n in range(1, 40)
    }
    found = rule_set(twice | {"rule.0": fact("fact.p0", n={"from": "fact.a.n"})})
    assert not found.problems
    kept = Kept(found)
    with pytest.raises(TooLarge):
        kept.change({"fact.a": {"v": 1, "n": "x"}})


def test_what_is_copied_may_be_neither_too_large_nor_too_deep() -> None:
    found = rule_set({"rule.1": fact("fact.p", n={"from": "fact.a.n"})})
    with pytest.raises(TooLarge):
        Kept(found).change({"fact.a": {"v": 1, "n": "x" * MAX_BYTES}})
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    with pytest.raises(TooLarge):
        Kept(found).change({"fact.a": {"v": 1, "n": deep}})
    Kept(found).change({"fact.a": {"v": 1, "n": "x" * (MAX_BYTES - 100), "m": deep}})


def test_what_is_copied_many_times_is_weighed_before_it_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[int] = []

    def counted(value: Any) -> bytes:
        weighed.append(len(found := canonical(value)))
        return found

    for module in (deriving, rule_reading, rule_room):
        monkeypatch.setattr(module, "canonical", counted)
    copies = [{"from": "fact.a.n"} for _ in range(MAX_FACTS)]
    kept = Kept(rule_set({"rule.1": fact("fact.p", n=copies)}))
    with pytest.raises(TooLarge):
        kept.change({"fact.a": {"v": 1, "n": "x" * (MAX_BYTES - 10)}})
    assert sum(weighed) < 3 * MAX_BYTES


def test_each_copied_value_has_its_part_whatever_the_others_take() -> None:
    raw = {f"rule.{n}": fact(f"fact.p{n}", n={"from": f"fact.a{n}.n"}) for n in range(3)}
    kept = Kept(rule_set(raw | {"rule.said": fact("fact.said", n="y" * 60_000)}))
    part = (MAX_BYTES - 60_000) // 3
    with pytest.raises(TooLarge):
        kept.change({"fact.a0": {"v": 1, "n": "x" * part}})
    for n in range(3):
        kept.change({f"fact.a{n}": {"v": 1, "n": "x" * (part - 100)}})
    assert kept.size <= MAX_BYTES


def test_together_facts_were_not_to_be_too_large_before() -> None:
    raw = {f"rule.{n}": fact(f"fact.p{n}", n={"from": f"fact.a{n}.n"}) for n in range(3)}
    kept = Kept(RuleSet(raw, lambda _, __: False, None, ArbitrationPolicy(meaning=1)))
    half = {"v": 1, "n": "x" * (MAX_BYTES // 2 - 100)}
    kept.change({"fact.a0": half})
    kept.change({"fact.a1": half})
    size = kept.size
    with pytest.raises(TooLarge):
        kept.change({"fact.a2": half})
    kept.change({}, ("fact.a2",))
    assert kept.size == size
    kept.change({"fact.a1": {"v": 1, "n": ""}})
    kept.change({"fact.a2": half})


def test_a_change_that_derives_too_much_ends_where_it_is_too_much_and_not_after_all_of_it() -> None:
    raw = {"rule.r": {"v": 1, "derive": {f"fact.p{'x' * n}": COPY_OF_A for n in range(6)}}}
    kept = Kept(RuleSet(raw, lambda _, __: False, None, ArbitrationPolicy(meaning=1)))
    with pytest.raises(TooLarge) as found:
        kept.change({"fact.a": {"v": 1, "n": "x" * (MAX_BYTES // 2 - 100)}})
    assert found.value.key == "fact.pxx"  # the third; the last is the largest


def test_what_is_put_together_was_not_to_be_nested_too_deep_before() -> None:
    raw = {"rule.p": fact("fact.p", n=[{"from": "fact.a.n"}])}
    kept = Kept(RuleSet(raw, lambda _, __: False, None, ArbitrationPolicy(meaning=1)))
    kept.change({"fact.a": {"v": 1, "n": nested(rule_reading.MAX_NESTED - 2)}})
    with pytest.raises(TooLarge):
        kept.change({"fact.a": {"v": 1, "n": nested(rule_reading.MAX_NESTED - 1)}})


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 0
