"""Exported ledgers decided again: one file may hold several, one after the other."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.envelope import UNREADABLE, LedgerBroken, Sealed, head_of, read_places
from beliefd.ledger.transfer import BadExport, Header, read_entry, read_header
from beliefd.policy.backtesting.steps import Line
from beliefd.steward.backtesting.ledgers import LedgerTrial, Trial
from beliefd.steward.backtesting.tally import Tally

CHUNK: Final = 500


def decide_exports(lines: Iterable[Line], trial: Trial, tally: Tally) -> None:
    """A ledger that does not hold ends where it breaks; those after it go on."""
    reading: _Reading | None = None
    for line in lines:
        data = line.data or b""
        if data.startswith(b'{"format"'):
            _end(reading)
            reading = _Reading(read_header(data, line.number), trial, tally)
        elif reading is None:
            raise BadExport(line.number, "an exported ledger begins with its header")
        else:
            reading.add(data, line.number)
    _end(reading)


def _end(reading: "_Reading | None") -> None:
    if reading is not None:
        reading.end()


class _Reading:
    """One ledger of a file. INVARIANT: what does not hold together is not decided again."""

    def __init__(self, header: Header, trial: Trial, tally: Tally) -> None:
        self._header = header
        self._tally = tally
        self._ledger = LedgerTrial(trial, header.policies, tally)
        self._chunk: list[Sealed] = []
        self._last: Sealed | None = None
        self._broken = header.session_id == SYSTEM  # what operators do is decided by no policy

    def add(self, data: bytes, number: int) -> None:
        if self._broken:
            return
        try:
            self._chunk.append(read_entry(data, number))
        except BadExport as error:
            seq = 1 if self._last is None else self._last.seq + len(self._chunk)
            self._break(LedgerBroken(seq, None, str(error)))
        if len(self._chunk) >= CHUNK:
            self._take()

    def end(self) -> None:
        self._take()
        if not self._broken:
            head = None if self._last is None else head_of(self._last)
            if head != self._header.head:
                promised = self._header.head
                self._break(LedgerBroken(promised.seq, promised.event_id, "it does not end with its head"))
            else:
                self._tally.end(self._ledger.session)

    def _take(self) -> None:
        if self._broken or not self._chunk:
            return
        try:
            self._check()
            self._ledger.take(self._chunk)
        except LedgerBroken as error:
            self._break(error)
        self._last, self._chunk = self._chunk[-1], []

    def _check(self) -> None:
        """Is each entry what its hash says, and linked to the one before?"""
        try:
            places = read_places(one.record for one in self._chunk)
        except UNREADABLE as error:
            raise LedgerBroken(self._chunk[0].seq, None, f"it cannot be read: {error}") from None
        before = self._last
        for sealed, place in zip(self._chunk, places, strict=True):
            linked = before is None or (place.prev_hash, place.seq) == (before.hash, before.seq + 1)
            if not linked or sha256(sealed.record).hexdigest() != sealed.hash:
                raise LedgerBroken(sealed.seq, sealed.event_id, "its hash or its link does not hold")
            before = sealed

    def _break(self, error: LedgerBroken) -> None:
        self._broken = True
        self._tally.break_off(self._header.session_id, error)
