"""Questions about policies that are answered for all calls at once, and their answers."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.values import Value
from beliefd.protocol.operation import Answer

SECONDS: Final = 60
MAX_SECONDS: Final = 300


class ProvePolicy(Value, frozen=True):
    """Ask whether `questions` hold of a policy; without any, what it promises itself under `prove`.

    What says nothing else is about the policy in force, and updates are compared with it, too. What is not
    answered after `seconds` is `cannot_say`.
    """

    policy: Policy | UnsetType = UNSET
    against: Policy | UnsetType = UNSET
    questions: Annotated[tuple[Guarantee, ...], Meta(max_length=100)] = ()
    seconds: Annotated[int, Meta(ge=1, le=MAX_SECONDS)] = SECONDS


class FoundCall(Answer, frozen=True):
    """A call that settles a question, as `beliefd policy explain` reads it: on this state, these verdicts.

    `verdicts` is what each policy says of it: `old` is the one compared with.
    """

    call: dict[str, Any]
    state: dict[str, Any]
    verdicts: dict[str, str]


class Proof(Answer, frozen=True):
    """The answer to one question.

    `proved`: it holds, of every call; for what `can` happen, `call` shows it. `counterexample`: `call` shows
    that it does not. `refuted`: what should be possible happens with no call. `cannot_say`: neither, and
    `why` says why not and how far it came.
    """

    question: str
    answer: Literal["proved", "counterexample", "refuted", "cannot_say"]
    why: str = ""
    call: FoundCall | None = None
    seconds: float = 0.0


class ProofAnswer(Answer, frozen=True):
    """What was proved of a policy, question by question."""

    policy_hash: str
    proofs: list[Proof]
    holds: bool
