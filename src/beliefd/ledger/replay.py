"""Replay: a state from a ledger, by folding what was decided or by deciding everything again."""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from beliefd.kernel.commands import Command, Head
from beliefd.kernel.decide import decide
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.ledger.chain import (
    Entry,
    LedgerBroken,
    Sealed,
    command_of,
    declaration,
    genesis_hash,
    head_of,
    read,
)


class Position(Struct, frozen=True):
    """A session's state together with the place in the chain that it is the state of."""

    session: Session
    head: Head


def fold(entries: Iterable[Sealed], start: Position | None = None) -> Position | None:
    """Fold entries onto `start`, checking every hash and link on the way.

    Raises LedgerBroken at the first entry whose bytes, link or place do not hold.
    """
    session = None if start is None else start.session
    head = None if start is None else start.head
    last: Sealed | None = None
    seq, prev = (0, "") if head is None else (head.seq, head.hash)
    for sealed in entries:
        seq += 1
        if hashlib.sha256(sealed.record).hexdigest() != sealed.hash:
            raise LedgerBroken(sealed.seq, sealed.event_id, "its hash does not match its bytes")
        entry = _read(sealed)
        try:
            if session is None:
                session = begin(entry.session_id, declaration(entry))
                prev = genesis_hash(session)
            else:
                session = evolve(session, entry.delta)
        except (msgspec.MsgspecError, KeyError) as error:  # what `decide` never made, `evolve` cannot fold
            raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error}") from None
        if entry.prev_hash != prev or entry.seq != seq:
            raise LedgerBroken(sealed.seq, sealed.event_id, "it is not linked to the event before it")
        prev = sealed.hash
        last = sealed
    if session is None:
        return None
    return Position(session, head_of(last)) if last is not None else start


def _read(sealed: Sealed) -> Entry:
    try:
        return read(sealed.record)
    except msgspec.MsgspecError as error:
        raise LedgerBroken(sealed.seq, sealed.event_id, f"it cannot be read: {error}") from None


def facts_of(entry: Entry, policy: Policy) -> Facts:
    """The facts under which an entry was decided, as the ledger recorded them."""
    return Facts(
        now=entry.ts,
        event_id=entry.event_id,
        principal=entry.actor,
        policy=policy,
        policy_hash=entry.policy_hash,
        findings=entry.facts,
    )


class Redecided(Struct, frozen=True):
    """One recorded command, decided again."""

    entry: Entry
    command: Command
    event: Event
    session: Session


def redecide(
    entries: Iterable[Entry], policies: dict[str, Policy], without_sources: frozenset[str] = frozenset()
) -> Iterator[Redecided]:
    """Decide every recorded command again under its recorded facts and policy.

    With `without_sources`, eliminations of these sources are left out: that is the counterfactual ledger.
    """
    session: Session | None = None
    for entry in entries:
        command = command_of(entry)
        if session is not None and without_sources:
            kept = without(command, without_sources)
            if kept is None:
                continue
            command = kept
        policy = policies.get(entry.policy_hash)
        if policy is None:
            raise LedgerBroken(entry.seq, entry.event_id, f"policy `{entry.policy_hash}` is not known")
        event = decide(session, command, facts_of(entry, policy))
        session = begin(entry.session_id, declaration(entry)) if session is None else evolve(session, event)
        yield Redecided(entry, command, event, session)


def without(command: Command, sources: frozenset[str]) -> Command | None:
    """The command as it would have been, had `sources` never spoken; None where nothing is left of it."""
    from beliefd.kernel.commands import Eliminate, Merge

    if isinstance(command, Eliminate):
        return None if command.source_id in sources else command
    if isinstance(command, Merge):
        kept = tuple(item for item in command.eliminations if item.source_id not in sources)
        return msgspec.structs.replace(command, eliminations=kept)
    return command
