"""How much one principal may take up of what all share."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.values import Value

MIB = 1024 * 1024
Bytes = Annotated[int, msgspec.Meta(ge=1, le=MAX_SAFE_INTEGER)]
Many = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
KEPT: Final = MIB // 2
STATE: Final = 64 * MIB
PER_HOUR: Final = 32 * 1024 * MIB
"""More than who makes the most requests with usual eliminations writes."""


class LimitsPolicy(Value, frozen=True):
    """What one principal may take up of what all share. Past it, the answer is `RATE_LIMITED`.

    `bytes_in_flight` (of bodies that are not answered yet, and of large answers that are not taken yet) holds
    per server process; one body or answer alone may always be as large as its operation allows.
    `requests_per_second` and `ledger_bytes_per_hour`, what its commands and the results of its calls
    write into ledgers, 34359738368 unless given, hold for all servers on one PostgreSQL together, and per
    process on other stores.
    `pending_approvals` are items in the inbox that wait because of this principal, and
    `running_experiments` its runs under way, in all sessions and counted over all processes on one store;
    `open_sessions` are those it declared and that have not ended. `bundle_bytes` is how large one bundle of
    claims may be, which stays in memory while it waits for a person; answers that come with it to be measured
    are not counted. `command_bytes` is likewise how large one command may be that stays in the state of its
    session, such as a proposal or something to remember: 524288 unless given. `session_bytes` is how large
    the state of one session may be as it is saved, 67108864 unless given, and never more than the states of
    all sessions in memory; commands of one principal may make a quarter of that.
    """

    requests_per_second: Many = 5_000
    bytes_in_flight: Bytes = 64 * MIB
    pending_approvals: Many = 500
    running_experiments: Many = 16
    open_sessions: Many = 100_000
    bundle_bytes: Bytes = MIB // 2
    # Not in the hash while they are not given: what was adopted before there were any keeps its hash.
    command_bytes: Bytes | UnsetType = UNSET
    ledger_bytes_per_hour: Bytes | UnsetType = UNSET
    session_bytes: Bytes | UnsetType = UNSET

    @property
    def kept_of_session(self) -> int:
        return self.session_bytes or STATE

    @property
    def kept_of_command(self) -> int:
        return self.command_bytes or KEPT

    @property
    def written_per_hour(self) -> int:
        return self.ledger_bytes_per_hour or PER_HOUR


DEFAULT_LIMITS = LimitsPolicy()
PENDING: Final = "pending_approvals"
RUNNING: Final = "running_experiments"
SESSIONS: Final = "open_sessions"
LIMITED: Final = {
    SESSIONS: "sessions of this principal have not ended; end some",
    PENDING: "items wait for a person because of this principal; withdraw some, or wait for decisions",
    RUNNING: "experiments of this principal are under way; wait until one has ended",
}
"""What is counted in the store, and what it is about."""
RETRY_SECONDS: Final = {PENDING: 60, RUNNING: 5, SESSIONS: 60}


def over_limit(name: str, counted: int | UnsetType, limit: int, path: str) -> Refused | None:
    """The refusal if so many are there already. Facts tell of a count only where it reaches the limit."""
    if not isinstance(counted, int) or counted < limit:
        return None
    return refused(
        Code.RATE_LIMITED,
        f"{counted} {LIMITED[name]}",
        path,
        limit=limit,
        reason=name,
        retry_after=RETRY_SECONDS[name],
    )
