"""Proofs about what rules derive: every answer is the one that trying all states gives."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.substrate.question import Question
from beliefd.policy.proving import derivations
from beliefd.policy.proving.prover import Prover
from beliefd.policy.proving.witnesses import Judge
from beliefd.protocol.proofs import Proof

CALL = Question(tool_id="pay")
ALONE = Guarantee(role="agent", tool="pay", never="without_person")  # type: ignore[arg-type]
UPDATE = Guarantee(update="loosens_nothing")
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {".n": {"v": 1}},
    {"": {"v": 1}},
    *({"": {"v": 1, "n": n}} for n in (1, 2, 3)),
)
"""As conditions here tell states apart: a key is not there, is a longer one, or holds nothing, one of two
numbers that they name, or another."""
WAYS_OF_WHOLE = (
    *WAYS,
    {"": {"v": 1}, ".n": {"v": 1}},
    {"": {"v": 2}},
    {"": {"v": 1, "m": 1}},
    *({"": {"v": 1, "n": n, "m": 1}} for n in (1, 2)),
)
"""Where conditions are on all that a key holds: it may have a longer one beside it, another version, or hold
more."""
WRITTEN, DERIVED = ("fact.a", "fact.b"), ("fact.d", "fact.e", "fact.f")
SETTINGS = settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


def op(name: str, *args: Any) -> dict[str, Any]:
    return {"op": name, "args": list(args)}


def conditions(keys: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    key, number = st.sampled_from(keys), st.sampled_from([1, 2])
    whole = st.sampled_from([one for one in keys if one in DERIVED] or [*DERIVED])
    leaf = st.one_of(
        st.builds(op, st.sampled_from(["exists", "missing"]), key),
        st.builds(lambda path, n: op("eq", f"{path}.n", n), key, number),
        st.builds(lambda path: op("in", f"{path}.n", [1, 2]), key),
        st.builds(lambda path: op("exists", f"{path}.n"), key),
        st.builds(lambda path, n: op("eq", path, {"v": 1, "n": n}), whole, number),
        st.builds(lambda path, n: op("in", path, [{"v": 1}, {"n": n, "v": 1.0}, n]), whole, number),
        st.builds(lambda path, n: op("count", path, "ge", n), whole, number),
    )
    some = st.lists(leaf, min_size=2, max_size=2)
    joined = st.builds(lambda name, two: op(name, *two), st.sampled_from(["all", "any"]), some)
    return leaf | joined | leaf.map(lambda one: op("not", one))


TEMPLATES = st.one_of(
    st.sampled_from([1, 2]).map(lambda n: {"v": 1, "n": n}),
    st.sampled_from([*WRITTEN, *DERIVED]).map(lambda key: {"v": 1, "n": {"from": f"{key}.n"}}),
)


def rules(values: st.SearchStrategy[dict[str, Any]] = TEMPLATES) -> st.SearchStrategy[dict[str, Any]]:
    one = st.builds(
        lambda when, key, value: {"v": 1, "when": when, "derive": {key: value}},
        conditions((*WRITTEN, *DERIVED)),
        st.sampled_from(DERIVED),
        values,
    )
    names = st.sampled_from(["rule.p", "rule.q", "rule.r", "rule.s"])
    return st.dictionaries(names, one, min_size=1, max_size=4)


def policy(rules: dict[str, Any], *denied: dict[str, Any]) -> Policy:
    allow = {"constraint.a": {"v": 2, "effect": "allow", "subject": {"tool_id": "pay"}}}
    denies = {
        f"constraint.d{at}": {"v": 2, "effect": "deny", "subject": {"tool_id": "pay"}, "when": when}
        for at, when in enumerate(denied)
    }
    return msgspec.convert({"constraints": {**allow, **denies}, "rules": rules}, Policy)


def states(*under: Policy) -> Iterator[dict[str, Any]]:
    """All that can be written, as far as any of these policies reads it and not all derive it."""
    text = msgspec.json.encode(under).decode()
    derived = [{key for one in (each.rules or {}).values() for key in one["derive"]} for each in under]
    keys = [key for key in (*WRITTEN, *DERIVED) if key in text and not all(key in one for one in derived)]
    for ways in product(*(WAYS_OF_WHOLE if key in DERIVED else WAYS for key in keys)):
        chosen = zip(keys, ways, strict=True)
        yield {f"{key}{end}": value for key, way in chosen for end, value in way.items()}


def passing(under: Policy, over: list[dict[str, Any]]) -> list[bool]:
    judge = Judge(under)
    return [judge.explained(CALL, state).verdict == "allow" for state in over]


def verdict(proof: Proof, under: Policy) -> str:
    assert proof.call is not None
    return Judge(under).explained(msgspec.convert(proof.call.call, Question), proof.call.state).verdict


@SETTINGS
@given(made=rules(), denied=st.lists(conditions((*WRITTEN, *DERIVED)), min_size=1, max_size=3))
def test_what_is_answered_is_what_trying_every_state_gives(
    made: dict[str, Any], denied: list[dict[str, Any]]
) -> None:
    found = policy(made, *denied)
    proof = Prover(found).answer(ALONE)
    passes = any(passing(found, list(states(found))))
    assert (proof.answer, proof.why) == ("counterexample" if passes else "proved", "")
    assert not passes or verdict(proof, found) == "allow"


@SETTINGS
@given(
    old=rules(), new=rules(), denied=st.lists(conditions(("fact.a", *DERIVED[:2])), min_size=1, max_size=2)
)
def test_an_update_of_rules_is_compared_on_every_state(
    old: dict[str, Any], new: dict[str, Any], denied: list[dict[str, Any]]
) -> None:
    """What one of the policies derives may be written by hand under the other."""
    before, after = policy(_narrowed(old), *denied), policy(_narrowed(new), *denied)
    proof = Prover(after, before).answer(UPDATE)
    over = list(states(before, after))
    looser = [now and not was for was, now in zip(passing(before, over), passing(after, over), strict=True)]
    assert (proof.answer, proof.why) == ("counterexample" if any(looser) else "proved", "")
    if proof.answer == "counterexample":
        assert (verdict(proof, after), verdict(proof, before)) == ("allow", "deny")


def _narrowed(made: dict[str, Any]) -> dict[str, Any]:
    """The same rules on fewer keys: there are fewer states to try."""
    narrow = {"fact.b": "fact.a", "fact.f": "fact.e"}
    text = msgspec.json.encode(made).decode()
    for key, other in narrow.items():
        text = text.replace(f'"{key}', f'"{other}')
    read: dict[str, Any] = msgspec.json.decode(text)
    return read


NEEDED = {"rule.r": {"v": 1, "when": op("eq", "fact.a.n", 1), "derive": {"fact.d": {"v": 1, "n": 1}}}}


def test_a_counterexample_names_what_is_written_and_never_what_is_derived() -> None:
    found = policy(NEEDED, op("missing", "fact.d"))
    proof = Prover(found).answer(ALONE)
    assert proof.answer == "counterexample"
    assert proof.call is not None
    assert proof.call.state == {"fact.a": {"v": 1, "n": 1}}


def test_facts_that_rest_on_each_other_alone_are_not_there() -> None:
    circle = {
        "rule.p": {"v": 1, "when": op("exists", "fact.e"), "derive": {"fact.d": {"v": 1}}},
        "rule.q": {"v": 1, "when": op("exists", "fact.d"), "derive": {"fact.e": {"v": 1}}},
    }
    never = Guarantee(constraint="constraint.d0", never="fire")
    assert Prover(policy(circle, op("exists", "fact.d"))).answer(never).answer == "proved"
    begun = {**circle, "rule.r": {"v": 1, "when": op("exists", "fact.a"), "derive": {"fact.e": {"v": 1}}}}
    assert Prover(policy(begun, op("exists", "fact.d"))).answer(never).answer == "counterexample"


def test_fields_of_what_is_copied_are_known() -> None:
    made = {"rule.p": {"v": 1, "derive": {"fact.d": {"v": 1, "in": {"from": "fact.a"}}}}}
    shut = policy(made, op("not", op("eq", "fact.d.in.n", 7)), op("eq", "fact.a.n", 7))
    proof = Prover(policy(made, op("not", op("eq", "fact.d.in.n", 7)))).answer(ALONE)
    assert (proof.answer, proof.call and proof.call.state) == ("counterexample", {"fact.a": {"v": 1, "n": 7}})
    # A longer key hides the field from who reads the path, and not from the copy.
    assert Prover(shut).answer(ALONE).answer != "proved"


def test_times_and_comparisons_are_followed_through_copies() -> None:
    made = {
        "rule.p": {
            "v": 1,
            "derive": {"fact.d": {"v": 1, "n": {"from": "fact.a.n"}, "at": "2026-01-01T00:00:00Z"}},
        }
    }
    one = Prover(policy(made, op("not", op("gt", "fact.d.n", 10)), op("gt", "fact.a.n", 9))).answer(ALONE)
    assert one.answer == "proved"
    aged = Prover(policy(made, op("not", op("age_over", "fact.d.at", 60)))).answer(ALONE)
    assert aged.answer == "counterexample"
    assert aged.call is not None
    assert aged.call.call["now"] > "2026-01-01T00:01:00"


def test_under_rules_that_cannot_be_applied_nothing_passes() -> None:
    looping = {"rule.p": {"v": 1, "when": op("missing", "fact.d"), "derive": {"fact.d": {"v": 1}}}}
    assert Prover(policy(looping)).answer(ALONE).answer == "proved"


OF_BOTH = {
    "rule.p": {
        "v": 1,
        "derive": {"fact.d": {"v": 1, "all": [{"from": "fact.a.n"}, {"from": "fact.b.n"}], "n": 7}},
    }
}


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (op("eq", "fact.d", {"v": 1, "n": 7, "all": [1, 2]}), "counterexample"),
        (op("eq", "fact.d", {"v": 1, "n": 7, "all": [1, 3]}), "proved"),
        (op("eq", "fact.d", {"v": 1, "n": 8, "all": [1, 2]}), "proved"),
        (op("eq", "fact.d", {"v": 1, "n": 7, "all": [1]}), "proved"),
        (op("eq", "fact.d", {"v": 1, "all": [1, 2]}), "proved"),
        (op("in", "fact.d", [7, {"v": 1, "n": 7, "all": [1, 2]}]), "counterexample"),
        (op("in", "fact.d.all", [[2, 1], [1]]), "proved"),
        (op("subset", "fact.d.all", [1, 2, 3]), "counterexample"),
        (op("subset", "fact.d.all", [1, 3]), "proved"),
        (op("intersects", "fact.d.all", [2]), "counterexample"),
        (op("intersects", "fact.d.all", [3]), "proved"),
        (op("intersects", "fact.d", [3]), "proved"),
        (op("count", "fact.d.all", "eq", 2), "counterexample"),
        (op("count", "fact.d", "gt", 3), "proved"),
        (op("starts_with", "fact.d", "a"), "proved"),
        (op("gt", "fact.d.all", 0), "proved"),
        (op("missing", "fact.d.all"), "proved"),
        (op("schema", "fact.d", {"required": ["m"]}), "cannot_say"),
    ],
)
def test_conditions_on_a_whole_fact_are_followed_into_what_it_copies(
    condition: dict[str, Any], answer: str
) -> None:
    known = [op("eq", "fact.a.n", 1), op("eq", "fact.b.n", 2), condition]
    proof = Prover(policy(OF_BOTH, op("not", op("all", *known)))).answer(ALONE)
    assert proof.answer == answer
    assert ("`fact.d`" in proof.why) == (answer == "cannot_say")


def test_too_much_to_unroll_is_left_open_and_never_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivations, "MOST_UNROLLED", 0)
    found = policy(NEEDED, op("missing", "fact.d"))
    assert Prover(found).answer(ALONE).answer in ("counterexample", "cannot_say")
    assert (
        Prover(policy(NEEDED, op("missing", "fact.d"), op("exists", "fact.d"))).answer(ALONE).answer
        == "proved"
    )


def test_a_long_chain_of_rules_is_followed_to_its_beginning() -> None:
    chain = {
        f"rule.r{at:03}": {
            "v": 1,
            "when": op("exists", f"fact.c{at}"),
            "derive": {f"fact.c{at + 1}": {"v": 1}},
        }
        for at in range(900)
    }
    found = policy(chain, op("missing", "fact.c900"))
    proof = Prover(found).answer(ALONE)
    assert (proof.answer, proof.call and proof.call.state) == ("counterexample", {"fact.c0": {"v": 1}})


def test_what_rules_read_of_the_policy_is_known() -> None:
    eco = {"rule.p": {"v": 1, "when": op("eq", "policy.mode", "eco"), "derive": {"fact.d": {"v": 1}}}}
    proof = Prover(policy(eco, op("missing", "fact.d"))).answer(ALONE)
    assert (proof.answer, proof.call and proof.call.call["mode"]) == ("counterexample", "eco")
    second = {"rule.p": {"v": 1, "when": op("eq", "policy.version", 99), "derive": {"fact.d": {"v": 1}}}}
    assert Prover(policy(second, op("missing", "fact.d"))).answer(ALONE).answer == "proved"
