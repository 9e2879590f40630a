"""Names in a policy: one by one, or all below a prefix."""

from collections.abc import Iterable
from typing import Final

ALL: Final = "*"


def covers(pattern: str, name: str) -> bool:
    """Is a name the one that a pattern gives, or one below its prefix? `agent://a/*` is not `agent://a`."""
    if pattern.endswith(ALL):
        return name.startswith(pattern[:-1]) and len(name) >= len(pattern)
    return name == pattern


def refuse_loose(patterns: Iterable[str], after: str, field: str, everything: bool = False) -> None:
    """A `*` stands at the end, after one of `after`: elsewhere it would cover what nobody thought of."""
    for pattern in patterns:
        head, star, tail = pattern.partition(ALL)
        if not star or (everything and pattern == ALL):
            continue
        if tail or not head or head[-1] not in after:
            places = " or ".join(f"`{one}`" for one in after)
            raise ValueError(f"`{pattern[:64]}` in `{field}`: a `*` stands at the end only, after {places}")
