"""Witnessed or attested: how an input came to be, never what its author wrote about it.

A label is set by the kernel. What is derived from several things gets the join of their labels, and nothing
is ever relabelled. Who brought something is no witness of it when he himself proposes with it, so the same
numbers may be witnessed for one principal and attested for another.
"""

from collections.abc import Iterable
from typing import Final, Literal

from beliefd.kernel.values import Id, Principal, Role, Value

Label = Literal["witnessed", "attested"]
WITNESSED: Final[Label] = "witnessed"
ATTESTED: Final[Label] = "attested"
SERVER: Final = "server"
"""The witness of what this server did or saw itself. No principal has this id: theirs have a scheme."""


def join(labels: Iterable[Label]) -> Label:
    """One attested input is enough; nothing at all is not witnessed by anybody."""
    found = set(labels)
    return WITNESSED if found == {WITNESSED} else ATTESTED


def label_for(witnesses: Iterable[str], *proposers: str) -> Label:
    """What something is worth to those who propose with it: somebody else must have seen it."""
    return WITNESSED if any(one not in proposers for one in witnesses) else ATTESTED


def statement_of(who: Principal) -> tuple[str, ...]:
    """Who stands for what he says: a person, a tool, an encoder; an agent's word is no witness to anybody."""
    return () if who.role == Role.AGENT else (who.id,)


def vouched_by(typists: Iterable[str]) -> str:
    """Whose word data are that nobody else has witnessed."""
    names = sorted(set(typists))
    return f"numbers typed by {', '.join(names)}" if names else "its data were brought by agents alone"


class Bringer(Value, frozen=True):
    """Somebody who stored content, and when first."""

    id: Id
    role: Role
    at: str
