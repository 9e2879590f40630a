"""What is asked and answered about capabilities."""

from typing import Annotated, Final

from msgspec import Meta

from beliefd.kernel.substrate.capabilities import Amounts, Budgets, Scope, Used
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.values import Id, Value
from beliefd.protocol.operation import Answer

TOKEN_LENGTH: Final = 4096


class CapabilityRequest(Value, frozen=True):
    """A capability in a session; with `parent_token`, a narrower one out of what that token allows.

    Who is no admin gets what policy issues to them, for themselves; without a `scope`, all of it.
    A `signed` token can be verified and narrowed down without the server; it takes the extra `biscuit`.
    """

    session_id: Id
    agent_id: Id | None = None
    scope: Scope | None = None
    expires_in_seconds: Annotated[int, Meta(ge=1, le=30 * 24 * 3600)] = 3600
    parent_token: Annotated[str, Meta(max_length=TOKEN_LENGTH)] | None = None
    signed: bool = False


class CapabilityLevel(Answer, frozen=True):
    """A capability that another one came out of. What that one uses counts here, too."""

    capability_id: str
    agent_id: str
    budgets: Budgets
    used: Used
    reserved: Amounts
    left: Budgets
    expires_at: str
    revoked_at: str | None


class CapabilityView(Answer, frozen=True):
    """A capability without its secret. `reserved` is set aside for calls that run right now.

    `rule` is the rule of the policy that issued it, if one did. `policy_hash` is the policy that it was
    issued under and `provenance` at whose word, null if that is older. `parents` is what it came out of,
    nearest first. `left` is what it leaves itself; nothing can be used that a parent has no more of.
    """

    capability_id: str
    session_id: str
    agent_id: str
    scope: Scope
    used: Used
    issued_at: str
    expires_at: str
    issued_by: str
    parent: str | None
    revoked_at: str | None
    reserved: Amounts = Amounts()
    rule: str | None = None
    policy_hash: str | None = None
    provenance: Provenance | None = None
    left: Budgets = Budgets()
    parents: list[CapabilityLevel] = []


class CapabilityPage(Answer, frozen=True):
    """Capabilities of a session."""

    capabilities: list[CapabilityView]
    next: str | None


class RevokedCapability(CapabilityView, frozen=True):
    """`still_held` are the other capabilities of this session that the same agent can go on with.

    One that policy issued is among them also when it has expired: the next proposal renews it.
    """

    still_held: list[str] = []


class IssuedCapability(Answer, frozen=True):
    """`token` is shown here and never again. A signed one can be verified with `public_key`."""

    token: str
    capability: CapabilityView
    public_key: str | None = None
