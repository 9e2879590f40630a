"""How the parts of a session say what grows in them and how it is kept.

State that grows with the ledger is in persistent tries, so that an event costs the same in a long session.
Tries have no types at run time: these annotations keep the type of what is in them, for type checkers and for
packing alike.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from rpds import HashTrieMap

V = TypeVar("V")


class Part(Struct, frozen=True):
    """Base of the parts of a session: what one vocabulary knows of it."""


class Kept(Struct, frozen=True):
    """What a map of a part holds, and whether the order of its entries is part of the state."""

    kind: Any
    in_order: bool = False


if TYPE_CHECKING:
    Growing: TypeAlias = HashTrieMap[str, V]
    InOrder: TypeAlias = dict[str, V]
else:

    class Growing:
        def __class_getitem__(cls, kind: Any) -> Any:
            return Annotated[HashTrieMap, Kept(kind)]

    class InOrder:
        def __class_getitem__(cls, kind: Any) -> Any:
            return Annotated[dict, Kept(kind, in_order=True)]


EMPTY: Final[Any] = HashTrieMap()
