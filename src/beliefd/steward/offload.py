"""Long work off the event loop, so that others are answered while a large ledger is folded or declared."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from beliefd.ledger.envelope import Sealed

T = TypeVar("T")
HEAVY_BYTES: Final = 256 * 1024
HEAVY_ITEMS: Final = 10_000


async def offload(heavy: bool, work: Callable[..., T], *args: Any) -> T:
    """Run `work` here and now, or in a thread if it is heavy: a thread costs more than light work does."""
    return await asyncio.to_thread(work, *args) if heavy else work(*args)


def is_heavy(entries: Iterable[Sealed]) -> bool:
    return sum(len(entry.record) for entry in entries) > HEAVY_BYTES
