"""Functions in threads of their own, which may hang without holding up anybody else."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from beliefd.tools import slots as places


async def in_thread(
    who: str, function: Callable[..., Any], arguments: Mapping[str, Any], *, ends: bool = False
) -> Any:
    """Call a function in a daemon thread, in a place of who asked for it; `ends` what has begun already.

    The event loop's own pool would do for functions that return. One that hangs would keep its place there
    for ever, and the process from ending. Here it keeps a place of its own caller.
    """
    loop, slots = asyncio.get_running_loop(), places.slots
    asked: asyncio.Future[Any] = loop.create_future()
    answer: asyncio.Future[Any] | None = asked

    def settle(value: Any, error: BaseException | None) -> None:
        if answer is None or answer.done():
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def work() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = function(**arguments)
        except StopIteration:  # a future cannot carry it
            error = RuntimeError("the tool raised StopIteration")
        except Exception as raised:
            error = raised
        except BaseException as raised:  # SystemExit would end the event loop that awaits it
            error = RuntimeError(f"the tool raised {type(raised).__name__}")
        finally:
            slots.give_back(who)
        with contextlib.suppress(RuntimeError):  # the loop is gone, and who asked with it
            loop.call_soon_threadsafe(settle, value, error)
        error = None  # it holds this frame, which would hold it

    (slots.take_over if ends else slots.take)(who)
    threading.Thread(target=work, name="beliefd-tool", daemon=True).start()
    try:
        return await asked
    finally:
        del asked
        answer = None  # its error holds this frame: together they would stay until they are collected
