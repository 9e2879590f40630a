"""What was worked out about answers, kept for more questions about the same ones, and forgotten in time."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
KEPT: Final = 16_384
"""Things of one kind: words, answers, pairs of them."""
KEPT_CHARACTERS: Final = 500_000
"""Of answers that were read. Measured: what is known of one takes 40 to 130 bytes a character, so 65 MB."""

_all: "Final[list[_lru_cache_wrapper[object]]]" = []
_read = 0


def kept(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
    """A function that remembers what it found out about the words of answers."""
    remembering = lru_cache(KEPT)(function)
    _all.append(remembering)
    return remembering


def count(text: str) -> None:
    """An answer is read: all that is remembered comes from such texts."""
    global _read  # noqa: PLW0603
    _read += len(text)


def forget_much() -> None:
    """Forget what earlier measurements left, if it is much. Within one, each answer is asked about again and
    again: what it reads stays until the next one begins."""
    global _read  # noqa: PLW0603
    if _read > KEPT_CHARACTERS:
        _read = 0
        for remembering in _all:
            remembering.cache_clear()
