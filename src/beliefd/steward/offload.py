"""Long work off the event loop, so that others are answered while a large ledger is folded or declared.

Each kind of work has threads and a queue of its own: measuring that takes minutes keeps nobody from having a
body parsed. The queues are bounded, and their places are shared fairly between those who ask (`asked_by`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeVar

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import Sealed
from beliefd.steward.pools import Full, Limits, Pool

T = TypeVar("T")
HEAVY_BYTES: Final = 256 * 1024
HEAVY_ITEMS: Final = 10_000
RETRY_SECONDS: Final = 1
PASSING: Final = (Code.TOO_BUSY, Code.TIMED_OUT)
"""Work that was not done, through no fault of who asked for it."""

Kind = Literal["parse", "fold", "decide", "measure", "question", "detector"]
"""Reading bodies; states from ledgers; deciding; uncertainty; long questions about a ledger; detectors."""
POOLS: Final[dict[Kind, Pool]] = {
    "parse": Pool("parse", Limits(threads=2, waiting=256, seconds=120.0)),
    # Who writes waits for these: they have no end but their own.
    "fold": Pool("fold", Limits(threads=2, waiting=4096)),
    "decide": Pool("decide", Limits(threads=2, waiting=4096)),
    "measure": Pool("measure", Limits(threads=2, waiting=64, seconds=120.0)),
    "question": Pool("question", Limits(threads=2, waiting=64, seconds=600.0)),
    "detector": Pool("detector", Limits(threads=4, waiting=64, seconds=120.0)),
}

_asked_by: ContextVar[str] = ContextVar("asked_by", default="")


@contextmanager
def asking(principal_id: str) -> Iterator[None]:
    """Work that is begun inside counts as this principal's. The server's own is nobody's, and not shared."""
    before = _asked_by.set(principal_id)
    try:
        yield
    finally:
        _asked_by.reset(before)


async def offload(heavy: bool, work: Callable[..., T], *args: Any, kind: Kind = "fold") -> T:
    """Run `work` here and now, or in a thread if it is heavy: a thread costs more than light work does.

    If the caller goes away, work that waits is dropped, and work that runs ends at its next `check_wanted`.
    """
    return await in_pool(kind, work, *args) if heavy else work(*args)


async def in_pool(kind: Kind, work: Callable[..., T], *args: Any) -> T:
    pool = POOLS[kind]
    limit = asyncio.timeout(pool.limits.seconds)
    try:
        async with limit:
            return await pool.run(_asked_by.get(), work, *args)
    except Full as full:
        raise too_busy(f"no room for more work of the kind `{kind}`: {full}") from None
    except TimeoutError:
        if not limit.expired():  # the work itself raised it
            raise
        message = f"this took longer than {pool.limits.seconds:g} seconds and was given up"
        raise BeliefdError(Code.TIMED_OUT, message, {"kind": kind}) from None
    finally:
        del limit  # it holds its task, that its error, and that this frame with all that it works on


def too_busy(message: str, retry_after: int = RETRY_SECONDS) -> BeliefdError:
    """The server has no room for this now, whoever asks; the answer says when to try again."""
    return BeliefdError(Code.TOO_BUSY, message, {"retry_after": retry_after})


def is_heavy(entries: Iterable[Sealed]) -> bool:
    return sum(len(entry.record) for entry in entries) > HEAVY_BYTES
