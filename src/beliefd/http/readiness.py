"""Would the store take a write? Anybody may ask, so the store is asked at most once a second."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from beliefd.stores.base import StorageUnavailable

KEEP_SECONDS: Final = 1.0
PROBE_SECONDS: Final = 1.8
"""A store that takes longer than this is not ready. Whoever asks has an answer within two seconds."""


class Readiness:
    """What the last probe found. Those who ask while one is under way wait for it together."""

    def __init__(self, probe: Callable[[], Awaitable[None]]) -> None:
        self._probe = probe
        self._left: set[asyncio.Future[None]] = set()
        self._probing: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._probed_at = float("-inf")

    async def check(self) -> None:
        """Raises what the probe raised."""
        now = asyncio.get_running_loop().time()
        if self._probing is None and now - self._probed_at >= KEEP_SECONDS:
            self._probing = asyncio.get_running_loop().create_task(self._probe_once())
        if self._probing is not None:
            await asyncio.shield(self._probing)
        if self._failure is not None:
            raise self._failure.with_traceback(None)  # else it would keep the frames of all who asked

    async def _probe_once(self) -> None:
        self._failure = None
        probe = asyncio.ensure_future(self._probe())
        try:
            done, _ = await asyncio.wait({probe}, timeout=PROBE_SECONDS)
            if done:
                probe.result()
            else:
                self._failure = StorageUnavailable(f"the store did not answer in {PROBE_SECONDS:g} seconds")
        except Exception as error:
            self._failure = error
        finally:
            self._probed_at = asyncio.get_running_loop().time()
            self._probing = None
            if not probe.done():
                self._leave(probe)

    def _leave(self, probe: "asyncio.Future[None]") -> None:
        """INVARIANT: nobody waits for a probe to end: one that hangs may take long to be called off."""
        self._left.add(probe)
        probe.add_done_callback(self._forget)
        probe.cancel()

    def _forget(self, probe: "asyncio.Future[None]") -> None:
        self._left.discard(probe)
        if not probe.cancelled():
            probe.exception()  # looked at, so that nobody is told that it was not
