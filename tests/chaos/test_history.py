"""The checker finds what it is there for: each history below is forged in one way."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.chaos.history import Kept, Read, Seen, Try, problems

LEDGER = [Kept(1, "e1", ""), Kept(2, "e2", "a"), Kept(3, "e3", "b"), Kept(4, "e4", "c")]
A = Try("s", "a", 0, 1, "ok", 2, "e2")
B = Try("s", "b", 2, 3, "ok", 3, "e3")
C = Try("s", "c", 2.5, 9, "unknown")
READ = Read("s", 4, 5, ("e1", "e2", "e3"))
LATER = Read("s", 6, 7, ("e1", "e2", "e3", "e4"))


def found(
    ledger: Sequence[Kept] = LEDGER, tries: Sequence[Try] = (A, B, C), reads: Sequence[Read] = (READ, LATER)
) -> list[str]:
    return problems(ledger, tries, reads)


def test_a_history_that_one_order_explains_is_accepted() -> None:
    assert found() == []
    # A retry under the same key, told the same, ended long after others had begun.
    assert found(tries=[A, replace(A, began=8, ended=9), B, C]) == []
    # What nobody was told of may be there or not.
    assert found(LEDGER[:3], reads=[READ]) == []


@pytest.mark.parametrize(
    ("what", "ledger", "tries", "reads"),
    [
        ("is not there", LEDGER[:2], (A, B), ()),
        ("is there twice", [*LEDGER, Kept(5, "e5", "a")], (A, B, C), ()),
        ("event_id e2 is there twice", [*LEDGER, Kept(5, "e2", "")], (A, B, C), ()),
        ("should be at 3", [*LEDGER[:2], Kept(4, "e4", "c")], (A, C), ()),
        ("and is at 2", LEDGER, (replace(A, seq=3), B, C), ()),
        ("and is at 2", LEDGER, (replace(A, event_id="e9"), B, C), ()),
        ("was answered in 2 ways", LEDGER, (A, replace(A, seq=4, event_id="e4"), B, C), ()),
        ("was refused, and is there", LEDGER, (A, B, replace(C, outcome="refused")), ()),
        ("nobody sent it", LEDGER, (A, B), ()),
        ("a smaller number began", LEDGER, (replace(A, began=4, ended=5), B, C), ()),
        ("did not see the beginning", LEDGER, (A, B, C), [replace(READ, event_ids=("e1", "e3", "e2"))]),
        ("did not see the beginning", LEDGER, (A, B, C), [replace(READ, event_ids=("e1", "e2", "e9"))]),
        ("had been acknowledged before", LEDGER, (A, B, C), [replace(READ, event_ids=("e1", "e2"))]),
        ("before anybody had sent it", LEDGER, (A, B, replace(C, began=8)), [LATER]),
        (
            "after one had seen",
            LEDGER,
            (A, B, C),
            [replace(LATER, ended=6), replace(READ, began=6.5, ended=8)],
        ),
    ],
)
def test_a_forged_history_is_found_out(
    what: str, ledger: Sequence[Kept], tries: Sequence[Try], reads: Sequence[Read]
) -> None:
    told = problems(ledger, tries, reads)
    assert told
    assert what in told[0]


NEXT = replace(B, after="e2")
SEEN = Seen("s", 4, 5, 3, "e3", "h3")
SHOWN = [replace(one, survivors=f"h{one.seq}") for one in LEDGER]


def test_what_follows_what_was_seen_is_accepted() -> None:
    late = Try("s", "d", 4, 5, "refused", after="e2")
    assert problems(SHOWN, [A, NEXT, C, late], [READ], [SEEN]) == []


@pytest.mark.parametrize(
    ("what", "tries", "seen"),
    [
        ("was let through elsewhere", (A, replace(B, after="e1"), C), ()),
        ("nothing had followed", (A, B, C, Try("s", "d", 1.2, 1.5, "refused", after="e2")), ()),
        ("nothing had followed", (A, B, C, Try("s", "d", 8, 9, "refused", after="e4")), ()),
        ("does not show", (A, B, C), [replace(SEEN, survivors="h2")]),
        ("does not show", (A, B, C), [replace(SEEN, event_id="e2")]),
        ("does not show", (A, B, C), [replace(SEEN, seq=9)]),
        ("had been acknowledged before", (A, B, C), [replace(SEEN, seq=2, event_id="e2", survivors="h2")]),
    ],
)
def test_a_forged_condition_or_snapshot_is_found_out(
    what: str, tries: Sequence[Try], seen: Sequence[Seen]
) -> None:
    told = problems(SHOWN, tries, [], seen)
    assert told
    assert what in told[0]


@given(st.permutations(range(1, 9)))
def test_any_order_but_that_of_time_is_found_out(order: list[int]) -> None:
    """Writes one after the other: the only order that explains them is the one they were made in."""
    tries = [Try("s", f"w{one}", one, one + 0.5, "ok", seq, f"e{seq}") for seq, one in enumerate(order, 1)]
    ledger = [Kept(seq, f"e{seq}", f"w{one}") for seq, one in enumerate(order, 1)]
    assert (problems(ledger, tries, []) == []) == (order == sorted(order))
