"""Verification: recompute everything an exported ledger claims, and name the first event that does not hold.

For each entry, in order:
  1. bytes: they hash to its hash, and are the canonical form of what they say;
  2. envelope: it reads as one of a protocol we know, with a command, for this session, at the next place;
  3. link: it is the hash of the entry before it (for the first: the hash of the session's genesis);
  4. policy: the one it was decided under is known;
  5. decision: deciding its command again under the recorded facts and policy gives the outcome it records;
  6. state: its survivors hashes are those of the folded state before and after it, and so is its state hash,
     where one is due;
  7. withheld: what stands beside it, as far as it is at hand, hashes to its digest and fits the decision.
After the last: the head that was promised is the head that was reached.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.strict_json import loads
from beliefd.kernel.values import PROTOCOL, Head
from beliefd.ledger.chain import genesis_hash
from beliefd.ledger.envelope import Entry, LedgerBroken, Sealed, command_of, declaration, head_of, read
from beliefd.ledger.replay import Position, facts_of
from beliefd.ledger.state_hash import state_hash, state_hash_due
from beliefd.ledger.withheld import as_with_parts, contradicted, parts_of

NOTHING: Final[Mapping[str, bytes]] = {}
NONE: Final[frozenset[str]] = frozenset()
TEXTS: Final = frozenset({"reason", "message", "details", "caveats", "text", "remedy"})


class FirstBad(Struct, frozen=True):
    """Where a chain stops being believable, and why."""

    seq: int
    event_id: str | None
    reason: str


class Verification(Struct, frozen=True):
    """The answer of `audit verify`. Of the `withheld` parts, some are `erased`, and some `absent`: not
    erased, and not at hand either."""

    ok: bool
    checked: int
    first_bad: FirstBad | None = None
    head: Head | None = None
    withheld: int = 0
    erased: int = 0
    absent: int = 0


class Verifying:
    """Verification in progress: entries are handed over as they are read, and none of them is kept.

    `policies` may grow while it goes on, and so may `contents`: what is at hand of withheld parts, by digest.
    """

    def __init__(
        self,
        session_id: str,
        policies: Mapping[str, Policy],
        progress: Callable[[int], None] | None = None,
        contents: Mapping[str, bytes] = NOTHING,
    ) -> None:
        self._contents = contents
        self._withheld: set[str] = set()
        self._session_id = session_id
        self._policies = policies
        self._progress = progress
        self._session: Session | None = None
        self._head: Head | None = None
        self._checked = 0
        self.bad: FirstBad | None = None

    def take(self, entries: Iterable[Sealed]) -> None:
        """Check the next entries, up to the first one that does not hold."""
        try:
            for sealed in entries if self.bad is None else ():
                self._session, withheld = _check_entry(
                    sealed, self._session_id, self._session, self._head, self._policies, self._contents
                )
                self._withheld |= withheld
                self._head = head_of(sealed)
                self._checked += 1
                if self._progress is not None:
                    self._progress(self._checked)
        except LedgerBroken as broken:
            self.bad = FirstBad(broken.seq, broken.event_id, broken.reason)

    def refuse(self, bad: FirstBad | None) -> None:
        """Say of an entry that it does not hold for another reason, which is found outside the ledger."""
        if bad is not None and self.bad is None:
            self.bad, self._checked = bad, min(self._checked, bad.seq - 1)

    def result(self, promised: Head | None = None) -> tuple[Verification, Position | None]:
        """What came of it, if these were all; and the position reached, to compare or to keep."""
        session, head = self._session, self._head
        if self.bad is None:
            try:
                _check_head(head, promised)
            except LedgerBroken as broken:
                self.bad = FirstBad(broken.seq, broken.event_id, broken.reason)
        if self.bad is not None:
            return Verification(ok=False, checked=self._checked, first_bad=self.bad), None
        position = None if session is None or head is None else Position(session, head)
        return self._held(Verification(ok=True, checked=self._checked, head=head)), position

    def _held(self, result: Verification) -> Verification:
        """The result with what became of withheld parts."""
        if not self._withheld or self._session is None:
            return result
        gone = {digest for digest in self._withheld if digest in self._session.erasures.erased}
        absent = self._withheld - gone - self._contents.keys()
        return replace(result, withheld=len(self._withheld), erased=len(gone), absent=len(absent))


def verify(
    entries: Iterable[Sealed],
    session_id: str,
    policies: Mapping[str, Policy],
    promised: Head | None = None,
    progress: Callable[[int], None] | None = None,
    contents: Mapping[str, bytes] = NOTHING,
) -> tuple[Verification, Position | None]:
    """Run all steps on a ledger that is at hand."""
    verifying = Verifying(session_id, policies, progress, contents)
    verifying.take(entries)
    return verifying.result(promised)


def _check_head(head: Head | None, promised: Head | None) -> None:
    if promised is None or head == promised:
        return
    if head is None or head.seq < promised.seq:
        seq = 1 if head is None else head.seq + 1
        raise LedgerBroken(seq, None, f"the ledger ends here, but its head is event {promised.seq}")
    if head.seq > promised.seq:
        raise LedgerBroken(promised.seq + 1, None, f"the ledger goes on past its head, event {promised.seq}")
    raise LedgerBroken(head.seq, head.event_id, "it is not the head that was promised")


def _check_entry(
    sealed: Sealed,
    session_id: str,
    before: Session | None,
    head: Head | None,
    policies: Mapping[str, Policy],
    contents: Mapping[str, bytes],
) -> tuple[Session, frozenset[str]]:
    """The steps of one entry, in their order; the state after it, and the digests of what it withholds."""
    # The place is counted, not read: an entry that gives a wrong number for itself is still named rightly.
    place = 1 if head is None else head.seq + 1
    try:
        _check_bytes(sealed)
        entry, command = _check_envelope(sealed, session_id, place)
        begun = _check_link(entry, before, head)
        policy = _check_policy(entry, policies)
        _check_decision(entry, command, before, policy)
        after = _check_state(entry, begun, before, place)
        return after, NONE if policy.erasable is UNSET else _check_withheld(entry, policy, contents)
    except _Broken as broken:
        raise LedgerBroken(place, sealed.event_id, str(broken)) from None


class _Broken(Exception):
    """A step does not hold; the text says why."""


def _check_bytes(sealed: Sealed) -> None:
    if hashlib.sha256(sealed.record).hexdigest() != sealed.hash:
        raise _Broken("its hash does not match its bytes")
    try:
        if canonical(loads(sealed.record)) != sealed.record:
            raise _Broken("its bytes are not in canonical form")
    except (NotCanonical, ValueError) as error:
        raise _Broken(f"it cannot be read: {error}") from None


def _check_envelope(sealed: Sealed, session_id: str, place: int) -> tuple[Entry, Command]:
    try:
        entry = read(sealed.record)
        command = command_of(entry)
    except (msgspec.MsgspecError, ValueError, KeyError) as error:
        raise _Broken(f"it cannot be read: {error}") from None
    if entry.protocol != PROTOCOL:
        raise _Broken(f"protocol `{entry.protocol}` is not `{PROTOCOL}`")
    if entry.session_id != session_id:
        raise _Broken(f"it belongs to session `{entry.session_id}`")
    if entry.seq != place or sealed.seq != place:
        raise _Broken(f"it stands at place {place} but says {entry.seq}")
    if entry.event_id != sealed.event_id:
        raise _Broken("its event id is not the one it is filed under")
    return entry, command


def _check_link(entry: Entry, before: Session | None, head: Head | None) -> Session:
    """The state that the entry's command met; for the first, the session as it was declared."""
    if before is None and entry.verb != "DECLARE_SESSION":
        raise _Broken("the first event does not declare the session")
    begun = begin(entry.session_id, declaration(entry)) if before is None else before
    if entry.prev_hash != (genesis_hash(begun) if head is None else head.hash):
        raise _Broken("its `prev_hash` is not the hash of what comes before it")
    return begun


