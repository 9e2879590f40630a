"""The Merkle tree agrees with the published examples, and with a model that follows RFC 6962 word by word."""

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.ledger import merkle
from beliefd.ledger.merkle import BadProof, Place, leaf_hash
from tests.conformance.node import CONFORMANCE, node
from tests.ledger.merkle_model import mth, path, sha, subproof
from tests.ledger.published_merkle import CONSISTENCY, INCLUSION, LEAVES, NODES, ROOTS, hashes


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


def test_the_published_roots_and_nodes() -> None:
    tiles = tree(LEAVES, [3])
    assert [root_of(tiles, size).hex() for size in range(1, 9)] == ROOTS[1:]
    assert merkle.root(0, {}).hex() == ROOTS[0]
    for name, told in NODES.items():
        first, _, last = name.partition("-")
        one = int(first), int(last or first) + 1
        assert merkle.range_hash(one, only(tiles, [one])).hex() == told, name


@pytest.mark.parametrize(("at", "names"), INCLUSION.items(), ids=str)
def test_the_published_inclusion_proofs_are_made_and_taken(at: tuple[int, int], names: str) -> None:
    index, size = at
    ranges = merkle.inclusion_ranges(index, size)
    shown = merkle.proof(ranges, only(tree(LEAVES, [3]), ranges))
    assert [one.hex() for one in shown] == hashes(names)
    merkle.verify_inclusion(leaf_hash(LEAVES[index]), index, size, shown, bytes.fromhex(ROOTS[size]))


@pytest.mark.parametrize(("at", "names"), CONSISTENCY.items(), ids=str)
def test_the_published_consistency_proofs_are_made_and_taken(at: tuple[int, int], names: str) -> None:
    first, size = at
    ranges = merkle.consistency_ranges(first, size)
    shown = merkle.proof(ranges, only(tree(LEAVES, [3]), ranges))
    assert [one.hex() for one in shown] == hashes(names)
    merkle.verify_consistency(first, size, bytes.fromhex(ROOTS[first]), bytes.fromhex(ROOTS[size]), shown)


def test_node_takes_the_published_proofs_and_no_other() -> None:
    inclusion = [
        [NODES[str(index)], index, size, hashes(names), ROOTS[size]]
        for (index, size), names in INCLUSION.items()
    ]
    consistency = [
        [first, ROOTS[first], size, ROOTS[size], hashes(names)]
        for (first, size), names in CONSISTENCY.items()
    ]
    code = f"""
        import {{ checkConsistency, rootOf }} from "{(CONFORMANCE / "verify_log.mjs").as_uri()}";
        const [inclusion, consistency] = {json.dumps([inclusion, consistency])};
        const bytes = (hex) => Buffer.from(hex, "hex");
        const taken = (work) => {{ try {{ return work() ?? true; }} catch {{ return false; }} }};
        const one = (size, root) => ({{ origin: "o", size, root: bytes(root) }});
        const shown = inclusion.map(([leaf, index, size, path, root]) =>
          rootOf(bytes(leaf), index, size, path.map(bytes)).equals(bytes(root)));
        const kept = consistency.map(([first, before, size, after, path]) =>
          taken(() => checkConsistency(one(first, before), one(size, after), path.map(bytes))));
        const later = consistency.filter(([first, , size]) => first < size);
        const other = later.map(([first, before, size, , path]) =>
          taken(() => checkConsistency(one(first, before), one(size, before), path.map(bytes))));
        console.log(JSON.stringify([shown, kept, other]));
    """
    done = subprocess.run(
        [node(), "--input-type=module", "-e", code], capture_output=True, timeout=60, check=True
    )
    shown, kept, other = json.loads(done.stdout)
    assert (set(shown), set(kept), set(other)) == ({True}, {True}, {False})
    assert (len(shown), len(kept)) == (len(INCLUSION), len(CONSISTENCY))


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
