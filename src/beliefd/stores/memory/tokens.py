"""The rows of tokens in a dict."""

from collections.abc import Iterable

from beliefd.stores.base import Token


class MemoryTokens:
    """Rows by their id."""

    def __init__(self) -> None:
        self.by_id: dict[str, Token] = {}

    def check(self, rows: Iterable[Token]) -> None:
        """There is nothing to refuse."""

    def put(self, rows: Iterable[Token]) -> None:
        self.by_id.update((row.token_id, row) for row in rows)
