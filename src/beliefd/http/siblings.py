"""Several server processes behind one address, each session with one of them (`beliefd serve --processes`).

All of them accept connections. A request that names a session belongs to one process, by rendezvous hashing
over those that are up: where it comes to another, that one hands the connection over, with the bytes that it
has read. Nothing is forwarded, so what a request may do and how it is bounded is the same as in one process.
Any process can answer any request (the store says who is right): a connection that cannot be handed over is
kept, and a process that is gone takes nothing with it but what it was answering.

The processes have in common: a board, on which each that is up has a number; and a door each, a socket that
outlives its process, so that what was handed to one that ended is taken up by its successor.
"""

import asyncio
import hashlib
import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from beliefd.http.protocol import Protocol

VARIABLE: Final = "beliefd_sibling"
"""In the environment of a process that others stand beside, and no setting: its `Place`."""
NUMBER: Final = struct.Struct("I")
MOST: Final = 64
CONNECTION: Final = b"c"
METRICS: Final = b"m"
MOST_BYTES: Final = 512 * 1024
AT_ONCE: Final = 64
ANSWER_SECONDS: Final = 1.0
SESSIONS: Final = b"/v1/sessions/"
API: Final = b"/v1/"
ANYWHERE: Final = frozenset({b"/healthz", b"/readyz", b"/metrics", b"/openapi.json"})
PEOPLE: Final = b"\0people"
"""Pages belong to the process that has been up longest: it knows who has signed in."""


class Place(Struct, frozen=True):
    """What a process is told by the one that started it; all but `slot` and `number` are open files."""

    slot: int
    number: int
    """Counts the processes that were ever started: the lowest on the board has been up longest."""
    listener: int
    board: int
    doors: list[int]
    """Where to knock, by slot."""
    door: int
    """Where this one hears it."""
    alive: int
    """Ends with the process that started this one."""


def own_place() -> Place | None:
    told = os.environ.get(VARIABLE)
    return None if told is None else msgspec.json.decode(told, type=Place)


class Board:
    """Which processes are up: the number of each by its slot, or 0."""

    def __init__(self, file: int, slots: int) -> None:
        self._map = mmap.mmap(file, MOST * NUMBER.size)
        self._size = slots * NUMBER.size

    def read(self) -> bytes:
        return self._map[: self._size]

    def number(self, slot: int) -> int:
        return int(NUMBER.unpack_from(self._map, slot * NUMBER.size)[0])

    def write(self, slot: int, number: int) -> None:
        NUMBER.pack_into(self._map, slot * NUMBER.size, number)


@lru_cache(8192)
def owner(name: bytes, board: bytes) -> int | None:
    """The slot that something belongs to, of those that are up."""
    up = {slot: number for slot, (number,) in enumerate(NUMBER.iter_unpack(board)) if number}
    if name == PEOPLE:
        return min(up, key=up.__getitem__, default=None)
    return max(up, key=lambda slot: _weight(name, slot), default=None)


def _weight(name: bytes, slot: int) -> bytes:
    return hashlib.blake2b(name, digest_size=8, key=b"%d" % slot).digest()


def name_in(data: bytes) -> bytes | None:
    """What a request belongs to, by its first line: a session, or people's pages; None if to anybody."""
    method, _, rest = data[:2048].partition(b" ")
    target, space, _ = rest.partition(b" ")
    if not space or len(method) > len(b"OPTIONS"):
        return None
    path = target.partition(b"?")[0]
    if path.startswith(SESSIONS):
        name = path[len(SESSIONS) :].partition(b"/")[0]
        return (unquote_to_bytes(name) if b"%" in name else name) or None
    return None if path.startswith(API) or path in ANYWHERE or not path.startswith(b"/") else PEOPLE


