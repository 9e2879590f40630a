"""How many connections are open at once, and which of them gives way when there are too many."""

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from uvicorn.server import ServerState

if TYPE_CHECKING:
    from beliefd.http.protocol import Protocol

MAX_CONNECTIONS: Final = 4096
SPARE_FILES: Final = 256
"""Files that the store, its readers and the server itself may open beside the connections."""


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

    def take(self, connection: "Protocol") -> bool:
        """A seat for a new connection. The one that has rested longest gives way; False if none rests."""
        if len(self._resting) + len(self._busy) >= self.limit:
            if not self._resting:
                return False
            longest = next(iter(self._resting))
            self.leave(longest)
            longest.transport.close()
        self._resting[connection] = None
        return True

    def work(self, connection: "Protocol") -> None:
        if self._resting.pop(connection, self) is None:
            self._busy.add(connection)

    def rest(self, connection: "Protocol") -> None:
        if connection in self._busy:
            self._busy.remove(connection)
            self._resting[connection] = None

    def leave(self, connection: "Protocol") -> None:
        self._resting.pop(connection, None)
        self._busy.discard(connection)


_of_server: "WeakKeyDictionary[ServerState, Seats]" = WeakKeyDictionary()


def seats_of(server: ServerState) -> Seats:
    seats = _of_server.get(server)
    if seats is None:
        seats = _of_server[server] = Seats()
    return seats
