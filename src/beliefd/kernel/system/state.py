"""What the server's own ledger knows: tokens, spaces, imports, keys and the policy adopted last."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import TIER_PATTERN, Digest, Id, Role, Value

SYSTEM: Final = "system"
"""The id of the server's own session. INVARIANT: no other session has it: ids of others are drawn here, and
a ledger of this name is not imported."""
PolicySource = Literal["adopted", "file"]


class TokenFacts(Value, frozen=True):
    """What is said of a token: all but its secret.

    `fingerprint` is the SHA-256 of the hash that the store keeps of the secret. So a row whose hash was
    exchanged is noticed, and nobody learns the hash from a ledger. `spaces` says what it
    may do in which space, as in `lab=read,propose ops=read`.
    """

    token_id: Id
    name: Id
    role: Role
    tier: Annotated[str, msgspec.Meta(pattern=TIER_PATTERN)]
    fingerprint: Digest
    owner: Id | UnsetType = UNSET
    spaces: Id | UnsetType = UNSET


class KnownToken(Value, frozen=True):
    """A token that an event made, or that was there before this ledger and was adopted by its first one."""

    token: TokenFacts
    made_at: str
    made_by: str
    revoked_at: str | None = None
    revoked_by: str | None = None


class System(Part, frozen=True):
    """What the server's own ledger holds. It is empty in all other sessions.

    `keys` are fingerprints by the name of the key, `spaces` who made each, `imported` where each session came
    from that began elsewhere. `restored` counts how often the store was put back to an earlier state,
    `archived` and `unarchived` how often a ledger was: which, the events say: there may be millions.
    `sealed_refusals` counts how often somebody was refused to write into a sealed session.
    """

    tokens: Growing[KnownToken] = EMPTY
    spaces: Growing[str] = EMPTY
    imported: Growing[Foreign] = EMPTY
    keys: Growing[str] = EMPTY
    adopted_policy: str = ""
    restored: int = 0
    archived: int = 0
    unarchived: int = 0
    sealed_refusals: int = 0
