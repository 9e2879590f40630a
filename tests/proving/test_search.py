"""No call refutes what is proved: random policies at the edges, the same ones every time."""

from collections import Counter

import pytest

from tests.proving.searching import searched

SEEDS = (*range(84), 125, 211, 240, 373)
"""The last ones told of defects before, as some of the first did."""
PARTS = 8
SITUATIONS = 150


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_proved_is_refuted_by_no_call_and_what_is_refuted_replays(part: int) -> None:
    said = Counter[str]()
    wrong = [found for seed in SEEDS[part::PARTS] for found in searched(seed, SITUATIONS, said)]
    assert not wrong, wrong[0]
    # A prover that never says anything would pass.
    assert (
        said["policy proved"] + said["update proved"] > said["policy cannot_say"] + said["update cannot_say"]
    )
    assert said["policy counterexample"] > 0
