"""Verifications that take longer than one looks at an empty page: they go on, and tell how far they are."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from beliefd.protocol.ledger import Verified
from beliefd.steward.handlers.ledger import TELL_CHECKED

QUICK_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 15.0
"""So long an end is kept for the page that asks again; later, it is verified anew."""
MOST: Final = 8
"""At once. Whoever comes then waits for the answer itself."""
Key = tuple[str, str]


class Check:
    """One verification: how many events hold so far."""

    def __init__(self, ask: Callable[[], Awaitable[Verified]]) -> None:
        self.checked = 0
        self._ended: float | None = None
        self.task = asyncio.ensure_future(self._verified(ask))

    async def _verified(self, ask: Callable[[], Awaitable[Verified]]) -> Verified:
        TELL_CHECKED.set(self._tell)  # in the context of this task alone
        try:
            return await ask()
        finally:
            self._ended = time.monotonic()

    def _tell(self, checked: int) -> None:
        self.checked = checked

    @property
    def is_stale(self) -> bool:
        return self._ended is not None and time.monotonic() - self._ended > KEPT_SECONDS


class Checks:
    """By who asks and for which session. INVARIANT: nobody is told of what somebody else asked for."""

    def __init__(self) -> None:
        self._known: dict[Key, Check] = {}

    async def of(self, key: Key, ask: Callable[[], Awaitable[Verified]]) -> Verified | int:
        """What was found, or how many events hold so far."""
        self._known = {name: one for name, one in self._known.items() if not one.is_stale}
        check = self._known.get(key)
        if check is None and len(self._known) >= MOST:
            return await ask()
        if check is None:
            check = self._known[key] = Check(ask)
        await asyncio.wait({check.task}, timeout=QUICK_SECONDS)
        if not check.task.done():
            return check.checked
        del self._known[key]
        return check.task.result()
