"""Modes: how much of a budget is there, and what is off; people set them, `degrade` goes one step down from
there, and time one step back up.

All of it follows from the ledger: since when a mode holds is in the state, the time is a recorded fact.
"""

from math import ceil
from typing import Final

from msgspec import UNSET

from beliefd.kernel.policy import ModePolicy, Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.state import NORMAL_MODE, SetModeRecord
from beliefd.kernel.substrate.tools import CallFinding
from beliefd.kernel.values import seconds

MODES: Final = ("boost", "normal", "eco", "throttled", "offline-safe")
"""From the most to the least."""
RULES: Final = {
    "boost": ModePolicy(budget_share=2.0),
    "eco": ModePolicy(budget_share=0.5),
    "throttled": ModePolicy(budget_share=0.25),
    "offline-safe": ModePolicy(budget_share=0.25, network=False, mutating=False),
}
"""What holds in a mode that the policy says nothing about."""


def lower(mode: str) -> str:
    return MODES[min(MODES.index(mode) + 1, len(MODES) - 1)]


def is_over(given: SetModeRecord | None, now: str) -> bool:
    """Is the time up of a mode that was set?"""
    return given is not None and given.until is not UNSET and seconds(now) >= seconds(given.until)


def set_at(session: Session, now: str) -> str:
    """The mode that a person has set, while its time lasts; else normal."""
    given = session.substrate.set_mode
    return NORMAL_MODE if given is None or is_over(given, now) else given.mode


def mode_at(session: Session, policy: Policy, now: str) -> str:
    """The mode at a time: for every `recover_seconds` that a lowered one has lasted, one step back up.

    INVARIANT: what a person has set is where it ends, or normal: more is not reached by waiting.
    """
    held, top = session.substrate, MODES.index(set_at(session, now))
    if not held.lowered_mode:
        return MODES[top]
    steps = int((seconds(now) - seconds(held.mode_since)) // policy.modes.recover_seconds)
    return MODES[max(top, MODES.index(held.lowered_mode) - max(steps, 0))]


def rule_of(mode: str, policy: Policy) -> ModePolicy:
    return policy.modes.rules.get(mode) or RULES.get(mode) or ModePolicy()  # type: ignore[call-overload]


def share(limit: int, mode: str, policy: Policy) -> int:
    """What is left of a limit in a mode; something always is, or nothing could ever be done.

    INVARIANT: no mode makes more of a capability than its issuer gave.
    """
    return min(limit, ceil(limit * rule_of(mode, policy).budget_share))


def may_reach_network(finding: CallFinding) -> bool:
    """INVARIANT: a call may reach the network unless its tool is known not to. Entries that do not say what
    is known are older than that rule: there, a call reaches it if it names a host."""
    return bool(finding.hosts) if finding.network is UNSET else finding.network


def turned_off(mode: str, policy: Policy, finding: CallFinding) -> list[Reason]:
    """What a call needs and the mode has switched off."""
    rule, definition = rule_of(mode, policy), finding.definition
    found: list[str] = []
    if not rule.network and may_reach_network(finding):
        found.append("calls over the network")
    if not rule.mutating and definition is not None and definition.mutates:
        found.append("calls that change things")
    return [
        Reason(code="MODE", text=f"mode `{mode}` has switched off {what}", remedy="a mode that has not")
        for what in found
    ]
