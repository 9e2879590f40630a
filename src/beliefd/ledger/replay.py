"""Replay: a state from a ledger, by folding what was decided or by deciding everything again."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Final

import msgspec
from msgspec import Struct

from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve, evolve_all
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head
from beliefd.ledger.chain import genesis_hash
from beliefd.ledger.envelope import (
    Entry,
    LedgerBroken,
    Sealed,
    command_of,
    declaration,
    head_of,
    read,
    read_links,
)
from beliefd.ledger.left_out import LeftOut

CHUNK: Final = 1_000
"""Small enough to stay in the processor's cache between hashing, reading and folding."""


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


def fold(entries: Iterable[Sealed], start: Position | None = None) -> Position | None:
    """Fold entries onto `start`, and check every hash and link.

    Raises LedgerBroken at the first entry whose bytes, link or place do not hold.
    """
    rest = iter(entries)
    position = start
    if position is None and (first := next(rest, None)) is not None:
        position = _begun(first)
    while position is not None and (chunk := list(islice(rest, CHUNK))):
        hashes = [sealed.hash for sealed in chunk]
        records = [sealed.record for sealed in chunk]
        position = _fold_chunk(records, position, hashes) or _fold_one_by_one(chunk, position)
    return position


class Folding:
    """A fold in progress over records without their hashes: the hash of each must be the link of the next.

    The caller compares the last hash with the head. If a chunk does not hold, the caller folds whole entries
    to find out which of them is wrong.
    """

    def __init__(self, start: Position | None) -> None:
        self.position = start

    def take(self, records: list[bytes]) -> None:
        if self.position is None:
            first, *records = records
            self.position = _begun(Sealed(1, "", first, sha256(first).hexdigest()))
        if records:
            start = self.position
            self.position = _fold_chunk(records, start)
            if self.position is None:
                raise LedgerBroken(start.head.seq + 1, None, "from here on it does not hold together")


def _begun(sealed: Sealed) -> Position:
    entry = _read(sealed)
    try:
        session = begin(entry.session_id, declaration(entry))
    except msgspec.MsgspecError as error:
        raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error}") from None
    _check(sealed, entry, 1, genesis_hash(session))
    return Position(session, Head(seq=1, event_id=entry.event_id, hash=sealed.hash))


def _fold_chunk(records: list[bytes], start: Position, promised: list[str] | None = None) -> Position | None:
    """The checks of `_fold_one_by_one`, but in fast loops; None if any of them fails."""
    hashes = [sha256(record).hexdigest() for record in records]
    if promised is not None and hashes != promised:
        return None
    try:
        links = read_links(records)
        session = evolve_all(start.session, [link.delta for link in links])
        last = read(records[-1])
    except (msgspec.MsgspecError, KeyError):
        return None
    if [link.prev_hash for link in links] != [start.head.hash, *hashes[:-1]]:
        return None
    if [link.seq for link in links] != list(range(start.head.seq + 1, start.head.seq + len(links) + 1)):
        return None
    return Position(session, Head(seq=last.seq, event_id=last.event_id, hash=hashes[-1]))


def _fold_one_by_one(chunk: list[Sealed], start: Position) -> Position:
    """Slower, but it names the first entry that does not hold."""
    session, head = start.session, start.head
    for sealed in chunk:
        entry = _read(sealed)
        _check(sealed, entry, head.seq + 1, head.hash)
        try:
            session = evolve(session, entry.delta)
        except KeyError as error:  # `evolve` folds only what `decide` made
            raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error}") from None
        head = head_of(sealed)
    return Position(session, head)


def _read(sealed: Sealed) -> Entry:
    if sha256(sealed.record).hexdigest() != sealed.hash:
        raise LedgerBroken(sealed.seq, sealed.event_id, "its hash does not match its bytes")
    try:
        return read(sealed.record)
    except msgspec.MsgspecError as error:
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


def redecide(
    entries: Iterable[Entry], policies: dict[str, Policy], without: LeftOut | None = None
) -> Iterator[Redecided]:
    """Decide every recorded command again under its recorded facts and policy, but for what is left out."""
    session: Session | None = None
    for entry in entries:
        command = command_of(entry)
        if session is not None and without is not None:
            kept = without.kept(command, entry.actor.id, session)
            if kept is None:
                continue
            command = kept
        policy = policies.get(entry.policy_hash)
        if policy is None:
            raise LedgerBroken(entry.seq, entry.event_id, f"policy `{entry.policy_hash}` is not known")
        event = decide(session, command, facts_of(entry, policy))
        if without is not None and without.drops(event):
            continue
        session = begin(entry.session_id, declaration(entry)) if session is None else evolve(session, event)
        yield Redecided(entry, command, event, session)
