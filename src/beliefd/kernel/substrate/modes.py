"""Modes: how much of a budget is there, and what is off; people set them, `degrade` goes one step down from
there, and time one step back up.

All of it follows from the ledger: since when a mode holds is in the state, the time is a recorded fact.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

from msgspec import UNSET

from beliefd.kernel.policy import ModePolicy, Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.state import NORMAL_MODE, SetModeRecord
from beliefd.kernel.substrate.tools import CallFinding
from beliefd.kernel.values import later, seconds

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
    if not held.lowered_mode or _had_recovered(session, policy, now):
        return MODES[top]
    return MODES[max(top, _recovered(session, policy, now))]


def _recovered(session: Session, policy: Policy, now: str) -> int:
    """The place among the modes that a lowered one has come back to, if nothing holds it down."""
    held = session.substrate
    steps = int((seconds(now) - seconds(held.mode_since)) // policy.modes.recover_seconds)
    return MODES.index(held.lowered_mode) - max(steps, 0)


def _had_recovered(session: Session, policy: Policy, now: str) -> bool:
    """Was what a person had set reached before its time was up? Then nothing is lowered any more, whether
    or not an event has said so meanwhile."""
    given = session.substrate.set_mode
    if policy.arbitration.scheduling == 1 or given is None or not is_over(given, now):
        return False
    return _recovered(session, policy, given.until or now) <= MODES.index(given.mode)


def since_of(session: Session, policy: Policy, mode: str, now: str) -> str:
    """Since when a mode holds that a lowered one has come back to.

    INVARIANT: when the next step follows does not depend on who looks, or on what is proposed meanwhile.
    """
    held = session.substrate
    if policy.arbitration.scheduling == 1 or not held.lowered_mode:
        return now
    steps = MODES.index(held.lowered_mode) - MODES.index(mode)
    return later(held.mode_since, steps * policy.modes.recover_seconds)


def rule_of(mode: str, policy: Policy) -> ModePolicy:
    return policy.modes.rules.get(mode) or RULES.get(mode) or ModePolicy()  # type: ignore[call-overload]


def share(limit: int, mode: str, policy: Policy) -> int:
    """What a mode leaves of a limit of a capability: rounded up, so nothing only of a share of 0.

    INVARIANT: no mode makes more of a capability than its issuer gave.
    """
    return min(limit, rounded_share(limit, mode, policy))


def rounded_share(limit: int, mode: str, policy: Policy) -> int:
    """The mode's share of a limit, rounded up."""
    given = rule_of(mode, policy).budget_share
    # 0.55 of 100 is 55. In floating point it is a little more.
    return ceil(limit * (given if policy.arbitration.scheduling == 1 else _exact(given)))


@lru_cache(64)
def _exact(given: float) -> Fraction:
    """The decimal that was written, and not the binary number next to it."""
    return Fraction(repr(given))


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
