"""What may be set per deployment; its hash stands in every event it governed."""

from typing import Annotated

import msgspec

from beliefd.kernel.values import Role, Value


class TerminationPolicy(Value, frozen=True):
    """Who may end a session that has not come down to one survivor, and how settled it must be."""

    force_roles: tuple[Role, ...] = (Role.ADMIN, Role.APPROVER)
    stability_window: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


class Policy(Value, frozen=True):
    """The rules `decide` is told to apply."""

    v: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1
    termination: TerminationPolicy = TerminationPolicy()
