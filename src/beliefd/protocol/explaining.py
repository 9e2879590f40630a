"""Why arbitration says what it says of a call or a change, what it read, and what would make it pass."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import OnFail, Reason
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.substrate.proposals import Patch
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.values import Id, Object, Role, TierName, Value
from beliefd.protocol.operation import Answer

Where = Literal["argument", "patch", "state"]
"""Arguments of the call, values of the change itself, and keys of the state it is judged on."""
Which = Literal["in_force", "before", "defaults", "against"]


class ExplainPolicy(Value, frozen=True):
    """A call (`call`) or a change of the state (`delta`), on a `state` that is given or on that of a session;
    or a decision that is on record (`event_id`, and which of its candidates).

    A session's state is the newest, or that right after the event with the `seq` `at`. `policy` is asked in
    the place of the one in force; `against` is another one to compare with. `role`, `tier` and `agent_id` are
    those of who would make the change, `mode` the one on a `state` that is given; a call says all of them
    itself.
    """

    session_id: Id | UnsetType = UNSET
    event_id: Id | UnsetType = UNSET
    candidate: Annotated[int, Meta(ge=0, le=99)] = 0
    at: Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)] | UnsetType = UNSET
    call: Question | UnsetType = UNSET
    delta: Patch | UnsetType = UNSET
    role: Role = Role.AGENT
    tier: TierName = "PRIVILEGE"
    agent_id: Id | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    state: Object | UnsetType = UNSET
    policy: Policy | UnsetType = UNSET
    against: Policy | UnsetType = UNSET

    def __post_init__(self) -> None:
        recorded, asked = self.event_id is not UNSET, (self.call is not UNSET, self.delta is not UNSET)
        if recorded + sum(asked) != 1:
            raise ValueError("give one of `call`, `delta` and `event_id`")
        if recorded and self.session_id is UNSET:
            raise ValueError("`event_id` needs the `session_id` that it is an event of")
        if self.state is not UNSET and (recorded or self.session_id is not UNSET):
            raise ValueError("`state` is given or a session's, not both")
        if self.mode is not UNSET and (self.delta is UNSET or self.session_id is not UNSET):
            raise ValueError("`mode` goes with a `delta`; a call says it itself, and a session has one")
        if self.at is not UNSET and (recorded or self.session_id is UNSET):
            raise ValueError("`at` goes with a `session_id`, and not with an `event_id`")


class Writing(Value, frozen=True):
    """Who wrote a key last, with which event."""

    event_id: str
    seq: int
    at: str
    by: str
    role: Role


class Reading(Value, frozen=True):
    """What a constraint looked at: a path, and the value there unless there is none or it is `long` (its
    bytes). `key` is the key of the state that it is in; `written` says who wrote that, if it is known, and
    `rule` which rule derived it."""

    path: str
    present: bool
    value: Any | UnsetType = UNSET
    long: int | UnsetType = UNSET
    key: str | UnsetType = UNSET
    written: Writing | UnsetType = UNSET
    rule: str | UnsetType = UNSET


class Deciding(Value, frozen=True):
    """A constraint that the verdict rests on, with what it read. `code` is why it stands in the way, and
    `ALLOWED` if it does not."""

    constraint: str
    effect: str
    code: str
    reads: tuple[Reading, ...]
    on_fail: OnFail | None = None


class ValueChange(Value, frozen=True):
    """One value to change: from `now` to `then`, either of which may be left out for none.

    `example`: others would do as well. `by` are the roles that may write such a key.
    """

    where: Where
    path: str
    now: Any | UnsetType = UNSET
    then: Any | UnsetType = UNSET
    example: bool = False
    by: tuple[str, ...] = ()


class Remedy(Value, frozen=True):
    """What would make it pass. `changes` are as few as can be; judged with them, it passes. Empty: there are
    none among what was tried, which is everything that the constraints tell apart, or only a `part` of it.

    `person`: it passes as well if a person approves. `otherwise` says what is left where nothing else is.
    """

    words: str
    changes: tuple[ValueChange, ...] = ()
    person: bool = False
    otherwise: tuple[str, ...] = ()
    searched: Literal["all", "part"] = "all"
    judged: int = 0


class Under(Value, frozen=True):
    """The same under another policy: the one in force, the one before, the defaults, or one given."""

    which: Which
    policy_hash: str
    verdict: Verdict
    reason_code: str
    reasons: tuple[Reason, ...] = ()
    differs: bool = False
    adopted_at: str | UnsetType = UNSET
    adopted_by: str | UnsetType = UNSET


class PolicyExplanation(Answer, frozen=True):
    """The verdict with every reason, what the deciding constraints read, and what would make it pass.

    `left_out` is what could not be judged here, `assumed` what was taken to stay as it is.
    """

    verdict: Verdict
    reason_code: str
    on_fail: OnFail | None
    reasons: list[Reason]
    allowed_by: list[str]
    left_out: list[str]
    assumed: list[str]
    policy_hash: str
    deciding: list[Deciding]
    remedy: Remedy | None
    under: list[Under]
    event_id: str | None = None
