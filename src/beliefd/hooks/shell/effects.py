"""What a command may do, gathered while it is read."""

from collections.abc import Iterable
from typing import Final

from beliefd.hooks.shell.paths import Places, inside, is_whole, resolved, steers, touches
from beliefd.hooks.shell.table import TABLE
from beliefd.hooks.shell.words import Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH, ShellFacts

MOST: Final = 50
"""How many paths, hosts, programs and reasons are told of; a command with more of them asks."""
SHOWN: Final = 200


class Effects:
    """Everything that was seen. Nothing is ever taken back."""

    def __init__(self, roots: tuple[str, ...], kept: tuple[str, ...] = ()) -> None:
        self.roots = roots
        self.kept = kept
        self.steps = 0
        self.unparsed = False
        self.privilege = False
        self._writes: dict[str, None] = {}
        self._deletes: dict[str, None] = {}
        self._network: dict[str, None] = {}
        self._runs: dict[str, None] = {}
        self._why: dict[str, None] = {}

    def because(self, reason: str) -> None:
        self._why[reason[:SHOWN]] = None

    def runs(self, program: str, reason: str = "") -> None:
        self._runs[program[:SHOWN]] = None
        self.because(reason or f"what `{program[:SHOWN]}` does is not known")

    def reaches(self, hosts: Iterable[str], program: str) -> None:
        self._network |= dict.fromkeys(host[:SHOWN] for host in hosts)
        self.because(f"`{program}` reaches the network")

    def writes(self, word: Word, places: Places) -> None:
        for path in resolved(word, places):
            if path not in TABLE.sinks and not path.startswith("/dev/fd/"):
                self._writes[path[:SHOWN]] = None
                self.because(f"writes `{path[:SHOWN]}`")

    def may_write(self, word: Word, places: Places) -> None:
        """Told of only where it matters: what is written there if a folder or a copy of that name is."""
        for path in resolved(word, places):
            if self._is_outside(path, written=True, deleted=False):
                self.writes(word, places)

    def deletes(self, word: Word, places: Places) -> None:
        for path in resolved(word, places):
            self._deletes[path[:SHOWN]] = None
            self.because(f"deletes `{path[:SHOWN]}`")

    def needs_privilege(self, program: str) -> None:
        self.privilege = True
        self.because(f"`{program}` acts with more rights")

    def not_read(self, reason: str) -> None:
        self.unparsed = True
        self.because(reason)

    def _outside(self) -> tuple[str, ...]:
        changed = self._writes | self._deletes
        return tuple(
            path
            for path in changed
            if self._is_outside(path, written=path in self._writes, deleted=path in self._deletes)
        )

    def _is_outside(self, path: str, *, written: bool, deleted: bool) -> bool:
        return (
            path == UNKNOWN_PATH
            or not inside(path, self.roots)
            or len(path) >= SHOWN
            or touches(path, self.kept, self.roots)
            or steers(path, self.roots, TABLE.steering, by_glob=written)
            or (deleted and is_whole(path, self.roots))
        )

    def facts(self) -> ShellFacts:
        seen = (self._writes, self._deletes, self._network, self._runs)
        if any(len(one) > MOST for one in seen):
            self.not_read("it does too many things to tell")
        read_only = not (any(seen) or self.privilege or self.unparsed)
        outside = self._outside()
        asks = self._network or self._runs or self.privilege or self.unparsed or outside
        return ShellFacts(
            reach="reads" if read_only else "asks" if asks else "project",
            read_only=read_only,
            writes=_first(self._writes),
            deletes=_first(self._deletes),
            outside=outside[:MOST],
            network=_first(self._network),
            runs=_first(self._runs),
            privilege=self.privilege,
            unparsed=self.unparsed,
            why=_first(self._why),
        )


def _first(seen: dict[str, None]) -> tuple[str, ...]:
    return tuple(seen)[:MOST]
