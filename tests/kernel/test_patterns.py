"""A text that does not fit its pattern is told what would, in words and not as a regular expression."""

from typing import Annotated

import msgspec
import pytest

from beliefd.kernel import patterns
from beliefd.kernel.locating import located

FITTING = {
    patterns.ID: ["a", "Grüße, 信念", "a b"],
    patterns.DIGEST: ["0aF"],
    patterns.SHA256: ["0a" * 32],
    patterns.HINTS_DIGEST: ["", "0a" * 8],
    patterns.TIMESTAMP: ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456+05:30"],
    patterns.REFERENCE: ["run:1/a@b#c", "a" * 128],
    patterns.INPUT_NAME: ["x", "rate_2"],
    patterns.UPSTREAM: ["files", "Git-2.0_x", "7", "a" * 64],
    patterns.SPACE: ["default", "7", "team-a.b_c", "a" * 64],
    patterns.POINTER: ["", "/a/0/b", "/", "/~0~1"],
    patterns.UNIT: ["1", "ms", "€", "%", "kg*m/s^2"],
}
UNFITTING = {
    patterns.ID: ["", "a\nb", "a\x00", "a\u2028b"],
    patterns.DIGEST: ["", "0g", "0x0"],
    patterns.SHA256: ["0a" * 31, "0A" * 32],
    patterns.HINTS_DIGEST: ["0a", "0A" * 8],
    patterns.TIMESTAMP: ["2026-01-01", "2026-01-01T00:00:00", "yesterday"],
    patterns.REFERENCE: ["", "-a", "a b", "a" * 129],
    patterns.INPUT_NAME: ["", "X", "1x", "muchtoolong"],
    patterns.UPSTREAM: ["", "-a", "a b", "a/b", "fïles", "a" * 65],
    patterns.SPACE: ["", "Lab", "*", "-a", "a b", "a/b", "lab\n", "a" * 65],
    patterns.POINTER: ["a", "/~2", "/a\x00"],
    patterns.UNIT: ["", "2", "m s", "a" * 17],
}


@pytest.mark.parametrize("pattern", patterns.IN_WORDS)
def test_a_pattern_takes_what_fits_and_tells_the_rest_what_would(pattern: str) -> None:
    kind = Annotated[str, msgspec.Meta(pattern=pattern)]
    for text in FITTING[pattern]:
        assert msgspec.convert(text, kind) == text
    # A newline at the end is what a bare `$` would let pass.
    for text in UNFITTING[pattern] + [f"{text}\n" for text in FITTING[pattern]]:
        with pytest.raises(msgspec.ValidationError) as raised:
            msgspec.convert(text, kind)
        assert located(raised.value, text, kind) == (f"expected `str` {patterns.IN_WORDS[pattern]}", "$")


def test_every_pattern_has_its_words() -> None:
    named = {value for name, value in vars(patterns).items() if name.isupper() and isinstance(value, str)}
    assert named == set(patterns.IN_WORDS)
