"""Backtests: which ledgers to decide again under another policy, and what would change."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Id, Object, Value
from beliefd.protocol.beliefs import BrokenLedger
from beliefd.protocol.operation import Answer

MOST_DECISIONS: Final = 1_000_000
MOST_SESSIONS: Final = 1_000


class Reached(Value, frozen=True):
    """How far a backtest came: the last event that was decided again."""

    session_id: Id
    seq: Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]


class AskBacktest(Value, frozen=True):
    """Which ledgers to decide again, and under which policy: those of `sessions`, or all that one may see.

    `limit` is how many decisions one answer may take, `after` is where to go on from: `next` of the answer
    before.
    """

    policy: Policy
    sessions: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=MOST_SESSIONS)] | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST_DECISIONS)] = 100_000
    after: Reached | None = None


class DecidedOtherwise(Answer, frozen=True):
    """The first decision of a group: where it stands, and why it would be another. Long arguments are left
    out."""

    session_id: str
    seq: int
    event_id: str
    at: str
    reasons: list[str]
    args: Object | UnsetType = UNSET


class ChangedDecisions(Answer, frozen=True):
    """Decisions that would change in the same way. `constraint` is what decides them then, or what decided
    them before where they would be allowed now."""

    verb: str
    tool: str | None
    principal: str
    was: str
    would_be: str
    constraint: str | None
    count: int
    first: DecidedOtherwise


class Counted(Answer, frozen=True):
    """Decisions about one tool, or of one principal."""

    name: str
    decisions: int
    changed: int
    undecidable: int


class Backtest(Answer, frozen=True):
    """What another policy would have decided, each command on the state that it was recorded on.

    What would need facts that were not recorded is `undecidable`, and stands among the groups. `left_out` are
    decisions of groups that had no room. `erased` are texts of these sessions that are gone: what was said
    with them is decided by their digests. `next` says where to go on, if `limit` was reached.
    """

    policy_hash: str
    sessions: int
    decisions: int
    changed: int
    undecidable: int
    groups: list[ChangedDecisions]
    by_tool: list[Counted]
    by_principal: list[Counted]
    broken: list[BrokenLedger]
    left_out: int = 0
    erased: int = 0
    next: Reached | None = None
