"""The Merkle tree agrees with the published examples, and with a model that follows RFC 6962 word by word."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.ledger import merkle
from beliefd.ledger.merkle import BadProof, Place, leaf_hash
from tests.ledger.merkle_model import mth, path, sha, subproof

# The leaves and the roots over the first 1, 2, ... of them that implementations of Certificate Transparency
# have been tested with since there is one.
LEAVES = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
SIX_TO_EIGHT = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]


def tree(leaves: list[bytes], batches: list[int]) -> dict[Place, bytes]:
    """The tiles after the leaves came in batches; each batch is given nothing but the edge."""
    tiles: dict[Place, bytes] = {}
    size = 0
    while size < len(leaves):
        batch = leaves[size : size + batches[size % len(batches)]]
        known = {place: tiles[place] for place in merkle.edge(size)}
        tiles |= merkle.grown(size, known, [leaf_hash(one) for one in batch])
        size += len(batch)
    return tiles


def only(tiles: dict[Place, bytes], ranges: list[merkle.Range]) -> dict[Place, bytes]:
    return {place: tiles[place] for place in merkle.tiles_for(ranges)}


def root_of(tiles: dict[Place, bytes], size: int) -> bytes:
    return merkle.root(size, only(tiles, merkle.roots(size)))


def test_the_published_roots_and_the_published_proof() -> None:
    tiles = tree(LEAVES, [3])
    assert [root_of(tiles, size).hex() for size in range(1, 9)] == ROOTS
    assert merkle.root(0, {}) == hashlib.sha256(b"").digest()
    told = [bytes.fromhex(one) for one in SIX_TO_EIGHT]
    ranges = merkle.consistency_ranges(6, 8)
    assert merkle.proof(ranges, only(tiles, ranges)) == told
    merkle.verify_consistency(6, 8, bytes.fromhex(ROOTS[5]), bytes.fromhex(ROOTS[7]), told)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1_200), st.lists(st.integers(1, 600), min_size=1, max_size=5), st.data())
def test_roots_and_proofs_are_those_of_the_model(size: int, batches: list[int], data: st.DataObject) -> None:
    leaves = [number.to_bytes(4, "big") for number in range(size)]
    tiles = tree(leaves, batches)
    first = data.draw(st.integers(1, size))
    index = data.draw(st.integers(0, first - 1))
    early, late = mth(leaves[:first]), mth(leaves)
    assert (root_of(tiles, first), root_of(tiles, size)) == (early, late)
    ranges = merkle.inclusion_ranges(index, first)
    shown = merkle.proof(ranges, only(tiles, ranges))
    assert shown == path(index, leaves[:first])
    merkle.verify_inclusion(leaf_hash(leaves[index]), index, first, shown, early)
    ranges = merkle.consistency_ranges(first, size)
    between = merkle.proof(ranges, only(tiles, ranges))
    assert between == subproof(first, leaves, True)
    merkle.verify_consistency(first, size, early, late, between)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 70), st.data())
def test_a_proof_shows_nothing_else(size: int, data: st.DataObject) -> None:
    leaves = [bytes([number]) for number in range(size)]
    first = data.draw(st.integers(1, size - 1))
    index = data.draw(st.integers(0, size - 1))
    shown, between = path(index, leaves), subproof(first, leaves, True)
    leaf, early, late = leaf_hash(leaves[index]), mth(leaves[:first]), mth(leaves)
    for other in (index - 1, index + 1):
        with pytest.raises(BadProof):
            merkle.verify_inclusion(leaf, other, size, shown, late)
    with pytest.raises(BadProof):  # for another size
        merkle.verify_inclusion(leaf, index, size, path(index, leaves), mth([*leaves, b"more"]))
    for damaged in damages(shown):
        with pytest.raises(BadProof):
            merkle.verify_inclusion(leaf, index, size, damaged, late)
    for damaged in damages(between):
        with pytest.raises(BadProof):
            merkle.verify_consistency(first, size, early, late, damaged)
    with pytest.raises(BadProof):
        merkle.verify_consistency(first, size, sha(b"forged"), late, between)
    with pytest.raises(BadProof):
        merkle.verify_consistency(first, size, early, sha(b"forged"), between)
    with pytest.raises(BadProof):
        merkle.verify_consistency(size, first, late, early, between)


def damages(proof: list[bytes]) -> list[list[bytes]]:
    """Every hash changed, one missing, one too many, and a hash of another length."""
    changed = [[*proof[:at], sha(proof[at]), *proof[at + 1 :]] for at in range(len(proof))]
    short = [proof[:-1], [*proof[:-1], proof[-1][:-1]]] if proof else []
    return [*changed, *short, [*proof, sha(b"more")]]


def test_what_is_not_in_a_tree_has_no_proof() -> None:
    for index, size in ((0, 0), (3, 3), (-1, 3)):
        with pytest.raises(BadProof, match="not in a tree"):
            merkle.inclusion_ranges(index, size)
    for first, size in ((0, 3), (4, 3)):
        with pytest.raises(BadProof, match="no beginning"):
            merkle.consistency_ranges(first, size)
    with pytest.raises(BadProof, match="fewer hashes than its tree"):
        merkle.root(3, {(0, 0): leaf_hash(b"") * 2})
    merkle.verify_consistency(0, 3, merkle.EMPTY_ROOT, sha(b"any"), [])
    with pytest.raises(BadProof):
        merkle.verify_consistency(0, 3, sha(b"any"), sha(b"any"), [])
    with pytest.raises(BadProof):  # one size, two roots: two views of one log
        merkle.verify_consistency(3, 3, sha(b"one"), sha(b"other"), [])
