"""Roots and proofs of the log are those that another implementation of Merkle trees finds, on any input."""

import json
import random
import subprocess

from beliefd.ledger import merkle
from beliefd.ledger.merkle import Place, leaf_hash
from clients.harness.install import ORACLE

SIZES = (*range(1, 40), 255, 256, 257, 700)
ASK = """
import json, sys
from pymerkle import InmemoryTree
tree = InmemoryTree(algorithm="sha256")
for leaf in json.load(sys.stdin)["leaves"]:
    tree.append_entry(bytes.fromhex(leaf))
def path(index, size):
    return tree.prove_inclusion(index + 1, size).serialize()["path"]
asked = json.loads(sys.argv[1])
print(json.dumps({
    "roots": [tree.get_root(size).hex() for size in asked["sizes"]],
    "paths": [path(index, size) for index, size in asked["places"]],
}))
"""


def test_roots_and_proofs_are_those_of_another_implementation() -> None:
    drawn = random.Random()
    seed = drawn.randrange(1 << 32)
    drawn.seed(seed)
    leaves = [drawn.randbytes(drawn.randrange(0, 80)) for _ in range(max(SIZES))]
    places = [(drawn.randrange(size), size) for size in SIZES for _ in range(4)]
    asked = {"sizes": SIZES, "places": places}
    told = subprocess.run(
        [ORACLE, "-W", "ignore", "-c", ASK, json.dumps(asked)],
        input=json.dumps({"leaves": [leaf.hex() for leaf in leaves]}).encode(),
        capture_output=True,
        timeout=120,
        check=True,
    )
    other = json.loads(told.stdout)
    tiles: dict[Place, bytes] = merkle.grown(0, {}, [leaf_hash(leaf) for leaf in leaves])
    roots = {size: merkle.root(size, tiles) for size in SIZES}
    assert [roots[size].hex() for size in SIZES] == other["roots"], seed
    for (index, size), path in zip(places, other["paths"], strict=True):
        ours = merkle.proof(merkle.inclusion_ranges(index, size), tiles)
        own = leaf_hash(leaves[index])
        # It lists the leaf too, and the hashes from the left to the right.
        assert sorted(one.hex() for one in (*ours, own)) == sorted(path), (seed, index, size)
        between = merkle.proof(merkle.consistency_ranges(index + 1, size), tiles)
        first = merkle.root(index + 1, tiles)
        merkle.verify_consistency(index + 1, size, first, roots[size], between)
