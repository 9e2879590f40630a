"""What a caller may do in which space."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from beliefd.kernel import patterns
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import DEFAULT_SPACE, Role, shown

EVERYWHERE: Final = "*"
"""Stands for every space that there is and will be."""
_SPACE: Final = re.compile(patterns.SPACE)


class Right(StrEnum):
    """What one may do in a space. Every right includes `read`, and `admin` includes all."""

    READ = "read"
    PROPOSE = "propose"
    APPROVE = "approve"
    ADMIN = "admin"


NO_RIGHTS: Final[frozenset[Right]] = frozenset()
OF_ROLE: Final = {
    Role.AGENT: frozenset({Right.READ, Right.PROPOSE}),
    Role.ENCODER: frozenset({Right.READ, Right.PROPOSE}),
    Role.TOOL: frozenset({Right.READ, Right.PROPOSE}),
    Role.APPROVER: frozenset({Right.READ, Right.PROPOSE, Right.APPROVE}),
    Role.ADMIN: frozenset(Right),
}
"""The most that a role can have in a space: rights never give what a role does not have."""


class Rights(Struct, frozen=True):
    """Rights by space."""

    by_space: Mapping[str, frozenset[Right]]

    def may(self, right: Right, space: str) -> bool:
        return right in self.by_space.get(space, NO_RIGHTS) or self.everywhere(right)

    def everywhere(self, right: Right) -> bool:
        return right in self.by_space.get(EVERYWHERE, NO_RIGHTS)

    def within(self, right: Right) -> frozenset[str] | None:
        """The spaces with this right; None: all of them."""
        if self.everywhere(right):
            return None
        return frozenset(space for space, rights in self.by_space.items() if right in rights)

    @property
    def home(self) -> str:
        """Where something begins if nobody says where: in the default space, or in the only other one that
        the caller may propose in."""
        spaces = self.within(Right.PROPOSE)
        if spaces is None or DEFAULT_SPACE in spaces or len(spaces) != 1:
            return DEFAULT_SPACE
        return next(iter(spaces))


EVERYTHING: Final = Rights({EVERYWHERE: frozenset(Right)})
"""Of whoever has the store itself: the embedded library, the command line, a server without tokens."""


@lru_cache(4096)
def rights_of(role: Role, spaces: str) -> Rights:
    """What a token may, by the text that is stored with it. Without one, it may in the default space what its
    role may; an administrator may everything everywhere."""
    if not spaces:
        return Rights({EVERYWHERE if role is Role.ADMIN else DEFAULT_SPACE: OF_ROLE[role]})
    named = (one.partition("=") for one in spaces.split(" "))
    return Rights(
        {space: _complete(map(Right, rights.split(","))) & OF_ROLE[role] for space, _, rights in named}
    )


def spaces_text(role: Role, given: Iterable[str]) -> str:
    """The text to store for what was asked for, as in `research=read,propose`."""
    asked: dict[str, frozenset[Right]] = {}
    for one in given:
        space, _, listed = one.partition("=")
        if space != EVERYWHERE and not _SPACE.match(space):
            raise invalid(f"`{shown(space)}` names no space; write SPACE=RIGHTS, as in `lab=read`", "spaces")
        if space in asked:
            raise invalid(f"the space `{space}` is named twice", "spaces")
        asked[space] = _parsed(role, listed)
    return " ".join(f"{space}={','.join(sorted(asked[space]))}" for space in sorted(asked))


def _parsed(role: Role, listed: str) -> frozenset[Right]:
    try:
        rights = frozenset(map(Right, listed.split(",")))
    except ValueError:
        known = ", ".join(f"`{right}`" for right in Right)
        raise invalid(f"`{shown(listed)}` are no rights; give some of {known}, by commas", "spaces") from None
    if missing := sorted(rights - OF_ROLE[role]):
        raise invalid(f"role `{role}` cannot have `{missing[0]}`", "spaces")
    if role is Role.ADMIN and rights not in ({Right.READ}, {Right.ADMIN}):
        # The kernel sees the role: an administrator who may propose somewhere decides there like one.
        raise invalid("role `admin` has `read` or `admin` in a space; make another token for less", "spaces")
    return rights


def _complete(rights: Iterable[Right]) -> frozenset[Right]:
    given = frozenset(rights)
    return frozenset(Right) if Right.ADMIN in given else given | {Right.READ}
