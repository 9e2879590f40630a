"""What a card tells of how a question came up: where a call's values stood, and what was decided before."""

from typing import Any, Final

import msgspec

from beliefd.kernel.approvals.state import ApprovalStatus
from beliefd.kernel.origin.facts import ValueFact
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import TierName
from beliefd.protocol.operation import Answer

INSTEAD: Final = "propose it with these arguments instead: "
"""What a no says to the agent whose call a person edited; the arguments follow, as JSON."""


def with_instead(reason: str, args: dict[str, Any]) -> str:
    """The reason of a no that says which arguments to propose."""
    return f"{reason}\n{INSTEAD}{msgspec.json.encode(args).decode()}".lstrip()


def instead_in(reason: str) -> dict[str, Any] | None:
    """The arguments that a no asked for; None if it asked for none."""
    _, found, written = reason.rpartition(INSTEAD)
    try:
        return msgspec.json.decode(written, type=dict[str, Any]) if found else None
    except msgspec.DecodeError:
        return None


class UserText(Answer, frozen=True):
    """Something that the session was told as the user's word, before it asked for a call.

    `text` is its beginning, `cut` if there is more of it; null where it is `erased`, or is not kept any more.
    `vouched` is false if it was not told by whom policy names.
    """

    context_id: str
    told_by: str
    text: str | None
    cut: bool
    erased: bool
    vouched: bool

    @property
    def words(self) -> str:
        """Its beginning, or why there is nothing to show."""
        if self.text is None:
            return "[erased]" if self.erased else "[not kept any more]"
        return f"{self.text}…" if self.cut else self.text


class AskedCall(Answer, frozen=True):
    """A tool call or a change of state as it was judged when it was asked for.

    `description` is the tool's own, `origin` are the values that were traced, each with where it stood,
    `reasons` what stood in the way with what was read. `policy_hash` is the policy that asked. `values_now`
    is what a change that waits would set or remove, as it is at the moment; what is not there is left out.
    `told` is what the session was told as the user's word until then: the last texts, the newest last, and
    only for those who may read its content. `words` are those of a shell command that the user did not give
    and that stand in what was read.
    """

    description: str
    declared_tier: TierName | None
    origin: list[ValueFact]
    reasons: list[Reason]
    policy_hash: str
    run_by_caller: bool
    values_now: dict[str, Any] = {}
    told: list[UserText] = []
    words: list[ValueFact] = []


class DecidedBefore(Answer, frozen=True):
    """An item of the same session that was about the same, and what came of it."""

    approval_id: str
    status: ApprovalStatus
    decided_by: str | None
    opened_at: str
    reason: str


class Sign(Answer, frozen=True):
    """Something that was found out about a call and speaks for care; `grave` if it cannot be taken back, or
    if somebody other than the user seems to be behind it."""

    words: str
    grave: bool
