"""Which calls draw on the same budgets, and whether one waits for others to give back what was set aside."""

from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Capability, ancestors, exhausted
from beliefd.kernel.substrate.modes import share
from beliefd.kernel.substrate.reserving import AMOUNTS, as_spent, need_of, released
from beliefd.kernel.substrate.state import Substrate, ToolCall
from beliefd.kernel.substrate.tools import ToolDefinition


def limited_root(held: Substrate, call: ToolCall) -> str | None:
    """The capability that all came out of which a call draws on, if one of them limits what calls use."""
    lineage = _lineage(held, call)
    limits = [getattr(one.scope.budgets, name) for one in lineage for name in AMOUNTS]
    return None if all(limit is None for limit in limits) else lineage[-1].capability_id


def is_held_up(session: Session, call_id: str, definition: ToolDefinition, policy: Policy) -> bool:
    """Would there be enough for a call if calls under way used nothing of what is set aside for them?"""
    call = session.substrate.calls[call_id]
    if call.status != "scheduled":
        return False
    held = released(session.substrate, call)
    need = need_of(held, call.tool_id, definition)

    def part(limit: int) -> int:
        return share(limit, session.substrate.mode, policy)

    lineage = _lineage(held, call)
    return not any(exhausted(one, part, need) for one in lineage) and any(
        exhausted(as_spent(one), part, need) for one in lineage
    )


def _lineage(held: Substrate, call: ToolCall) -> tuple[Capability, ...]:
    if call.capability_id is None:
        return ()
    capability = held.capabilities[call.capability_id]
    return (capability, *ancestors(held.capabilities, capability))
