"""The Merkle tree of RFC 6962, section 2.1: its hashes, its proofs, and how both are checked. Pure.

A tree is only ever appended to. What is stored of it are tiles: each has up to 256 hashes of one height,
which are those of leaves, or the roots over 256 leaves, or over 65,536, and so on. All hashes between two
heights are computed from one tile when they are asked for. So appending touches the last tile of each height,
and a proof needs two tiles per height at most, however long the tree is.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

HASH_BYTES: Final = 32
TILE_HEIGHT: Final = 8
TILE_WIDTH: Final = 1 << TILE_HEIGHT
EMPTY_ROOT: Final = hashlib.sha256().digest()
MAX_LEAVES: Final = 1 << 53
"""So that sizes can be written as JSON; a proof has 53 hashes at most."""

Place = tuple[int, int]
"""Which tile: its height among tiles, and its number from the left."""
Range = tuple[int, int]
"""Leaves from the first number up to the one before the second."""
Tiles = Mapping[Place, bytes]


FEWER: Final = "it has fewer hashes than a proof for these places"
MORE: Final = "it has more hashes than a proof for these places"


class BadProof(ValueError):
    """The proof does not show what it should; the text says why."""


class OtherRoot(BadProof):
    """It has the form of a proof, and leads to another root."""


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


# -- tiles -------------------------------------------------------------------------------------------


def edge(size: int) -> list[Place]:
    """The last tiles of a tree of this size, of all heights, where they are not full: what grows next."""
    places = []
    for height in range(_heights(size)):
        number, held = divmod(size >> (TILE_HEIGHT * height), TILE_WIDTH)
        if held:
            places.append((height, number))
    return places


def grown(size: int, tiles: Tiles, leaves: Sequence[bytes]) -> dict[Place, bytes]:
    """The tiles that are new or longer once these hashes of leaves follow; `tiles` has the edge."""
    changed: dict[Place, bytes] = {}
    height, hashes = 0, list(leaves)
    while hashes:
        number, held = divmod(size >> (TILE_HEIGHT * height), TILE_WIDTH)
        row = b"".join((tiles[height, number] if held else b"", *hashes))
        hashes = []
        for start in range(0, len(row), TILE_WIDTH * HASH_BYTES):
            tile = row[start : start + TILE_WIDTH * HASH_BYTES]
            changed[height, number] = tile
            number += 1
            if len(tile) == TILE_WIDTH * HASH_BYTES:
                hashes.append(_folded(_split(tile)))
        height += 1
    return changed


def root(size: int, tiles: Tiles) -> bytes:
    """The root of a tree of this size; `tiles` has those of `tiles_for(roots(size))`."""
    return range_hash((0, size), tiles) if size else EMPTY_ROOT


def roots(size: int) -> list[Range]:
    return [(0, size)] if size else []


def tiles_for(ranges: Iterable[Range]) -> set[Place]:
    """Where the hashes of these ranges are computed from."""
    return {_place(height, number)[0] for one in ranges for height, number in _subtrees(one)}


def range_hash(leaves: Range, tiles: Tiles) -> bytes:
    """MTH of RFC 6962 over leaves that begin where a subtree of at least their number can begin."""
    hashes = [_subtree_hash(height, number, tiles) for height, number in _subtrees(leaves)]
    return _bagged(hashes)


def _heights(size: int) -> int:
    return -(-max(size, 1).bit_length() // TILE_HEIGHT)


def _subtrees(leaves: Range) -> Iterator[tuple[int, int]]:
    """The perfect subtrees, from the left: by height, and by number among those of their height."""
    start, end = leaves
    while start < end:
        height = (end - start).bit_length() - 1
        yield height, start >> height
        start += 1 << height


def _place(height: int, number: int) -> tuple[Place, int, int]:
    """The tile under a subtree, and from where to where its hashes stand there."""
    tile_height, above = divmod(height, TILE_HEIGHT)
    tile, first = divmod(number << above, TILE_WIDTH)
    return (tile_height, tile), first, first + (1 << above)


def _subtree_hash(height: int, number: int, tiles: Tiles) -> bytes:
    place, first, end = _place(height, number)
    piece = tiles.get(place, b"")[first * HASH_BYTES : end * HASH_BYTES]
    if len(piece) != (end - first) * HASH_BYTES:
        raise BadProof(f"tile {place[1]} of height {place[0]} has fewer hashes than its tree")
    return _folded(_split(piece))


def _split(tile: bytes) -> list[bytes]:
    return [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]


def _folded(hashes: list[bytes]) -> bytes:
    """The root over as many hashes as a power of two."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
    return hashes[0]


