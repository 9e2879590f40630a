"""The language of patterns is the one that the documentation says, and so is what a call holds."""

import re
from pathlib import Path

import pytest

from beliefd.kernel.substrate.schemas import BadPattern, Pattern
from beliefd.policy.path_names import call_members

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "substrate.md").read_text()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\d", "\u0663", False),
        (r"\w", "é", False),
        (".", "\n", False),
        (".", "\r", True),
        (".", "\u2028", True),
        (r"\bpass", "épass", False),
        ("(?i)A", "a", True),
        ("(?x) a b", "ab", True),
        (r"\Aa\z", "a", True),
        (r"\Aa\z", "a\n", False),
        ("^a$", "a\n", False),
    ],
)
def test_patterns_are_those_of_rust(pattern: str, text: str, found: bool) -> None:
    assert Pattern(pattern).found_in(text) is found


@pytest.mark.parametrize("pattern", ["{", "a{,2}", r"\0"])
def test_what_only_ecmascript_reads_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(pattern)


def test_the_page_says_all_that_a_call_holds() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `call.")]
    assert {name for row in rows for name in re.findall(r"`call\.(\w+)`", row)} == set(call_members())
