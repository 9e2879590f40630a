"""Replay: a state from a ledger, by folding what was decided or by deciding everything again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Final

from msgspec import Struct

from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve, evolve_all
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.transfers.folds import as_it_counts
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head
from beliefd.ledger.chain import genesis_hash
from beliefd.ledger.envelope import (
    UNREADABLE,
    Entry,
    LedgerBroken,
    Link,
    Place,
    Sealed,
    command_of,
    declaration,
    head_of,
    read,
    read_links,
    read_places,
)
from beliefd.ledger.left_out import LeftOut
from beliefd.ledger.marks import Marks
from beliefd.ledger.withheld import as_with_parts

CHUNK: Final = 1_000
"""Small enough to stay in the processor's cache between hashing, reading and folding."""

NOT_FOLDED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What `evolve` may raise on a delta that `decide` did not make: nobody vouches for the last entry yet when
it is folded."""


class Position(Struct, frozen=True):
    """A session's state together with the place in the chain that it is the state of.

    `due` is there if the session began elsewhere and its ledger does not say so yet: the server's own does.
    """

    session: Session
    head: Head
    due: Foreign | None = None

    @property
    def foreign(self) -> Foreign | None:
        """Where it came from, if it began elsewhere."""
        return self.due or self.session.transfers.foreign

    @property
    def counted(self) -> Session:
        """The state as it counts here: if it came from elsewhere, as the next command will meet it."""
        return as_it_counts(self.session, self.due)


def fold(entries: Iterable[Sealed], start: Position | None = None) -> Position | None:
    """Fold entries onto `start`, and check every hash and link.

    Raises LedgerBroken at the first entry whose bytes, link or place do not hold.
    """
    rest = iter(entries)
    position = start
    if position is None and (first := next(rest, None)) is not None:
        position = _begun(first).position
    while position is not None and (chunk := list(islice(rest, CHUNK))):
        records = [sealed.record for sealed in chunk]
        hashes = _hashes(records)
        promised = hashes == [sealed.hash for sealed in chunk]
        folded = _fold_chunk(records, hashes, position) if promised else None
        position = folded or _fold_one_by_one(chunk, position)
    return position


class Walk:
    """A chain followed over bare records, without a fold: the hash of each must be the link of the next.

    The caller compares the end with the head.
    """

    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def take(self, records: list[bytes]) -> None:
        seq, previous = self.marks.end
        hashes = _hashes(records)
        try:
            if not seq:
                previous = _begun(Sealed(1, "", records[0], hashes[0])).genesis
            if not are_linked(read_places(records), hashes, seq, previous):
                raise _unlinked(seq)
        except UNREADABLE:
            raise _unlinked(seq) from None
        self.marks.extend(hashes, records)


class Folding:
    """A fold in progress over records without their hashes: the hash of each must be the link of the next.

    The caller compares the last hash with the head. If a chunk does not hold, the caller folds whole entries
    to find out which of them is wrong. `marks` are those of the way, and `read` is how many bytes it had.
    """

    def __init__(self, start: Position | None) -> None:
        self.position = start
        self.marks = Marks() if start is None else Marks(start.head.seq, start.head.hash)
        self.read = 0

    def take(self, records: list[bytes]) -> None:
        self.read += sum(map(len, records))
        hashes = _hashes(records)
        self.marks.extend(hashes, records)
        if self.position is None:
            self.position = _begun(Sealed(1, "", records[0], hashes[0])).position
            records, hashes = records[1:], hashes[1:]
        if records:
            start = self.position
            self.position = _fold_chunk(records, hashes, start)
            if self.position is None:
                raise _unlinked(start.head.seq)


def _hashes(records: Iterable[bytes]) -> list[str]:
    return [sha256(record).hexdigest() for record in records]


def _unlinked(seq: int) -> LedgerBroken:
    return LedgerBroken(seq + 1, None, "from here on it does not hold together")


class _Begun(Struct, frozen=True):
    position: Position
    genesis: str


def _begun(sealed: Sealed) -> _Begun:
    entry = _read(sealed)
    try:
        session = begin(entry.session_id, declaration(entry))
    except (*UNREADABLE, *NOT_FOLDED) as error:
        raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error}") from None
    genesis = genesis_hash(session)
    _check(sealed, entry, 1, genesis)
    return _Begun(Position(session, Head(seq=1, event_id=entry.event_id, hash=sealed.hash)), genesis)


def _fold_chunk(records: list[bytes], hashes: list[str], start: Position) -> Position | None:
    """The checks of `_fold_one_by_one`, but in fast loops; None if any of them fails."""
    try:
        links = read_links(records)
        last = read(records[-1])
    except UNREADABLE:
        return None
    if not are_linked(links, hashes, start.head.seq, start.head.hash):
        return None
    try:
        session = evolve_all(start.session, [link.delta for link in links])
    except NOT_FOLDED:
        return None
    return Position(session, Head(seq=last.seq, event_id=last.event_id, hash=hashes[-1]))


def are_linked(links: Sequence[Link | Place], hashes: Sequence[str], seq: int, previous: str) -> bool:
    """Does each follow the one before it, and the first of them event `seq` with the hash `previous`?"""
    return [link.prev_hash for link in links] == [previous, *hashes[:-1]] and [
        link.seq for link in links
    ] == list(range(seq + 1, seq + len(links) + 1))


def _fold_one_by_one(chunk: list[Sealed], start: Position) -> Position:
    """Slower, but it names the first entry that does not hold."""
    session, head = start.session, start.head
    for sealed in chunk:
        entry = _read(sealed)
        _check(sealed, entry, head.seq + 1, head.hash)
        try:
            session = evolve(session, entry.delta)
        except NOT_FOLDED as error:
            raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error!r}") from None
        head = head_of(sealed)
    return Position(session, head)


def _read(sealed: Sealed) -> Entry:
    if sha256(sealed.record).hexdigest() != sealed.hash:
        raise LedgerBroken(sealed.seq, sealed.event_id, "its hash does not match its bytes")
    try:
        return read(sealed.record)
    except UNREADABLE as error:
        raise LedgerBroken(sealed.seq, sealed.event_id, f"it cannot be read: {error}") from None


def _check(sealed: Sealed, entry: Entry, seq: int, prev: str) -> None:
    if entry.prev_hash != prev or entry.seq != seq:
        raise LedgerBroken(sealed.seq, sealed.event_id, "it is not linked to the event before it")


def facts_of(entry: Entry, policy: Policy) -> Facts:
    """The facts under which an entry was decided, as the ledger recorded them."""
    return Facts(
        now=entry.ts,
        event_id=entry.event_id,
        principal=entry.actor,
        policy=policy,
        policy_hash=entry.policy_hash,
        findings=entry.facts,
        notes=entry.notes,
    )


class Redecided(Struct, frozen=True):
    """One recorded command, decided again."""

    entry: Entry
    command: Command
    event: Event
    session: Session


class Redeciding:
    """Recorded commands decided again under their recorded facts and policies, but for what is left out.

    Nothing is held but the state that they lead to.
    """

    def __init__(self, policies: Mapping[str, Policy], without: LeftOut | None = None) -> None:
        self._policies = policies
        self._without = without
        self.session: Session | None = None

    def take(self, entry: Entry) -> Redecided | None:
        """The entry decided again; None if it is left out."""
        command, without = command_of(entry), self._without
        if self.session is not None and without is not None:
            kept = without.kept(command, entry.actor.id, self.session)
            if kept is None:
                return None
            command = kept
        policy = self._policies.get(entry.policy_hash)
        if policy is None:
            raise LedgerBroken(entry.seq, entry.event_id, f"policy `{entry.policy_hash}` is not known")
        event = as_with_parts(entry, decide(self.session, command, facts_of(entry, policy)), policy)
        if without is not None and without.drops(event):
            return None
        if self.session is None:
            self.session = begin(entry.session_id, declaration(entry))
        else:
            self.session = evolve(self.session, event)
        return Redecided(entry, command, event, self.session)


def redecide(
    entries: Iterable[Entry], policies: Mapping[str, Policy], without: LeftOut | None = None
) -> Iterator[Redecided]:
    """Decide every recorded command again under its recorded facts and policy, but for what is left out."""
    redeciding = Redeciding(policies, without)
    return (step for entry in entries if (step := redeciding.take(entry)) is not None)