def _bagged(hashes: list[bytes]) -> bytes:
    """The root over perfect subtrees that become smaller from the left to the right."""
    whole = hashes[-1]
    for left in reversed(hashes[:-1]):
        whole = node_hash(left, whole)
    return whole


# -- proofs ------------------------------------------------------------------------------------------


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Whose hashes show that a leaf is in a tree of this size: PATH of RFC 6962, 2.1.1, from the leaf up."""
    if not 0 <= index < size:
        raise BadProof(f"leaf {index} is not in a tree of {size}")
    beside: list[Range] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split_at(end - start)
        beside.append((middle, end) if index < middle else (start, middle))
        start, end = (start, middle) if index < middle else (middle, end)
    return beside[::-1]


def consistency_ranges(first: int, size: int) -> list[Range]:
    """Whose hashes show that a tree begins with an earlier one: PROOF of RFC 6962, 2.1.2."""
    if not 0 < first <= size:
        raise BadProof(f"a tree of {size} has no beginning of {first}")
    beside: list[Range] = []
    start, end, known = 0, size, True
    while first != end:
        middle = start + _split_at(end - start)
        if first <= middle:
            beside.append((middle, end))
            end = middle
        else:
            beside.append((start, middle))
            start, known = middle, False
    return ([] if known else [(start, end)]) + beside[::-1]


def proof(ranges: Iterable[Range], tiles: Tiles) -> list[bytes]:
    return [range_hash(one, tiles) for one in ranges]


def _split_at(size: int) -> int:
    """The largest power of two that is smaller."""
    return 1 << (size - 1).bit_length() - 1


def included_root(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root that a leaf and its proof lead to."""
    if not 0 <= index < size <= MAX_LEAVES:
        raise BadProof(f"leaf {index} is not in a tree of {size}")
    _check_hashes((leaf, *path))
    whole = leaf
    for beside, on_the_left in _climbed(index, size - 1, path):
        whole = node_hash(beside, whole) if on_the_left else node_hash(whole, beside)
    return whole


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], whole: bytes) -> None:
    """Raise BadProof unless the leaf is at this index of the tree of this size and root."""
    if included_root(leaf, index, size, path) != whole:
        raise OtherRoot("it leads to another root")


def verify_consistency(first: int, size: int, first_root: bytes, whole: bytes, path: Sequence[bytes]) -> None:
    """Raise BadProof unless the tree of this size and root begins with the earlier one."""
    if not 0 <= first <= size <= MAX_LEAVES:
        raise BadProof(f"a tree of {size} has no beginning of {first}")
    _check_hashes((first_root, whole, *path))
    if first in (0, size):
        if path:
            raise BadProof("between these sizes a proof has no hashes")
        if first_root != (EMPTY_ROOT if first == 0 else whole):
            raise OtherRoot("it leads to another root")
        return
    # A beginning that is one perfect subtree is known to whoever checks, and not told again.
    hashes = [first_root, *path] if first & (first - 1) == 0 else list(path)
    if not hashes:
        raise BadProof(FEWER)
    height = (first & -first).bit_length() - 1
    before = after = hashes[0]
    for beside, on_the_left in _climbed((first - 1) >> height, (size - 1) >> height, hashes[1:]):
        if on_the_left:
            before = node_hash(beside, before)
        after = node_hash(beside, after) if on_the_left else node_hash(after, beside)
    if before != first_root:
        raise OtherRoot("it leads to another root of the earlier tree")
    if after != whole:
        raise OtherRoot("it leads to another root")


def _climbed(place: int, last: int, path: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The hashes of a proof from the bottom up, each with whether it stands on the left (RFC 9162, 2.1.3.2
    and 2.1.4.2). `place` is where the way begins, `last` the last place of that height."""
    for beside in path:
        if last == 0:
            raise BadProof(MORE)
        on_the_left = bool(place & 1) or place == last
        while place == last and place and not place & 1:  # nothing stands beside it at these heights
            place, last = place >> 1, last >> 1
        yield beside, on_the_left
        place, last = place >> 1, last >> 1
    if last != 0:
        raise BadProof(FEWER)


def _check_hashes(hashes: Iterable[bytes]) -> None:
    # INVARIANT: a hash of another length could pass for two, or for a leaf.
    if any(len(one) != HASH_BYTES for one in hashes):
        raise BadProof(f"a hash has {HASH_BYTES} bytes")
