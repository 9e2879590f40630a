"""The end of a server: what runs is finished, new work is sent elsewhere, and it all takes a bounded time."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.offload import RETRY_SECONDS

LOOK_SECONDS: Final = 0.02
STILL_ANSWERED: Final = frozenset({"/healthz", "/metrics"})
"""They say how the process is, and are no work."""


class Draining:
    """Whether a server still takes new work."""

    def __init__(self) -> None:
        self.begun = False

    def refuses(self, path: str) -> bool:
        return self.begun and path not in STILL_ANSWERED

    async def finish(self, under_way: Callable[[], bool], seconds: float) -> None:
        """Take no more, and return when nothing is under way, or the time is up."""
        self.begun = True
        try:
            async with asyncio.timeout(seconds):
                while under_way():  # noqa: ASYNC110 - uvicorn knows, and tells nobody
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return


def is_busy(connection: Any) -> bool:
    """Is a request under way on it that was not answered to its end? As uvicorn's protocol classes know."""
    cycle = connection.cycle
    return cycle is not None and not cycle.response_complete


def close_after_answer(connection: Any) -> None:
    """Have the answer that is under way say that the connection is closed after it, if it can still say so:
    a caller who is not told sends its next request to nobody."""
    if not connection.cycle.response_started:
        connection.cycle.keep_alive = False


def stopping() -> BeliefdError:
    message = "the server is stopping; nothing was done, and another try will meet another server"
    return BeliefdError(Code.TOO_BUSY, message, {"retry_after": RETRY_SECONDS})
