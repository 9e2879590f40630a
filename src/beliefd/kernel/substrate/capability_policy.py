"""Rules of a policy that issue capabilities, and what holds for all calls."""

from typing import Annotated, Final

import msgspec

from beliefd.kernel.names import covers, refuse_loose
from beliefd.kernel.substrate.capabilities import ANY, Scope
from beliefd.kernel.values import Id, Principal, Role, Value, shown

MAX_TIMEOUT_MS: Final = 10 * 60 * 1000
BEGIN_WITHIN_SECONDS: Final = 3600


class CapabilityRule(Value, frozen=True):
    """Issues the `scope` to every principal of these ids (or all of `prefix/*`) or roles, in every session.

    The budgets are for one session and one principal; a new capability after the first has expired goes on
    with what is left of them.
    """

    name: Id
    scope: Scope
    principals: tuple[Id, ...] = ()
    roles: tuple[Role, ...] = ()
    expires_in_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)] = 3600

    def __post_init__(self) -> None:
        refuse_loose(self.principals, "/", "principals")
        if not self.principals and not self.roles:
            raise ValueError(f"`{shown(self.name)}` issues to nobody: name `principals` or `roles`")

    def issues_to(self, who: Principal) -> bool:
        return who.role in self.roles or any(covers(pattern, who.id) for pattern in self.principals)

    def covers_tool(self, tool_id: str) -> bool:
        return ANY in self.scope.tools or tool_id in self.scope.tools


class CallsPolicy(Value, frozen=True):
    """How long any call may take, whatever its tool says.

    A call that a person has approved and that its caller runs must begin within `begin_within_seconds`, 3600
    unless given.
    """

    max_timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=3_600_000)] = MAX_TIMEOUT_MS
    # Not in the hash while it is not given: what was adopted before there was any keeps its hash.
    begin_within_seconds: Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3600)] | msgspec.UnsetType = (
        msgspec.UNSET
    )
