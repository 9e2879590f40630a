"""A database as the parts of a store use it, whichever it is."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar


class Database(ABC):
    """Statements name their parameters $1, $2 and so on."""

    AMONG: ClassVar[str]
    """Says of a column that its text is in the list which is the first parameter."""

    @abstractmethod
    async def _all(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        """The rows; none, if a value is no text that the database could hold."""

    @abstractmethod
    async def _write(self, statement: str, *values: object) -> Any:
        """Run one writing statement, durably; the first cell of what it returns, or None."""

    @abstractmethod
    def _list(self, texts: Collection[str]) -> object:
        """The texts as a parameter for `AMONG`."""

    async def _one(self, statement: str, *values: object) -> Sequence[Any] | None:
        rows = await self._all(statement, *values)
        return rows[0] if rows else None
