"""What can happen to a server: the events of its own ledger."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.system.state import KnownToken, PolicySource
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head


class TokenMade(EventBase, frozen=True, tag="token_made"):
    token: KnownToken


class TokenRevoked(EventBase, frozen=True, tag="token_revoked"):
    token: KnownToken


class TokensAdopted(EventBase, frozen=True, tag="tokens_adopted"):
    """The tokens that were there before this ledger."""

    tokens: tuple[KnownToken, ...]


class PolicyAdopted(EventBase, frozen=True, tag="policy_adopted"):
    policy_hash: str
    source: PolicySource


class SpaceMade(EventBase, frozen=True, tag="space_made"):
    space: str
    made_by: str


class LedgerImported(EventBase, frozen=True, tag="ledger_imported"):
    """A ledger that was written elsewhere came in."""

    session_id: str
    foreign: Foreign


class KeyChanged(EventBase, frozen=True, tag="key_changed"):
    name: str
    fingerprint: str


class StoreRestored(EventBase, frozen=True, tag="store_restored"):
    """The store was put back, or is another one: the operator accepted that it knows less."""

    seen: Head
    found: int


SystemEvent = (
    TokenMade
    | TokenRevoked
    | TokensAdopted
    | PolicyAdopted
    | SpaceMade
    | LedgerImported
    | KeyChanged
    | StoreRestored
)
