"""Survivors against a naive recomputation: sets for membership, hand-packed bytes for the hashes."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import beliefd.kernel.beliefs.survivors as survivors_module
from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.testing.strategies import ids, universes


def naive_universe_hash(universe: set[str]) -> bytes:
    data = b"belief/1 universe\0"
    for name in sorted(name.encode("utf-8") for name in universe):
        data += len(name).to_bytes(4, "big") + name
    return hashlib.sha256(data).digest()


def naive_survivors_hash(universe: set[str], survivors: set[str]) -> str:
    bits = ["1" if name.decode() in survivors else "0" for name in sorted(n.encode() for n in universe)]
    padded = "".join(bits) + "0" * (-len(bits) % 8)
    bitmap = bytes(int(padded[at : at + 8], 2) for at in range(0, len(padded), 8))
    return hashlib.sha256(b"belief/1 survivors\0" + naive_universe_hash(universe) + bitmap).hexdigest()


wide = st.sets(ids, min_size=1, max_size=40)


@given(wide, st.data())
def test_hash_and_membership_equal_a_naive_recomputation(universe: set[str], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(universe))))
    survivors = Survivors(Universe(universe)).without(gone)
    left = universe - gone
    assert survivors.universe.digest == naive_universe_hash(universe)
    assert survivors.digest == naive_survivors_hash(universe, left)
    assert list(survivors) == sorted(left)
    assert survivors.count == len(left)
    assert all((name in survivors) == (name in left) for name in universe)


@given(wide, st.data())
def test_the_hash_depends_on_who_survives_and_not_on_how_it_came_to_be(
    universe: set[str], data: st.DataObject
) -> None:
    gone = data.draw(st.lists(st.sampled_from(sorted(universe)), unique=True))
    at_once = Survivors(Universe(universe)).without(gone)
    one_by_one = Survivors(Universe(sorted(universe, reverse=True)))
    for name in reversed(gone):
        one_by_one = one_by_one.without([name]).without([name])
    assert one_by_one.digest == at_once.digest


@given(wide, st.data())
def test_packing_and_unpacking_gives_the_same_survivors(universe: set[str], data: st.DataObject) -> None:
    survivors = Survivors(Universe(universe)).without(data.draw(st.sets(st.sampled_from(sorted(universe)))))
    again = Survivors.from_bytes(survivors.universe, survivors.to_bytes())
    assert again.digest == survivors.digest
    assert again.count == survivors.count


def test_a_bitmap_that_does_not_fit_its_universe_is_refused() -> None:
    three = Universe("abc")
    for packed in (b"", b"\xff", b"\xe0\x00", b"\x10"):
        with pytest.raises(ValueError, match="does not fit"):
            Survivors.from_bytes(three, packed)


@given(wide, st.integers(0, 5), st.data())
def test_pages_put_together_are_all_survivors(universe: set[str], limit: int, data: st.DataObject) -> None:
    survivors = Survivors(Universe(universe)).without(data.draw(st.sets(st.sampled_from(sorted(universe)))))
    assert survivors.page(limit) == sorted(survivors)[:limit]
    seen: list[str] = []
    while page := survivors.page(3, seen[-1] if seen else None):
        seen += page
    assert seen == list(survivors)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a,b"], ["a", "b"]),
        (["a\u0000b"], ["a", "b"]),
        (["ab", "c"], ["a", "bc"]),
        (["a|b", "c"], ["a", "b|c"]),
        (["x"], ["x", "\u0000\u0000\u0000\u0001x"]),
    ],
)
def test_known_failure_ids_with_separators_do_not_collide(one: list[str], other: list[str]) -> None:
    assert Universe(one).digest != Universe(other).digest
    assert Survivors(Universe(one)).digest != Survivors(Universe(other)).digest


@given(universes, universes)
def test_different_universes_have_different_hashes(one: list[str], other: list[str]) -> None:
    assert (Universe(one).digest == Universe(other).digest) == (set(one) == set(other))


def test_order_is_that_of_utf8_bytes_where_utf16_would_differ() -> None:
    high, astral = "\uffff", "\U00010000"
    assert high.encode("utf-16-be") > astral.encode("utf-16-be")
    assert Universe([astral, high]).ids == (high, astral)


@given(st.lists(st.text(max_size=3), max_size=60), st.integers(1, 7), st.integers(1, 9))
def test_many_ids_sorted_in_portions_are_in_the_order_of_one_sort(
    names: list[str], at_once: int, sampled: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survivors_module, "SORTED_AT_ONCE", at_once)
        patch.setattr(survivors_module, "SAMPLED", sampled)
        assert Universe(names).ids == tuple(sorted(set(names)))
