"""Modes: how much of a budget is there, and what is off; `degrade` goes one step down, time one step up.

All of it follows from the ledger: since when a mode holds is in the state, the time is a recorded fact.
"""

from math import ceil
from typing import Final

from beliefd.kernel.policy import ModePolicy, Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.state import NORMAL_MODE
from beliefd.kernel.substrate.tools import CallFinding
from beliefd.kernel.values import seconds

MODES: Final = ("boost", "normal", "eco", "throttled", "offline-safe")
"""From the most to the least."""
RULES: Final = {
    "eco": ModePolicy(budget_share=0.5),
    "throttled": ModePolicy(budget_share=0.25),
    "offline-safe": ModePolicy(budget_share=0.25, network=False, mutating=False),
}
"""What holds in a mode that the policy says nothing about."""


def lower(mode: str) -> str:
    return MODES[min(MODES.index(mode) + 1, len(MODES) - 1)]


def mode_at(session: Session, policy: Policy, now: str) -> str:
    """The mode at a time: for every `recover_seconds` that a lowered one has lasted, one step back up.

    Normal is where it ends: what lies above it is not reached by waiting.
    """
    mode, normal = session.substrate.mode, MODES.index(NORMAL_MODE)
    if MODES.index(mode) <= normal:
        return mode
    steps = int((seconds(now) - seconds(session.substrate.mode_since)) // policy.modes.recover_seconds)
    return MODES[max(normal, MODES.index(mode) - max(steps, 0))]


def rule_of(mode: str, policy: Policy) -> ModePolicy:
    return policy.modes.rules.get(mode) or RULES.get(mode) or ModePolicy()  # type: ignore[call-overload]


def share(limit: int, mode: str, policy: Policy) -> int:
    """What is left of a limit in a mode; something always is, or nothing could ever be done."""
    return min(limit, ceil(limit * rule_of(mode, policy).budget_share))


def turned_off(mode: str, policy: Policy, finding: CallFinding) -> list[Reason]:
    """What a call needs and the mode has switched off."""
    rule, definition = rule_of(mode, policy), finding.definition
    found: list[str] = []
    if not rule.network and finding.hosts:
        found.append("calls over the network")
    if not rule.mutating and definition is not None and definition.mutates:
        found.append("calls that change things")
    return [
        Reason(code="MODE", text=f"mode `{mode}` has switched off {what}", remedy="a mode that has not")
        for what in found
    ]
