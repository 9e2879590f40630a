"""When to ask again: pauses that grow, until something is decided or the time is up."""

import time
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, Final

from beliefd.protocol.approvals import LONGEST_WAIT, ApprovalCard, change_of

Entry = dict[str, Any]
"""An entry of a ledger as it is on the wire."""
POLL_SECONDS: Final = 0.25
FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 2.0


def growing_pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def waits_within(seconds: float) -> Iterator[int]:
    """How long to have the server wait, again and again, until the time is up; last, not at all."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) >= 1:
        yield min(int(left), LONGEST_WAIT)
    yield 0


def pauses_until_decided(approval_id: str, timeout: float | None) -> Iterator[float]:
    """Raises `TimeoutError` when the time is up."""
    deadline = inf if timeout is None else time.monotonic() + timeout
    for pause in growing_pauses():
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"approval `{approval_id}` is still pending after {timeout:g} seconds")
        yield min(pause, left)


class InboxLooks:
    """What changed between one look at what is pending and the next. The first look tells nothing.

    What comes and is decided between two looks is not seen: a server's own feed tells that too.
    """

    def __init__(self) -> None:
        self._pending: set[str] | None = None
        self._news: list[Entry] = []

    def no_longer_pending(self, cards: Iterable[ApprovalCard]) -> list[str]:
        """Those that waited at the last look. What they are now, only the items themselves can say."""
        found = {card.approval_id: card for card in cards}
        before, self._pending = self._pending, set(found)
        if before is None:
            return []
        for name in sorted(found.keys() - before):
            self.tell(found[name])
        return sorted(before - found.keys())

    def tell(self, card: ApprovalCard) -> None:
        told = {"approval_id": card.approval_id, "session_id": card.session_id, "status": card.status}
        self._news.append({"event": change_of(card.status), **told})

    def news(self) -> list[Entry]:
        told, self._news = self._news, []
        return told
