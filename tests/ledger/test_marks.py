"""Marks along a chain: close enough together that little has to be read to check one entry."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from beliefd.ledger.marks import HEAVY_BYTES, STEP, Marks


def test_marks_lie_close_together_where_entries_are_long() -> None:
    hashes = [sha256(str(n).encode()).hexdigest() for n in range(200)]
    marks = Marks()
    for n in range(0, 200, 50):
        marks.extend(hashes[n : n + 50], [b"x"] * 50)
    assert [marks.next_to(seq)[0] for seq in (1, STEP, STEP + 1, 192, 193)] == [64, 64, 128, 192, 200]
    assert marks.next_to(100) == (128, hashes[127])
    marks.extend(hashes[:3], [b"x" * HEAVY_BYTES] * 3)
    assert [marks.next_to(seq)[0] for seq in (201, 202, 203)] == [201, 202, 203]
    rest = Marks(*marks.end)
    rest.extend(hashes[3:], [b"x"] * 197)
    assert marks.join(rest)
    assert not marks.join(rest)
    assert marks.end == (400, hashes[-1])


@given(
    st.lists(st.lists(st.sampled_from([1, 900, HEAVY_BYTES // 3, HEAVY_BYTES + 1]), min_size=1), max_size=12),
    st.sets(st.integers(1, 11)),
)
def test_little_lies_between_an_entry_and_the_next_mark(chunks: list[list[int]], joins: set[int]) -> None:
    """Wherever the chain was written in pieces, and wherever somebody else's were joined to it."""
    whole, going_on = Marks(), Marks()
    sizes: list[int] = []
    for number, chunk in enumerate(chunks):
        if number in joins:
            assert whole.join(going_on)
            going_on = Marks(*whole.end)
        hashes = [sha256(str(len(sizes) + n).encode()).hexdigest() for n in range(len(chunk))]
        going_on.extend(hashes, [bytes(size) for size in chunk])
        sizes += chunk
    assert whole.join(going_on)
    assert whole.seq == len(sizes)
    for seq in range(1, len(sizes) + 1):
        marked, hash_ = whole.next_to(seq)
        assert hash_ == sha256(str(marked - 1).encode()).hexdigest()
        assert seq <= marked <= -(-seq // STEP) * STEP
        assert sum(sizes[seq:marked]) <= HEAVY_BYTES
    assert whole.count <= len(sizes)
