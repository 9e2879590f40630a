"""What each verb of the substrate is decided by."""

from typing import Final

from beliefd.kernel.substrate.arbitration import propose
from beliefd.kernel.substrate.beginning import start_call
from beliefd.kernel.substrate.capability_rules import issue_capability, revoke_capability
from beliefd.kernel.substrate.commands import (
    IssueCapability,
    Propose,
    RecordOutcome,
    Remember,
    RevokeCapability,
    StartCall,
)
from beliefd.kernel.substrate.memory import remember
from beliefd.kernel.substrate.outcomes import record_outcome
from beliefd.kernel.tables import Rules

RULES: Final[Rules] = {
    Propose: propose,
    StartCall: start_call,
    RecordOutcome: record_outcome,
    IssueCapability: issue_capability,
    RevokeCapability: revoke_capability,
    Remember: remember,
}
