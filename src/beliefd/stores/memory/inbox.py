"""The rows of the inbox in a dict."""

from collections.abc import Iterable

from beliefd.stores.projections import InboxRow


class MemoryInbox:
    """Rows by their id, which is the same in all sessions."""

    def __init__(self) -> None:
        self.by_id: dict[str, InboxRow] = {}

    def check(self, rows: Iterable[InboxRow]) -> None:
        """There is nothing to refuse."""

    def put(self, rows: Iterable[InboxRow]) -> None:
        self.by_id.update((row.approval_id, row) for row in rows)

    def replace(self, session_id: str, rows: Iterable[InboxRow]) -> None:
        self.by_id = {name: row for name, row in self.by_id.items() if row.session_id != session_id}
        self.put(rows)

    @property
    def rows(self) -> Iterable[InboxRow]:
        return self.by_id.values()
