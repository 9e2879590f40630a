"""The policy in force looked over: what is the matter with its rules, and which of them have mattered."""

from typing import Literal

from beliefd.protocol.operation import Answer


class PolicyFinding(Answer, frozen=True):
    """What lint says of a constraint or a rule. A warning is most probably a mistake."""

    code: str
    constraint: str
    message: str
    level: Literal["warning", "note"]
    other: str = ""


class UsedAt(Answer, frozen=True):
    """A decision that a constraint stood in the way of."""

    session_id: str
    seq: int
    event_id: str
    at: str


class RuleUse(Answer, frozen=True):
    """How often a constraint stood in the way, and when it did last; null if it never did."""

    constraint: str
    effect: str
    count: int
    last: UsedAt | None = None


class PolicyReview(Answer, frozen=True):
    """Findings of lint, and the constraints that can stand in the way, with how often they did.

    `decisions` are the verdicts on record under exactly this policy that were looked at, in the sessions that
    the caller may read; `complete` is false if there are more. Constraints that only allow are not listed:
    a verdict does not name them.
    """

    policy_hash: str
    warnings: int
    findings: list[PolicyFinding]
    compared: str
    decisions: int
    used: list[RuleUse]
    percent: float
    looked_at: int
    complete: bool
