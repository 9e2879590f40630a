"""What a claim is about: a hypothesis or a proposition of its session, and how that stands."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.values import Id, Value


class About(Value, frozen=True):
    """A hypothesis of the session, or a proposition by its claim id."""

    hypothesis: Id | UnsetType = UNSET
    proposition: Id | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.hypothesis is UNSET) == (self.proposition is UNSET):
            raise ValueError("give exactly one of `hypothesis` and `proposition`")

    @property
    def named(self) -> tuple[str, str]:
        """What kind of thing it is, and its id."""
        return ("hypothesis", self.hypothesis) if self.hypothesis else ("proposition", self.proposition or "")


class Subject(Struct, frozen=True):
    """How that stands when the claim is judged.

    A FACT cannot be about what is `gone`, and no claim at all about what is `unknown`. There are no `words`
    where there is nothing to tell.
    """

    state: Literal["stands", "gone", "unknown"]
    words: str = ""
    observed: str | int = ""