class Siblings:
    """One process among them. `open` lets what others hand over in; `leave` takes it off the board."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._board = Board(place.board, len(place.doors))
        self._doors = [socket.socket(fileno=one) for one in place.doors]
        self._door = socket.socket(fileno=place.door)
        for one in (*self._doors, self._door):
            one.setblocking(False)
        self._take: Callable[[socket.socket, bytes], None] = _refused
        self._metrics: Callable[[], bytes] = bytes
        self._telling: set[asyncio.Task[None]] = set()
        self.handed_over = 0

    def open(self, take: Callable[[socket.socket, bytes], None], metrics: Callable[[], bytes]) -> None:
        self._take, self._metrics = take, metrics
        asyncio.get_running_loop().add_reader(self._door, self._hear)
        self._board.write(self.place.slot, self.place.number)

    def leave(self) -> None:
        """From now on nothing belongs here. What is at the door is for whoever comes after."""
        self._board.write(self.place.slot, 0)
        asyncio.get_running_loop().remove_reader(self._door)

    def others(self) -> list[int]:
        return [one for one in range(len(self._doors)) if one != self.place.slot and self._board.number(one)]

    def belongs_to(self, data: bytes) -> int | None:
        """The slot of another process that a request belongs to; None if it can be answered here."""
        board = self._board.read()
        name = name_in(data)
        if name is None:
            if self._board.number(self.place.slot):
                return None
            name = data[:64]  # we are leaving: to any of the others
        found = owner(name, board)
        return None if found == self.place.slot else found

    def hand_over(self, slot: int, connection: Any, data: bytes) -> bool:
        """Give a connection away with what was read of it; False if it has to be kept."""
        try:
            socket.send_fds(self._doors[slot], [CONNECTION, data], [connection.fileno()])
        except OSError:  # there is no room at that door, or in a message for so much
            return False
        self.handed_over += 1
        return True

    def _hear(self) -> None:
        for _ in range(AT_ONCE):
            try:
                data, files, _, _ = socket.recv_fds(self._door, MOST_BYTES, 1)
            except (BlockingIOError, InterruptedError):
                return
            for file in files:
                came = socket.socket(fileno=file)
                came.setblocking(False)
                if data[:1] == CONNECTION:
                    self._take(came, data[1:])
                else:
                    self._begin(_tell(came, self._metrics()))

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def all_metrics(self, own: bytes) -> bytes:
        """The metrics of all processes, each sample with the label of its process."""
        others = self.others()
        told = await asyncio.gather(*(self._ask(slot) for slot in others))
        return joined({self.place.slot: own, **dict(zip(others, told, strict=True))})

    async def _ask(self, slot: int) -> bytes:
        here, there = socket.socketpair()
        try:
            with there:
                socket.send_fds(self._doors[slot], [METRICS], [there.fileno()])
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_connection(sock=here)
                try:
                    return await reader.read()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            here.close()
            return b""  # it is not up any more, or too busy: its samples are missing this time


async def _tell(to: socket.socket, text: bytes) -> None:
    with to:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await asyncio.get_running_loop().sock_sendall(to, text)
        except (OSError, TimeoutError):
            return  # who asked has given up


def joined(texts: dict[int, bytes]) -> bytes:
    """Metrics in Prometheus' text format: families once, samples of all with the label `process`."""
    families: dict[bytes, list[bytes]] = {}
    for slot, text in sorted(texts.items()):
        family = b""
        for line in text.splitlines():
            if line.startswith(b"# HELP"):
                family = line
                families.setdefault(family, [])
            elif line.startswith(b"#"):
                if line not in families[family]:
                    families[family].append(line)
            else:
                families[family].append(_labelled(line, slot))
    return b"\n".join(line for family, lines in families.items() for line in (family, *lines)) + b"\n"


def _labelled(line: bytes, slot: int) -> bytes:
    name, _, value = line.rpartition(b" ")
    bare, brace, labels = name.partition(b"{")
    label = b'process="%d"' % slot
    return b"%s{%s,%s %s" % (bare, label, labels, value) if brace else b"%s{%s} %s" % (bare, label, value)


def _refused(came: socket.socket, _: bytes) -> None:
    came.close()


def pass_on(connections: Iterable[Any], siblings: Siblings) -> bool:
    """Give all connections that rest to others: this process is leaving, and nobody need notice. Is there one
    left, because there was no room at a door?"""
    ours: list[Protocol] = [one for one in connections if hasattr(one, "hand_over")]  # not uvicorn's own
    for number, connection in enumerate(ours):
        others = siblings.others()
        if others:
            connection.hand_over(others[number % len(others)], b"")
    return any(connection.rests for connection in ours)
