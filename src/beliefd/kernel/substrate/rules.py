"""What each verb of the substrate is decided by."""

from collections.abc import Callable
from typing import Any, Final

from beliefd.kernel.event import EventBase
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import propose
from beliefd.kernel.substrate.capability_rules import issue_capability, revoke_capability
from beliefd.kernel.substrate.commands import (
    IssueCapability,
    Propose,
    RecordOutcome,
    Remember,
    RevokeCapability,
)
from beliefd.kernel.substrate.memory import remember
from beliefd.kernel.substrate.outcomes import record_outcome

RULES: Final[dict[type, Callable[[Session, Any, Facts], EventBase]]] = {
    Propose: propose,
    RecordOutcome: record_outcome,
    IssueCapability: issue_capability,
    RevokeCapability: revoke_capability,
    Remember: remember,
}
