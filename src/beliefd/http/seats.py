"""How many connections are open at once, and which of them gives way when there are too many."""

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from uvicorn.server import ServerState

from beliefd.http.wire import LEAST_RATE

if TYPE_CHECKING:
    from beliefd.http.protocol import Protocol

MAX_CONNECTIONS: Final = 4096
SPARE_FILES: Final = 256
"""Files that the store, its readers and the server itself may open beside the connections."""

MAX_HELD: Final = 64 * 1024 * 1024
"""Bytes that were read and wait for an answer to what came before them, on all connections together. On one
they are as many as are read at once: some hundred kilobytes."""
PATIENCE_SECONDS: Final = 1.0
"""Where all seats are taken, so long strangers may be busy, and anybody take next to nothing of an answer."""


def connection_limit() -> int:
    """Connections are files: as many as the system lets this process open, without those that it needs."""
    try:
        import resource
    except ImportError:  # no such limit on this platform
        return MAX_CONNECTIONS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if allowed == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, _room(allowed))


def _room(files: int) -> int:
    return max(files - SPARE_FILES, files // 2)


class Seats:
    """The connections of one server. Those on which no request is under way rest, the longest first."""

    def __init__(self) -> None:
        self.limit = connection_limit()
        self._resting: dict[Protocol, None] = {}
        self._busy: set[Protocol] = set()
        self._strangers: dict[Protocol, float] = {}
        """Busy with a request of nobody who is known, and since when; the longest first."""
        self._stalled: dict[Protocol, tuple[float, int]] = {}
        """More was answered than is being taken: since when, and how much had been taken by then."""

        self._held: dict[Protocol, int] = {}
        self.held = 0

    def hold(self, connection: "Protocol", size: int) -> bool:
        """Room for bytes that wait for their turn; False if there is none."""
        self.let_go(connection)
        if self.held + size > MAX_HELD:
            return False
        self._held[connection] = size
        self.held += size
        return True

    def let_go(self, connection: "Protocol") -> None:
        self.held -= self._held.pop(connection, 0)

    def take(self, connection: "Protocol") -> bool:
        """A seat for a new connection. Where there is none, somebody gives way; False if nobody does."""
        if len(self._resting) + len(self._busy) >= self.limit:
            going = self._who_gives_way(connection.loop.time())
            if going is None:
                return False
            self.leave(going)
            going.give_way()
        self._resting[connection] = None
        return True

    def _who_gives_way(self, now: float) -> "Protocol | None":
        """Who has rested longest; else a stranger who is not done; else who takes nothing of its answer."""
        for resting in self._resting:
            return resting
        for stranger, since in self._strangers.items():
            if now - since >= PATIENCE_SECONDS:
                return stranger
            break
        while self._stalled:
            stalled, (since, taken) = next(iter(self._stalled.items()))
            if now - since < PATIENCE_SECONDS:
                return None
            if stalled.wire.taken - taken < LEAST_RATE * (now - since):
                return stalled
            self.stall(stalled)
        return None

    def work(self, connection: "Protocol", known: bool = False) -> None:
        """A request is under way; it is a stranger's until it is known whose it is."""
        if self._resting.pop(connection, self) is None:
            self._busy.add(connection)
        if not known and connection in self._busy:
            self._strangers.setdefault(connection, connection.loop.time())

    def know(self, connection: "Protocol") -> None:
        """The request that is under way is of somebody with a credential, and counts as theirs elsewhere."""
        self._strangers.pop(connection, None)

    def stall(self, connection: "Protocol") -> None:
        if connection in self._busy or connection in self._resting:
            self._stalled.pop(connection, None)
            self._stalled[connection] = (connection.loop.time(), connection.wire.taken)

    def flow(self, connection: "Protocol") -> None:
        self._stalled.pop(connection, None)

    def rest(self, connection: "Protocol") -> None:
        """INVARIANT: nobody rests who still has much of an answer to take."""
        if connection in self._busy and connection not in self._stalled:
            self._busy.remove(connection)
            self._strangers.pop(connection, None)
            self._resting[connection] = None

    def leave(self, connection: "Protocol") -> None:
        self._resting.pop(connection, None)
        self._busy.discard(connection)
        self._strangers.pop(connection, None)
        self._stalled.pop(connection, None)
        self.let_go(connection)


_of_server: "WeakKeyDictionary[ServerState, Seats]" = WeakKeyDictionary()


def seats_of(server: ServerState) -> Seats:
    seats = _of_server.get(server)
    if seats is None:
        seats = _of_server[server] = Seats()
    return seats
