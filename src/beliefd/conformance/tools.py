"""The tools that stories can name: one per tier, which do nothing but say so, and three to tell of calls that
run while others wait.

`beliefd serve --tools beliefd.conformance.staging` gives them to a server that is to be checked.
"""

import threading
import time
from collections import Counter, defaultdict
from typing import Final

from beliefd.kernel.values import Tier
from beliefd.tools import slots as places
from beliefd.tools.registry import Registry

NAMES = {
    Tier.READ_ONLY: "staging.look",
    Tier.WRITE_LIMITED: "staging.note",
    Tier.MODIFY: "staging.resize",
    Tier.DELETE: "staging.drop",
    Tier.PRIVILEGE: "staging.keys",
}
HOLD, RELEASE, TURN = "staging.hold", "staging.release", "staging.turn"
ALL: Final = frozenset((*NAMES.values(), HOLD, RELEASE, TURN))
PATIENCE: Final = 150.0
"""Nothing is held longer, whatever becomes of the story."""
TIMEOUT_MS: Final = 180_000


class Gates:
    """Calls that are held until another call lets them go, and calls that are numbered as they run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: defaultdict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(0))
        self._turns: Counter[str] = Counter()

    def hold(self, gate: str) -> str:
        """End once a call is let through the gate."""
        if not self._of(gate).acquire(timeout=PATIENCE):
            raise TimeoutError(f"nobody released `{gate}`")
        return "done"

    def release(self, gate: str, calls: int = 1, waiting: int = 0) -> str:
        """Let so many calls through the gate, once so many others wait for their turn on this server."""
        end = time.monotonic() + PATIENCE
        while places.slots.waiting().total() < waiting:
            if time.monotonic() > end:
                raise TimeoutError(f"fewer than {waiting} calls wait")
            time.sleep(0.005)
        self._of(gate).release(calls)
        return "done"

    def turn(self, of: str) -> int:
        """The how-manieth call of that name this is."""
        with self._lock:
            self._turns[of] += 1
            return self._turns[of]

    def _of(self, gate: str) -> threading.Semaphore:
        with self._lock:
            return self._by_name[gate]


gates: Final = Gates()


def registry() -> Registry:
    known = Registry()
    register(known)
    return known


def register(known: Registry) -> None:
    for tier, name in NAMES.items():
        known.tool(name, tier=tier.name)(lambda: "done")
    known.tool(HOLD, concurrent=True, network=False, timeout_ms=TIMEOUT_MS)(gates.hold)
    known.tool(RELEASE, network=False, timeout_ms=TIMEOUT_MS)(gates.release)
    known.tool(TURN, network=False, timeout_ms=TIMEOUT_MS)(gates.turn)
