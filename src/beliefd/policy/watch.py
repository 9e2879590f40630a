"""Hot reload: a changed policy file is adopted whole, or the old policy stays and the log says why."""

import asyncio
import logging
from asyncio import to_thread
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.policy.files import load_policy

log = logging.getLogger("beliefd.policy")
POLL_SECONDS: Final = 1.0


async def watch_policy(
    path: Path, adopt: Callable[[Policy], Awaitable[None]], every: float = POLL_SECONDS
) -> None:
    """Adopt the file again whenever it has changed and come to rest; never returns."""
    read = latest = _stamp(path)
    while True:
        await asyncio.sleep(every)
        before, latest = latest, _stamp(path)
        # Half a file may be a policy too: what changed since the last look may still be being written.
        if latest is None or latest == read or latest != before:
            continue
        read = latest
        try:
            # Beside the event loop: a file takes as long to read as whoever wrote it likes.
            await adopt(await to_thread(load_policy, path))
        except BeliefdError as error:
            log.error("the policy file is not adopted, the old one stays in force: %s", error.message)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Editors replace files: the inode changes even where time and size do not."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
