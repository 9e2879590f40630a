"""A conclusion names a hypothesis however it is spelt, and what was eliminated is not concluded."""

import pytest

from beliefd.kernel.beliefs.rules import hypothesis_in
from beliefd.kernel.beliefs.survivors import Universe


@pytest.mark.parametrize(
    "said",
    [
        "disk",
        "cause:disk",
        "cause: disk",
        "Disk",
        "disk ",
        "cause=disk",
        "cause/disk",
        "cause:disk.",
        "cause:disk\u200b",
        "cause\uff1adisk",
        "d\u0456sk",
        "di\u3164sk",
    ],
)
def test_a_spelling_makes_no_other_name(said: str) -> None:
    assert hypothesis_in(said, Universe(["disk", "pool"])) == "disk"


@pytest.mark.parametrize("said", ["disks", "not disk", "disk:no", "root_cause", "", ":", "cause:"])
def test_what_names_none_is_free(said: str) -> None:
    assert hypothesis_in(said, Universe(["disk", "pool"])) is None


def test_the_whole_name_comes_before_its_parts() -> None:
    universe = Universe(["cause:disk", "disk"])
    assert hypothesis_in("cause:disk", universe) == "cause:disk"
    assert hypothesis_in("why:cause:disk", universe) == "cause:disk"
