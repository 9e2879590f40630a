"""A database as the parts of a store use it, whichever it is."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import Any, ClassVar, TypeVar

from beliefd.stores.within import Within

T = TypeVar("T")
Steps = Generator[tuple[Any, ...], Sequence[Sequence[Any]], T]
"""A transaction: statements with their values, each answered with its rows. It returns the outcome."""


class Database(ABC):
    """Statements name their parameters $1, $2 and so on."""

    AMONG: ClassVar[str]
    """Says of a column that its text is in the list which is the first parameter."""
    CLOCK: ClassVar[str]
    """The database's own time in seconds."""
    HOLD_APPENDS: ClassVar[tuple[str, ...]]
    """A step that lets no append pass from here to the end of the transaction; none if all of them wait."""

    @abstractmethod
    async def _all(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        """The rows; none, if a value is no text that the database could hold."""

    @abstractmethod
    async def _write(self, statement: str, *values: object) -> Any:
        """Run one writing statement, durably; the first cell of what it returns, or None."""

    @abstractmethod
    async def _together(self, steps: Steps[T]) -> T:
        """Take all steps in one transaction, durably; what they raise undoes them, and comes out here."""

    @abstractmethod
    def _list(self, texts: Collection[str]) -> object:
        """The texts as a parameter for `AMONG`."""

    def _within(self, within: Within, number: int, table: str) -> tuple[str, tuple[object, ...]]:
        """A condition on the rows of a table, with its value for the parameter of this number: that their
        session is in one of these spaces. Nothing, if all spaces are meant."""
        if within is None:
            return "", ()
        among = self.AMONG.replace("$1", f"${number}")
        seen = f"SELECT 1 FROM sessions AS s WHERE s.session_id = {table}.session_id AND s.space {among}"  # noqa: S608
        return f" AND EXISTS ({seen})", (self._list(within),)

    async def _one(self, statement: str, *values: object) -> Sequence[Any] | None:
        rows = await self._all(statement, *values)
        return rows[0] if rows else None


def as_bytes(kept: bytes | str) -> bytes:
    """What a column of bytes holds. SQLite keeps a text there if somebody put one."""
    return kept.encode() if isinstance(kept, str) else bytes(kept)
