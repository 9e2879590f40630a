"""What commands may leave behind: in the state of a session, which stays in memory, and in ledgers."""

from math import ceil
from typing import Final

import msgspec
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    Merge,
    RequestExit,
    RequestTermination,
)
from beliefd.kernel.catalogues.commands import PinTools
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.commands import RecordRun
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.commands import Propose, RecordOutcome
from beliefd.kernel.substrate.proposals import without_vector
from beliefd.kernel.system.commands import SystemCommand
from beliefd.kernel.values import Principal
from beliefd.steward.buckets import Buckets

LEDGER: Final = "ledger_bytes_per_hour"
SESSION: Final = "session_bytes"
HOUR: Final = 3600
OWN: Final = "steward://"
"""Principals of the server itself: what was let through is told to its end."""
LEAVES_LITTLE: Final[frozenset[type]] = frozenset({
    # Contexts, justifications and raw answers stand in the ledger only; hypotheses are counted.
    *(DeclareSession, Eliminate, Merge, RequestExit, DeclareConclusion, RequestTermination, Measure),
    # Of results the state keeps digests and numbers.
    *(RecordOutcome, RecordRun),
    # A catalogue comes whole: so many tools, each so long, and only from gateways and operators.
    PinTools,
    *SystemCommand.__args__,
})  # fmt: skip
BUNDLES: Final = (SubmitClaims, DecideApproval)
"""They have a bound of their own (`bundle_bytes`)."""


class Written:
    """How many bytes each principal's commands have written into ledgers, in all processes that share it."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets

    def problem(self, principal: Principal, policy: Policy) -> BeliefdError | None:
        """Why nothing more of theirs is taken now; None if it is."""
        limit = policy.bounds.written_per_hour
        left = self._buckets.left(f"ledger {principal.id}", limit / HOUR, limit)
        if left > 0 or principal.id.startswith(OWN):
            return None
        message = f"`{principal.id}` has written more than {limit} bytes per hour into ledgers"
        wait = max(1, ceil(-left * HOUR / limit))
        return BeliefdError(
            Code.RATE_LIMITED, message, {"limit": limit, "reason": LEDGER, "retry_after": wait}
        )

    def add(self, principal: Principal, size: int, policy: Policy) -> None:
        limit = policy.bounds.written_per_hour
        self._buckets.spend(f"ledger {principal.id}", limit / HOUR, limit, size)


def stays(command: Command) -> bool:
    """Does more of it stay in the state of its session than names and digests?

    INVARIANT: what is not known to leave little is bounded, new verbs included.
    """
    return type(command) not in LEAVES_LITTLE


def refuse_too_large(command: Command, policy: Policy, came_in: int = 0) -> None:
    """What is too large is turned away and not recorded. `came_in` is how many bytes it came in, if known."""
    limit = policy.bounds.kept_of_command
    if not stays(command) or isinstance(command, BUNDLES) or 0 < came_in <= limit:
        return
    if (size := _size(command)) > limit:
        message = (
            f"this stays in memory with its session, so it may have {limit} bytes, and it has {size}; store"
            " large contents, and name them by their SHA-256"
        )
        raise BeliefdError(Code.PAYLOAD_TOO_LARGE, message, {"path": "$", "limit": limit})


def _size(command: Command) -> int:
    if isinstance(command, Propose):  # vectors stand in the ledger only
        command = replace(command, candidates=tuple(map(without_vector, command.candidates)))
    try:
        return len(msgspec.json.encode(command))
    except (TypeError, ValueError, OverflowError):
        return 0  # it has no canonical form, and is refused for that


def session_is_full(size: int, limit: int) -> BeliefdError:
    message = (
        f"the state of this session has {size} bytes, and at most {limit} are kept; go on in another session"
    )
    details = {"path": "session_id", "reason": SESSION, "limit": limit}
    return BeliefdError(Code.QUOTA_EXCEEDED, message, details)
