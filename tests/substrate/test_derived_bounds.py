"""How much rules may derive: too much is refused by name, and nobody keeps others out with it."""

from typing import Any

import pytest
from rpds import HashTrieMap

from beliefd.kernel.substrate.derived import Source
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.rule_reading import MAX_BYTES, TooLarge
from tests.substrate.orders import LARGE, derived, order, ruled
from tests.substrate.support import (
    ToolWorld,
    delta,
    one,
    remove,
    when,
)

NOTE = {"v": 1, "derive": {"fact.note": {"v": 1, "x": {"from": "goal.note.t"}}}}
BOTH = {
    "v": 1,
    "when": when("eq", "fact.order.size", "large"),
    "derive": {"fact.both": {"v": 1, "x": {"from": "goal.note.t"}, "id": {"from": "fact.order.id"}}},
}


def test_a_session_that_is_filled_up_is_refused_and_not_worn_out() -> None:
    rules = {
        f"rule.{n}": {"v": 1, "derive": {f"fact.copy{n}": {"v": 1, "all": {"from": "fact.big"}}}}
        for n in range(100)
    }
    with ToolWorld(policy=ruled(rules)) as house:
        session = house.session()
        no = one(house.encoder.propose(session, [delta(fact__big="x" * (MAX_BYTES // 50))]))
        assert (no.verdict, no.reason_code) == ("deny", "DERIVED_TOO_LARGE")
        assert "`rule." in no.reasons[0].text
        assert derived(house, session) == {}
        assert one(house.encoder.propose(session, [delta(fact__big="x")])).verdict == "allow"
        assert len(derived(house, session)) == 100
        many = {"kind": "delta", "patch": {"set": {f"fact.call.x{n}": {"v": 1} for n in range(1000)}}}
        assert one(house.encoder.propose(session, [many])).verdict == "allow"
        house.check(session)


def test_too_much_for_new_rules_denies_until_there_is_less() -> None:
    rules = {"rule.copy": {"v": 1, "derive": {"fact.copy": {"v": 1, "all": {"from": "fact.big"}}}}}
    with ToolWorld(policy=ruled({})) as house:
        session = house.session()
        house.encoder.propose(session, [delta(fact__big="x" * MAX_BYTES)])
        house.steward.in_force.adopt(ruled(rules))
        assert one(house.agent.propose(session, [delta(goal__a=1)])).reason_code == "DERIVED_TOO_LARGE"
        house.steward.in_force.adopt(ruled({}))
        assert one(house.encoder.propose(session, [remove("fact.big")])).verdict == "allow"
        house.steward.in_force.adopt(ruled(rules))
        assert one(house.agent.propose(session, [delta(goal__a=1)])).verdict == "allow"
        house.check(session)


@pytest.mark.parametrize(
    "note", [NOTE, BOTH], ids=["a copy that is always made", "one that waits for a fact"]
)
@pytest.mark.parametrize("shape", ["long", "deep"])
def test_nobody_keeps_out_what_another_writes_by_filling_up_what_is_derived(
    note: dict[str, Any], shape: str
) -> None:
    def filling(much: int) -> dict[str, Any]:
        value: Any = "x" * much if shape == "long" else 1
        for _ in range(0 if shape == "long" else much):
            value = [value]
        return delta(goal__note={"v": 1, "t": value})

    with ToolWorld(policy=ruled({"rule.note": note, "rule.large": LARGE})) as house:
        session = house.session()
        refused_at = MAX_BYTES if shape == "long" else 40
        while (said := one(house.agent.propose(session, [filling(refused_at)]))).verdict != "allow":
            assert said.reason_code == "DERIVED_TOO_LARGE"
            assert said.reasons[0].keys == ("goal.note.t",)
            refused_at -= MAX_BYTES // 9 if shape == "long" else 1
        assert refused_at > 20
        assert one(house.encoder.propose(session, [order(id="7" * 100)])).verdict == "allow"
        assert "fact.large" in derived(house, session)
        house.check(session)


def test_what_is_too_large_names_the_largest_of_all_that_is_derived() -> None:
    found = RuleSet(
        {
            "rule.a": {"v": 1, "derive": {"fact.a": {"v": 1, "n": {"from": "goal.a"}}}},
            "rule.b": {"v": 1, "derive": {"fact.b": {"v": 1, "n": {"from": "goal.b"}}}},
        },
        lambda _, __: False,
    )
    large = {"v": 1, "n": {"v": 1, "t": "x" * (MAX_BYTES - 500)}}
    values = HashTrieMap({"fact.a": large, "goal.a": large["n"], "goal.b": {"v": 1, "t": "x" * 1_000}})
    held = HashTrieMap({"fact.a": Source("rule.a", ("goal.a",))})
    with pytest.raises(TooLarge) as caught:
        found.settle(values, held, MAX_BYTES - 400, ["goal.b"])
    assert (caught.value.rule, caught.value.key) == ("rule.a", "fact.a")
