"""What is written into the server's own ledger. No operation takes these: the server and its operator do."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.system.state import PolicySource, TokenFacts
from beliefd.kernel.transfers.state import Source
from beliefd.kernel.values import Count, Digest, Head, Id, Timestamp, Value


class MakeToken(Value, frozen=True, tag_field="verb", tag="MAKE_TOKEN"):
    """Make a token. Its row is written with the event."""

    token: TokenFacts


class RevokeToken(Value, frozen=True, tag_field="verb", tag="REVOKE_TOKEN"):
    """Revoke a token, for good."""

    token_id: Id


class AdoptTokens(Value, frozen=True, tag_field="verb", tag="ADOPT_TOKENS"):
    """Name the tokens that are older than this ledger. `revoked` are the ids of those that are revoked."""

    tokens: Annotated[tuple[TokenFacts, ...], msgspec.Meta(min_length=1)]
    revoked: tuple[Id, ...] = ()


class AdoptPolicy(Value, frozen=True, tag_field="verb", tag="ADOPT_POLICY"):
    """Decide by another policy: one that somebody adopted, or that stands in the operator's file."""

    policy_hash: Digest
    source: PolicySource


class MakeSpace(Value, frozen=True, tag_field="verb", tag="MAKE_SPACE"):
    """Make a space that sessions can belong to."""

    space: Id


class ImportLedger(Value, frozen=True, tag_field="verb", tag="IMPORT_LEDGER"):
    """Take in a ledger that was written elsewhere; said before it is stored."""

    session_id: Id
    head: Head
    file_sha256: Digest
    source: Source = ""


class ChangeKey(Value, frozen=True, tag_field="verb", tag="CHANGE_KEY"):
    """Use a key that was not used before. The fingerprint tells keys apart, and nothing else of them."""

    name: Id
    fingerprint: Digest


class RestoreStore(Value, frozen=True, tag_field="verb", tag="RESTORE_STORE"):
    """Go on with a store that knows less than this server has seen: its own ledger had come to `seen`. With
    `at`, sessions were put back to what they were then, and so many events were left out. With `signed`, a
    checkpoint of so many leaves was seen, and the log has `leaves`, or others."""

    seen: Head
    found: Count
    at: Timestamp | UnsetType = UNSET
    left_out: Count | UnsetType = UNSET
    signed: Count | UnsetType = UNSET
    leaves: Count | UnsetType = UNSET


class ArchiveLedger(Value, frozen=True, tag_field="verb", tag="ARCHIVE_LEDGER"):
    """Put the ledger of a sealed session away, into a file; said before it is taken out of the store."""

    session_id: Id
    head: Head
    file_sha256: Digest
    place: Source


class UnarchiveLedger(Value, frozen=True, tag_field="verb", tag="UNARCHIVE_LEDGER"):
    """Put the ledger of an archived session back into the store; said before anybody can read it there."""

    session_id: Id
    head: Head
    place: Source = ""


class NoteRefusal(Value, frozen=True, tag_field="verb", tag="NOTE_REFUSAL"):
    """Somebody tried to write into a sealed session, whose own ledger takes nothing more."""

    session_id: Id
    tried: Id
    by: Id


SystemCommand = (
    MakeToken
    | RevokeToken
    | AdoptTokens
    | AdoptPolicy
    | MakeSpace
    | ImportLedger
    | ChangeKey
    | RestoreStore
    | ArchiveLedger
    | UnarchiveLedger
    | NoteRefusal
)
