"""What can happen to a server: the events of its own ledger."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.event import EventBase
from beliefd.kernel.system.state import KnownToken, PolicySource
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head


class TokenMade(EventBase, frozen=True, tag="token_made"):
    """A token was made."""

    token: KnownToken


class TokenRevoked(EventBase, frozen=True, tag="token_revoked"):
    """A token no longer opens anything."""

    token: KnownToken


class TokensAdopted(EventBase, frozen=True, tag="tokens_adopted"):
    """The tokens that were there before this ledger."""

    tokens: tuple[KnownToken, ...]


class PolicyAdopted(EventBase, frozen=True, tag="policy_adopted"):
    """A policy has come into force."""

    policy_hash: str
    source: PolicySource


class SpaceMade(EventBase, frozen=True, tag="space_made"):
    """A space was made."""

    space: str
    made_by: str


class LedgerImported(EventBase, frozen=True, tag="ledger_imported"):
    """A ledger that was written elsewhere came in."""

    session_id: str
    foreign: Foreign


class KeyChanged(EventBase, frozen=True, tag="key_changed"):
    """A key of the server was made or replaced."""

    name: str
    fingerprint: str


class StoreRestored(EventBase, frozen=True, tag="store_restored"):
    """The store was put back, or is another one: the operator accepted that it knows less. With `at`,
    sessions are what they were then, without `left_out` events that came later. With `signed`, the log had
    so many leaves when a checkpoint was signed, and has `leaves` of them, or others."""

    seen: Head
    found: int
    at: str | UnsetType = UNSET
    left_out: int | UnsetType = UNSET
    signed: int | UnsetType = UNSET
    leaves: int | UnsetType = UNSET


class LedgerArchived(EventBase, frozen=True, tag="ledger_archived"):
    """A ledger is kept in a file from now on. All its events are still leaves of the log."""

    session_id: str
    head: Head
    file_sha256: str
    place: str


class LedgerUnarchived(EventBase, frozen=True, tag="ledger_unarchived"):
    """A ledger that was in a file is in the store again."""

    session_id: str
    head: Head
    place: str


class RefusalNoted(EventBase, frozen=True, tag="refusal_noted"):
    """Somebody was refused to write into a sealed session."""

    session_id: str
    tried: str
    by: str


SystemEvent = (
    TokenMade
    | TokenRevoked
    | TokensAdopted
    | PolicyAdopted
    | SpaceMade
    | LedgerImported
    | KeyChanged
    | StoreRestored
    | LedgerArchived
    | LedgerUnarchived
    | RefusalNoted
)
