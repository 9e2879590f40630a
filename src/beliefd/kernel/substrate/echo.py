"""Does a result say anything that its caller did not say?"""

from typing import Any, Final

MOST_REPEATED: Final = 0.5
"""Of the characters of a result so many may come out of the arguments; past it, it is an echo."""
LOOKED_AT, LONGEST, MOST_TEXT, MOST_PARTS = 300, 10_000, 250_000, 50
SHORT: Final = 2
"""Words as short as this are in most texts, whoever wrote them."""


def echoes(result: Any, args: Any) -> bool:
    """Is most of a result taken from the call's arguments? One that says nothing is an echo."""
    said, given = _longest(result, LOOKED_AT), _longest(args, LOOKED_AT)
    whole = "\n".join(given)[:MOST_TEXT]
    parts = [one for one in given[:MOST_PARTS] if len(one) > SHORT]
    total = sum(map(len, said))
    return not total or sum(_repeated(one, whole, parts) for one in said) > MOST_REPEATED * total


def _longest(value: Any, count: int) -> list[str]:
    """INVARIANT: however much there is, so much of it is compared and no more; the longest say the most."""
    return [one[:LONGEST] for one in sorted(leaves(value), key=lambda one: (-len(one), one))[:count]]


def _repeated(text: str, whole: str, parts: list[str]) -> int:
    """How many characters of a text come out of the arguments."""
    if text in whole:
        return len(text)
    left = text
    for part in parts:
        left = left.replace(part, "")
    return len(text) - len(left)


def leaves(value: Any) -> set[str]:
    """All texts and numbers in a JSON value."""
    if isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        return set().union(*map(leaves, items))
    return set() if value is None or isinstance(value, bool) else {str(value)}
