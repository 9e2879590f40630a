"""Canonical bytes straight from Structs are those of their JSON values, or the same refusal."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel import canonical_structs
from beliefd.kernel.canonical import MAX_DEPTH, NotCanonical, canonical
from beliefd.kernel.canonical_structs import Untagged, canonical_envelope, canonical_of
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.commands import Command
from beliefd.kernel.events import Event
from tests.claims.strategies import bundles
from tests.kernel.any_value import any_of

# Also what only Python can make: lone surrogates, integers past 2^53, NaN, keys in another order than bytes.
texts = st.text(max_size=4) | st.text('\ud800a\u00e9"\\\n\uffff\U0001f600', max_size=4)
numbers = (
    st.integers() | st.integers(-(2**60), 2**60) | st.floats() | st.floats(-2, 2) | st.integers().map(float)
)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | texts | numbers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


class Colour(StrEnum):
    RED = "red"


class Inner(Struct, frozen=True):
    share: float
    name: str = "n"


class Deeper(Inner, frozen=True):
    """A subclass may stand where its base is declared, with more in it."""

    more: Any = None


class Texts(Struct, frozen=True):
    """Nothing but texts: no doubt about how it is written."""

    first: str
    others: tuple[str, ...] = ()


class Leaf(Struct, frozen=True):
    """Nobody derives from it, so its type says all that is in it."""

    share: float
    texts: Texts = Texts("t")
    maybe: float | UnsetType = UNSET


class Kind(Struct, frozen=True, tag_field="verb", tag="KIND"):
    zebra: str
    inner: Inner
    many: tuple[Inner, ...]
    seen: float | str | None
    count: int
    by_name: dict[str, float]
    said: Any = None
    texts: tuple[str, ...] = ()
    colour: Colour = Colour.RED
    missing: float | UnsetType = UNSET
    next_one: "Kind | None" = None
    renamed: float = msgspec.field(default=0.5, name="Renamed")
    leaf: Leaf = Leaf(0.5)
    leaves: dict[str, Leaf] = {}
    more: tuple[Leaf, ...] | UnsetType = UNSET
    one: Leaf | None = None


inners = st.builds(Inner, numbers, texts) | st.builds(Deeper, numbers, texts, anything)
leaves = st.builds(Leaf, numbers, st.builds(Texts, texts), st.just(UNSET) | numbers)
kinds: st.SearchStrategy[Kind] = st.deferred(
    lambda: st.builds(
        Kind,
        texts,
        inners,
        st.lists(inners, max_size=3).map(tuple),
        numbers | texts | st.none(),
        numbers,
        st.dictionaries(texts, numbers, max_size=3),
        anything,
        st.lists(texts, max_size=2).map(tuple),
        missing=st.just(UNSET) | numbers,
        next_one=st.none() | kinds,
        leaf=leaves,
        leaves=st.dictionaries(texts, leaves, max_size=3),
        more=st.just(UNSET) | st.lists(leaves, max_size=3).map(tuple),
        one=st.none() | leaves,
    )
)


def outcome(work: Callable[[], bytes]) -> bytes | tuple[str, str]:
    try:
        return work()
    except NotCanonical as refused:
        return refused.message, refused.path


@settings(max_examples=400)
@given(kinds)
def test_bytes_and_refusals_are_those_of_the_json_value(value: Kind) -> None:
    assert outcome(lambda: canonical_of(value)) == outcome(lambda: canonical(msgspec.to_builtins(value)))


@pytest.mark.parametrize("place", ["by_name", "said", "leaves"])
def test_keys_are_ordered_by_their_utf16_units(place: str) -> None:
    held = Leaf(0.5) if place == "leaves" else 0.5
    fields: dict[str, Any] = {"by_name": {}, place: {"\uffff": held, "\U0001f600": held}}
    value = Kind("z", Inner(0.5), (), None, 1, **fields)
    assert canonical_of(value) == rfc8785.dumps(msgspec.to_builtins(value))


@settings(max_examples=400)
@given(any_of(Command) | any_of(Event))
def test_commands_and_events_have_the_bytes_of_the_reference(value: Struct) -> None:
    assert canonical_of(value) == rfc8785.dumps(msgspec.to_builtins(value))


@given(bundles())
def test_bundles_have_the_bytes_of_the_reference(value: ClaimBundle) -> None:
    assert canonical_of(value) == rfc8785.dumps(msgspec.to_builtins(value))


@settings(max_examples=200)
@given(kinds, kinds)
@example(*[Kind("\ud800", Inner(0.5), (), None, 1, {})] * 2)
def test_an_envelope_has_the_bytes_of_the_whole(event: Kind, command: Kind) -> None:
    told = msgspec.to_builtins(command)
    del told["verb"]
    whole = {"a": "b", "delta": msgspec.to_builtins(event), "payload": told, "seq": 3}
    foreign = {"delta": event, "payload": Untagged(command)}
    found = outcome(lambda: canonical_envelope({"a": "b", "seq": 3}, foreign))
    assert found == outcome(lambda: canonical(whole))


def test_an_integer_past_the_bounds_is_refused_in_what_is_our_own_too() -> None:
    with pytest.raises(NotCanonical, match="past 2"):
        canonical_envelope({"payload": {"n": 2**53}}, {})


class Tree(Struct, frozen=True):
    branches: "tuple[Branch, ...]" = ()


class Branch(Struct, frozen=True, omit_defaults=True):
    trees: tuple[Tree, ...] = ()
    length: float = 0.5


@pytest.mark.parametrize(
    "value", [Tree((Branch((Tree((Branch(length=2.0),)),)),)), Branch(length=3.0), Branch()]
)
def test_types_within_each_other_and_fields_that_are_left_out(value: Struct) -> None:
    assert canonical_of(value) == rfc8785.dumps(msgspec.to_builtins(value))
    whole = rfc8785.dumps({"payload": msgspec.to_builtins(value)})
    assert canonical_envelope({}, {"payload": Untagged(value)}) == whole


@pytest.mark.parametrize("levels", [MAX_DEPTH // 2, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
def test_it_counts_levels_as_the_walk_does(levels: int) -> None:
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    value = Kind("z", Inner(0.5), (), None, 1, {}, said=nested)
    assert outcome(lambda: canonical_of(value)) == outcome(lambda: canonical(msgspec.to_builtins(value)))


def test_an_ordinary_value_needs_no_walk_and_a_whole_number_none_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ordinary = Kind("z", Inner(0.5), (Inner(0.25), Inner(1.0)), 0.0, 1, {"a": 2.0}, said={"b": [1.0, 0.5]})
    expected = rfc8785.dumps(msgspec.to_builtins(ordinary))

    def never(_: Any) -> bytes:
        raise AssertionError("it went the long way")

    monkeypatch.setattr(canonical_structs, "canonical", never)
    assert canonical_of(ordinary) == expected
    assert ordinary.many[1].share == 1.0
    assert type(ordinary.many[1].share) is float
