"""A call that nobody has made, about which arbitration can be asked."""

from typing import Any

from msgspec import UNSET, UnsetType

from beliefd.kernel.origin import CallFacts
from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.substrate.state import NORMAL_MODE
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.kernel.values import Id, Role, TierName, Timestamp, Value


class Question(Value, frozen=True):
    """A call that somebody of some tier might make; `facts` is where its values came from, if it is known.

    `definition` is what the tool says of itself, where that is more than the policy says of it; `hosts` are
    those it would reach, `shell` what its commands may do.
    """

    tool_id: str
    args: dict[str, Any] = {}
    tier: TierName = "PRIVILEGE"
    facts: CallFacts | UnsetType = UNSET
    role: Role = Role.AGENT
    agent_id: Id | UnsetType = UNSET
    mode: ModeName = NORMAL_MODE
    definition: ToolDefinition | UnsetType = UNSET
    hosts: tuple[str, ...] = ()
    shell: ShellFacts | UnsetType = UNSET
    now: Timestamp | UnsetType = UNSET
