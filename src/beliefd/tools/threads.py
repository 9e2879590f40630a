"""Functions in threads of their own, which may hang without holding up anybody else."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final

MAX_RUNNING: Final = 64
"""So many functions may run at once; those that hang count too."""

_room = threading.BoundedSemaphore(MAX_RUNNING)


class Busy(RuntimeError):
    """Too many functions run, or hang, for another one."""


async def in_thread(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a function in a daemon thread.

    The event loop's own pool would do for functions that return. One that hangs would keep its place there
    for ever, and the process from ending.
    """
    loop, room = asyncio.get_running_loop(), _room
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if answer.done():
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
            room.release()
        with contextlib.suppress(RuntimeError):  # the loop is gone, and who asked with it
            loop.call_soon_threadsafe(settle, value, error)

    if not room.acquire(blocking=False):
        raise Busy(f"{MAX_RUNNING} calls run or hang already")
    threading.Thread(target=work, name="beliefd-tool", daemon=True).start()
    return await answer
