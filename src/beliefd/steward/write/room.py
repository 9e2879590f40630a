"""What commands may leave behind: in the state of a session, which stays in memory, and in ledgers."""

from math import ceil
from typing import Final

import msgspec
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import (
    DecideApproval,
    ExpireApproval,
    RevokeGrant,
    WithdrawApproval,
)
from beliefd.kernel.attempts.commands import RecordAttempt
from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    Merge,
    RequestExit,
    RequestTermination,
)
from beliefd.kernel.catalogues.commands import PinTools
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.commands import VERB_OF, Command
from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.commands import RecordRun
from beliefd.kernel.experiments.events import RunRecorded
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.policy import Policy
from beliefd.kernel.scheduling.commands import Interrupt, Resume, SetMode
from beliefd.kernel.substrate.commands import Propose, RecordOutcome, RevokeCapability, StartCall
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.proposals import without_vector
from beliefd.kernel.system.commands import SystemCommand
from beliefd.kernel.transfers.commands import ReceiveLedger, SealSession, UnsealSession
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
TAKEN_WHEN_FULL: Final[frozenset[type]] = frozenset({
    # They take back, end or tighten something that is there, or say what came of it.
    *(RetractClaims, WithdrawApproval, ExpireApproval, RevokeGrant, RevokeCapability, Erase),
    *(Interrupt, Resume, SetMode, SealSession, UnsealSession, ReceiveLedger),
    *(StartCall, RecordOutcome, RecordRun, RecordAttempt),
    *(DeclareSession, Eliminate, Merge, RequestExit, RequestTermination),
    *SystemCommand.__args__,
})  # fmt: skip
VERBS_THAT_FILL: Final = frozenset(verb for kind, verb in VERB_OF.items() if kind not in TAKEN_WHEN_FULL)
SHARES: Final = 4
"""One principal's commands may make so many-th part of what the state of a session may have."""
BUNDLES: Final = (SubmitClaims, DecideApproval)
"""They have a bound of their own (`bundle_bytes`)."""


class Written:
    """How many bytes each principal's commands have written into ledgers, in all processes that share it."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets

    def problem(self, principal: Principal, policy: Policy) -> BeliefdError | None:
        """Why nothing more of theirs is taken now; None if it is."""
        name = f"ledger {principal.id}"
        if self._buckets.has_some(name):
            return None
        limit = policy.bounds.written_per_hour
        left = self._buckets.left(name, limit / HOUR, limit)
        if left > 0 or principal.id.startswith(OWN):
            return None
        message = f"`{principal.id}` has written more than {limit} bytes per hour into ledgers"
        wait = max(1, ceil(-left * HOUR / limit))
        return BeliefdError(
            Code.RATE_LIMITED, message, {"limit": limit, "reason": LEDGER, "retry_after": wait}
        )

    def add(self, principal_id: str, size: int, policy: Policy) -> None:
        limit = policy.bounds.written_per_hour
        self._buckets.spend(f"ledger {principal_id}", limit / HOUR, limit, size)


def on_account_of(principal: Principal, event: Event) -> str:
    """Whom it counts for. What the server says of a call or a run is there because of somebody."""
    if principal.id.startswith(OWN):
        if isinstance(event, OutcomeRecorded):
            return event.call.agent_id
        if isinstance(event, RunRecorded):
            return event.run.started_by
    return principal.id


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


def fills(command: Command, principal: Principal) -> bool:
    """Is it something that a full session does not take?

    INVARIANT: what ends, tightens or takes back is taken however full a session is.
    """
    if isinstance(command, DecideApproval):
        return bool(command.claims)
    return type(command) not in TAKEN_WHEN_FULL and not principal.id.startswith(OWN)


def session_is_full(size: int, limit: int) -> BeliefdError:
    return _full(f"the state of this session has {size} bytes, and it may have {limit}", limit)


def share_is_full(principal: Principal, size: int, limit: int) -> BeliefdError:
    return _full(
        f"commands of `{principal.id}` make about {size} bytes of the state of this session, and those of one"
        f" principal may make {limit}",
        limit,
    )


def _full(what: str, limit: int) -> BeliefdError:
    message = f"{what}; go on in another session: here eliminations, and what takes back or ends, are taken"
    return BeliefdError(
        Code.QUOTA_EXCEEDED, message, {"path": "session_id", "reason": SESSION, "limit": limit}
    )
