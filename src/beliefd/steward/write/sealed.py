"""Who was refused to write into a sealed session: its own ledger takes nothing more, so the server's says it.

What an agent tries again and again is said once per process: nobody can fill the server's own ledger by
asking. The answer waits until it is on record.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

from beliefd.kernel.errors import BeliefdError

Who = tuple[str, str, str]
"""A session, a verb, and the id of who tried it there."""
REMEMBERED: Final = 10_000
log = logging.getLogger("beliefd")


class SealedRefusals:
    """`record` is set where the server's own ledger is there."""

    def __init__(self) -> None:
        self.record: Callable[[Who], Awaitable[None]] | None = None
        self._said: OrderedDict[Who, None] = OrderedDict()
        self._under_way: set[asyncio.Task[None]] = set()

    def refuse(self, who: Who, done: "asyncio.Future[Any]", error: BeliefdError) -> None:
        if self.record is None or who in self._said:
            done.set_exception(error)
            return
        task = asyncio.get_running_loop().create_task(self._recorded(self.record, who, done, error))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _recorded(
        self,
        record: Callable[[Who], Awaitable[None]],
        who: Who,
        done: "asyncio.Future[Any]",
        error: BeliefdError,
    ) -> None:
        try:
            await record(who)
            self._said[who] = None
            if len(self._said) > REMEMBERED:
                self._said.popitem(last=False)
        except Exception as failure:  # it is refused all the same
            log.warning("a refusal in sealed session %s is not on record: %s", who[0], failure)
        finally:
            if not done.done():
                done.set_exception(error)