def _check_policy(entry: Entry, policies: Mapping[str, Policy]) -> Policy:
    policy = policies.get(entry.policy_hash)
    if policy is None:
        raise _Broken(f"policy `{entry.policy_hash}` is not known here")
    return policy


def _check_decision(entry: Entry, command: Command, before: Session | None, policy: Policy) -> None:
    try:
        decided = as_with_parts(entry, decide(before, command, facts_of(entry, policy)), policy)
    except (ValueError, OverflowError) as error:  # facts that no steward finds, such as an impossible time
        raise _Broken(f"it cannot be decided again: {error}") from None
    if not same_outcome(decided, entry.delta):
        raise _Broken("deciding it again gives another outcome than the one recorded")


def _check_state(entry: Entry, begun: Session, before: Session | None, place: int) -> Session:
    # INVARIANT: only a delta that `decide` made is folded; any other may name what the state does not hold.
    after = begun if before is None else evolve(before, entry.delta)
    if entry.survivors_before_hash != begun.beliefs.survivors.digest:
        raise _Broken("its `survivors_before_hash` is not that of the replayed state")
    if entry.survivors_after_hash != after.beliefs.survivors.digest:
        raise _Broken("its `survivors_after_hash` is not that of the replayed state")
    if entry.state_hash != (state_hash(after) if state_hash_due(after, place) else None):
        raise _Broken("its `state_hash` is not that of the replayed state, or not where one is due")
    return after


def _check_withheld(entry: Entry, policy: Policy, contents: Mapping[str, bytes]) -> frozenset[str]:
    parts = parts_of(entry, policy)
    try:
        problem = contradicted(entry, parts, contents) if parts else None
    except (msgspec.MsgspecError, ValueError, LookupError, TypeError) as error:
        problem = f"what it withholds cannot be put back: {error}"
    if problem is not None:
        raise _Broken(problem)
    return frozenset(part.digest for part in parts)


def same_outcome(decided: Event, recorded: Event) -> bool:
    """Equal but for texts written for people: rewording a reason must not break yesterday's ledgers."""
    return decided == recorded or _outcome(decided) == _outcome(recorded)


def _outcome(value: Any) -> Any:
    """An event without its texts. Only fields of ours are texts: what callers sent is compared as it is."""
    if isinstance(value, Struct):
        names = (name for name in value.__struct_fields__ if name not in TEXTS)
        return type(value), {name: _outcome(getattr(value, name)) for name in names}
    return [_outcome(item) for item in value] if isinstance(value, list | tuple) else value
