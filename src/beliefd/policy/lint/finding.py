"""What lint says."""

from typing import Literal

from msgspec import Struct

Code = Literal[
    "NEVER_FIRES",
    "ALWAYS_FIRES",
    "NEVER_ALLOWS",
    "IDLE_CONDITION",
    "NOT_OF_COMPARISON",
    "DUPLICATE",
    "SHADOWED",
    "UNREACHABLE",
    "OVERLAPPING",
    "UNKNOWN_TOOL",
    "UNKNOWN_CAPABILITY",
    "UNKNOWN_KEY",
    "UNKNOWN_ARGUMENT",
    "SIMILAR_KEYS",
    "UNREAD",
]


Level = Literal["warning", "note"]


class Finding(Struct, frozen=True, kw_only=True):
    """A constraint or a rule, perhaps another one, and what is the matter. A warning is most probably a
    mistake."""

    code: Code
    constraint: str
    message: str
    level: Level = "warning"
    other: str = ""
