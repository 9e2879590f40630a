"""Several server processes behind one address, and the one that starts them, which answers nothing itself.

It holds what outlives them: the socket that they listen on, so that no connection is refused while one is
started again, the board on which they see each other, and their doors (`beliefd.http.siblings`).
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Final

import msgspec

from beliefd.http.siblings import MOST, NUMBER, VARIABLE, Board, Place

log = logging.getLogger("beliefd.processes")
LOOK_SECONDS: Final = 0.05
START_SECONDS: Final = 120.0
PAUSES: Final = (0.1, 10.0)
"""A process that ended by itself is started again after the first; after twice that, up to the second."""
STEADY_SECONDS: Final = 30.0
"""One that was up for so long has nothing to do with why the one before it ended."""
CLOSE_SECONDS: Final = 15.0
"""What a process may take to end beyond the time that it drains."""


class Member:
    """One of the processes: which runs in its slot, and when to start the next."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.process: subprocess.Popen[bytes] | None = None
        self.number = 0
        self.began = 0.0
        self.pause = PAUSES[0]
        self.start_at = 0.0

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Processes:
    """Runs until it is told to stop: SIGTERM and SIGINT stop all, SIGHUP starts each anew, one by one."""

    def __init__(self, listener: socket.socket, count: int, drain_seconds: float) -> None:
        self._listener = listener
        self._patience = drain_seconds + CLOSE_SECONDS
        self._file = tempfile.TemporaryFile(prefix="beliefd-board-")  # noqa: SIM115 - as long as this process
        self._file.truncate(MOST * NUMBER.size)
        self._board = Board(self._file.fileno(), count)
        self._pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        self._alive, self._ours = os.pipe()
        self._members = [Member(slot) for slot in range(count)]
        self._started = 0
        self._stop = self._renew = False

    def run(self) -> int:
        """What to exit with: 0, or what the first process ended with if it could not start."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._told_to_stop)
        signal.signal(signal.SIGHUP, self._told_to_renew)
        try:
            if (failed := self._start_first()) is not None:
                return failed
            while not self._stop:
                self._look()
                if self._renew:
                    self._renew = False
                    self._renew_all()
                time.sleep(LOOK_SECONDS)
            return 0
        finally:
            self._end_all()

    def _told_to_stop(self, *_: object) -> None:
        self._stop = True

    def _told_to_renew(self, *_: object) -> None:
        self._renew = True

    # -- starting ----------------------------------------------------------------------------------------

    def _start_first(self) -> int | None:
        """The first one brings the store up to date; if it cannot start, none can."""
        first = self._members[0]
        self._start(first)
        if not self._wait(lambda: self._is_up(first) or not first.runs) or self._stop:
            return None
        return None if self._is_up(first) or first.process is None else first.process.wait() or 1

    def _start(self, member: Member) -> None:
        self._started += 1
        member.number, member.began = self._started, time.monotonic()
        place = Place(
            slot=member.slot,
            number=member.number,
            listener=self._listener.fileno(),
            board=self._file.fileno(),
            doors=[knocking.fileno() for knocking, _ in self._pairs],
            door=self._pairs[member.slot][1].fileno(),
            alive=self._alive,
        )
        command = [sys.executable, "-m", "beliefd.cli.main", *sys.argv[1:]]
        member.process = subprocess.Popen(  # noqa: S603 - what this process was started with
            command,
            stdin=subprocess.DEVNULL,
            env={**os.environ, VARIABLE: msgspec.json.encode(place).decode()},
            pass_fds=(place.listener, place.board, *place.doors, place.door, place.alive),
            start_new_session=True,  # Ctrl-C is for this process, which tells them
        )

    def _is_up(self, member: Member) -> bool:
        return member.runs and self._board.number(member.slot) == member.number

    def _look(self) -> None:
        """Start what is not running, if it is time."""
        now = time.monotonic()
        for member in self._members:
            if member.runs:
                continue
            if member.process is not None:
                self._ended(member, now)
            if now >= member.start_at:
                self._start(member)

    def _ended(self, member: Member, now: float) -> None:
        code = member.process.returncode if member.process is not None else 0
        member.process = None
        self._board.write(member.slot, 0)
        if now - member.began >= STEADY_SECONDS:
            member.pause = PAUSES[0]
        member.start_at = now + member.pause
        told = "process %d ended with %d; it is started again in %.1f s, and others answer for it"
        log.error(told, member.slot, code, member.pause)
        member.pause = min(member.pause * 2, PAUSES[1])

    def _wait(self, done: Callable[[], bool], seconds: float = START_SECONDS) -> bool:
        until = time.monotonic() + seconds
        while not (found := done()) and not self._stop and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        return found

    # -- ending ------------------------------------------------------------------------------------------

    def _renew_all(self) -> None:
        """One by one: each drains, while the others answer for it, and a new one takes its place."""
        for member in self._members:
            if not self._wait(lambda member=member: self._has_company(member)):  # type: ignore[misc]
                if not self._stop:
                    log.error("nobody is up beside process %d; all are left as they are", member.slot)
                return
            if member.runs:
                self._end([member])
            member.process = None
            self._start(member)
            if not self._wait(lambda member=member: self._is_up(member) or not member.runs):  # type: ignore[misc]
                continue
            if not self._is_up(member):
                log.error("process %d did not start anew; the others are left as they are", member.slot)
                return
            log.info("process %d was started anew", member.slot)

    def _has_company(self, member: Member) -> bool:
        """INVARIANT: while one process ends another one is up, which answers what comes meanwhile."""
        self._look()
        return any(self._is_up(other) for other in self._members if other is not member)

    def _end_all(self) -> None:
        self._end([member for member in self._members if member.runs])

    def _end(self, members: list[Member]) -> None:
        """Told to stop all at once, killed if they do not in time."""
        for member in members:
            if member.process is not None:
                member.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + self._patience
        for member in members:
            if member.process is None:
                continue
            try:
                member.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("process %d did not end in time, and was killed", member.slot)
                member.process.kill()
                member.process.wait()
            self._board.write(member.slot, 0)
