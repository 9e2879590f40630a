"""Callers that leave before they are answered: questions are not worked on any further for them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")
LISTEN_AFTER: Final = 0.1
"""Seconds. Most answers are there by then, and nobody needs to listen for their callers."""


async def unless_gone(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """The outcome of work that may be given up; it is, when the caller has left."""
    working = asyncio.ensure_future(work)
    try:
        await asyncio.wait({working}, timeout=LISTEN_AFTER)
        if not working.done():
            leaving = asyncio.ensure_future(gone(receive))
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not working.done():
                raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        del working  # its error holds this frame: together they would stay until they are collected


async def unless_over(
    work: Coroutine[Any, Any, T], over: asyncio.Event, refuse: Callable[[], Coroutine[Any, Any, NoReturn]]
) -> T:
    """The outcome of work that may take long; when it is `over` for its caller before, `refuse` says why."""
    working, judged = asyncio.ensure_future(work), asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait({working, judged}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await refuse()
        return working.result()
    finally:
        working.cancel()
        judged.cancel()
        del working  # as above


async def gone(receive: Receive) -> None:
    """Returns when the caller has left, or has been answered."""
    while (await receive())["type"] != "http.disconnect":
        pass
