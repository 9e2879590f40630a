"""A command that waits for its turn, and what becomes of it."""

import asyncio
from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate, Merge
from beliefd.kernel.canonical import digest
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.commands import VERB_OF, Command, verb_of
from beliefd.kernel.events import Event
from beliefd.kernel.limits import LIMITED
from beliefd.kernel.state import Session
from beliefd.kernel.values import Head, Principal
from beliefd.ledger.envelope import Entry, payload_of
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.finder import is_examined
from beliefd.steward.facts.threats import is_long
from beliefd.steward.offload import HEAVY_BYTES, HEAVY_ITEMS
from beliefd.steward.write.room import LEDGER, SESSION
from beliefd.steward.write.withholding import Withheld

ANY_HEAD: Final = (None, "*")
"""What If-Match says when any head will do."""
DECLARING: Final = VERB_OF[DeclareSession]


class Outcome(Struct, frozen=True):
    """What became of a command: the event, and the state and place right after it.

    `repeated` tells an answer that was given before: what it let happen has happened, or is under way.
    """

    event: Event
    session: Session
    head: Head
    repeated: bool = False


class Counts(Struct):
    """What was decided, by verb and kind of event, and how often another process was faster."""

    decided: Counter[tuple[str, str]]
    retries: int = 0
    limited: Counter[str] = msgspec.field(
        default_factory=lambda: Counter(dict.fromkeys((*LIMITED, LEDGER, SESSION), 0))
    )


class QueuedCommand(Struct):
    """A command that waits for its turn, and the caller that waits for its outcome."""

    session_id: str
    command: Command
    principal: Principal
    if_match: str | None
    key: str | None
    notes: str | None
    attachments: Attachments
    done: "asyncio.Future[Outcome]"
    recent: int | None = None
    trace: Any = None
    withheld: Withheld | None = None

    @property
    def scope(self) -> str | None:
        # A declaration has no session yet: its id is new on every try and must not tell tries apart.
        return None if isinstance(self.command, DeclareSession) else self.session_id

    @property
    def request_hash(self) -> str:
        return request_hash_of(self.scope, verb_of(self.command), payload_of(self.command), self.notes)

    @property
    def recorded_hash(self) -> str:
        """INVARIANT: of what is withheld no hash is kept that somebody could try out texts on."""
        told = self.withheld
        if told is None:
            return self.request_hash
        return request_hash_of(self.scope, verb_of(told.command), payload_of(told.command), told.notes)

    @property
    def is_plain(self) -> bool:
        """Can it be decided on a known state without waiting for anything (store, detector, thread)?"""
        return (
            self.key is None
            and self.if_match in ANY_HEAD
            and not is_examined(self.command)
            and not self.is_heavy
        )

    @property
    def is_heavy(self) -> bool:
        """Must it be decided beside the event loop? How long the text is that it came in is known at once."""
        size = self.attachments.size
        return size > HEAVY_BYTES or is_heavy(self.command, size)


def request_hash_of(scope: str | None, verb: str, payload: Any, notes: str | None) -> str:
    asked = {"session": scope, "verb": verb, "payload": payload}
    return digest(asked if notes is None else {**asked, "notes": notes})


def recorded_request(entry: Entry) -> str:
    """The hash of the request that an entry records."""
    scope = None if entry.verb == DECLARING else entry.session_id
    return request_hash_of(scope, entry.verb, msgspec.json.decode(entry.payload), entry.notes)


def is_heavy(command: Command, size: int = 0) -> bool:
    """`size` is how many bytes it came in, if that is known."""
    if isinstance(command, Eliminate):
        return len(command.eliminated) > HEAVY_ITEMS
    if isinstance(command, DeclareSession):
        return len(command.hypotheses) > HEAVY_ITEMS
    if isinstance(command, SubmitClaims):
        return is_long(command.bundle, size)
    return isinstance(command, Merge)
