"""What a gateway asks beliefd: may this call run, what came of it, which tools are pinned."""

from typing import Any, Final, Protocol

from msgspec import Struct

OPEN: Final = frozenset({"pending", "deferred", "superseded"})
"""An approval that may still be given: here, or in the one that follows it."""


class Proposed(Struct, frozen=True):
    """A call that a client wants to make. `unannounced` says that it has a key which nobody announced."""

    session_id: str
    upstream: str
    tool: str
    arguments: dict[str, Any]
    join_key: str
    unannounced: bool = False


class Judgement(Struct, frozen=True, kw_only=True):
    """What was decided. `seconds` is how long the call may take; without a permit, nothing may run.

    `approval_id` is set where a person is asked, who decides at `inbox_url` or by `decide_at`; a program asks
    about it at `approval_url`.
    """

    session_id: str
    seconds: float | None = None
    call_id: str | None = None
    code: str = ""
    reasons: tuple[str, ...] = ()
    status: str | None = None
    approval_id: str | None = None
    approval_url: str | None = None
    inbox_url: str | None = None
    decide_at: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a call: `unknown` where nobody can say whether it had an effect."""

    status: str
    result: Any = None
    structured: Any = None
    error: str | None = None


class Waiting(Struct, frozen=True):
    """A tool that is not shown until a person has accepted its definition."""

    name: str
    approval_id: str
    what: str


class Pins(Struct, frozen=True):
    """The tools of an upstream that may be shown, and those that wait for a person."""

    pinned: frozenset[str]
    waiting: dict[str, Waiting]


class Judge(Protocol):
    """The port to beliefd. Every method raises `BeliefdError` if it cannot be carried out."""

    async def open_session(self, key: str) -> str:
        """The session of a conversation; the same one for the same key."""

    async def session_of(self, join_key: str) -> str | None:
        """The session that somebody has announced a call with this key from."""

    async def pin(self, upstream: str, tools: list[dict[str, Any]]) -> Pins:
        """Hand in the definitions as they are now."""

    async def propose(self, call: Proposed) -> Judgement:
        """Have a call judged. With a permit, it has begun: run it once, and report.

        What a person has approved gets its permit when it is proposed again.
        """

    async def wait(self, approval_id: str, seconds: float) -> tuple[str, str]:
        """The status of an approval once it is decided, or when the time is over; and who follows it."""

    async def report(self, session_id: str, call_id: str, outcome: Outcome) -> str | None:
        """Say what came of a call; answers with the name under which its result is kept."""

    async def tell(self, session_id: str, tool: str, text: str, structured: Any = None) -> None:
        """Have something that the client will read kept as context of the session."""
