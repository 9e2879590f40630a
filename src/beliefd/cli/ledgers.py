"""Going through the ledgers of a store in this process."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from beliefd.cli.progress import progress

if TYPE_CHECKING:
    from beliefd.embedded import Embedded
    from beliefd.protocol.ledger import Verified
    from beliefd.stores.base import SessionRow

PAGE = 500


def sessions_of(embedded: "Embedded") -> Iterator["SessionRow"]:
    """All sessions as the store lists them: it can name ledgers that are too broken to be folded."""
    after: str | None = None
    while rows := _page(embedded, after):
        yield from rows
        after = rows[-1].session_id


def _page(embedded: "Embedded", after: str | None) -> "list[SessionRow]":
    return embedded.run(lambda: embedded.steward.store.sessions(after, PAGE))


def verify_stored(embedded: "Embedded", session_id: str) -> "Verified":
    """Verify in this process."""
    from beliefd.steward.handlers.ledger import verify_session

    store = embedded.steward.store
    head = embedded.run(lambda: store.head(session_id))
    with progress("verifying", 0 if head is None else head.seq) as report:
        return embedded.run(lambda: verify_session(store, session_id, report))
