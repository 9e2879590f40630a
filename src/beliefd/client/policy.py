"""The rules in force."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.protocol.backtesting import Backtest, Reached
from beliefd.protocol.explaining import PolicyExplanation
from beliefd.protocol.policy import PolicyAnswer, PolicyRows
from beliefd.protocol.proofs import SECONDS, ProofAnswer, ProvePolicy
from beliefd.protocol.reviewing import PolicyReview


class PolicyCalls:
    """The rules in force."""

    @Method
    def show_policy(self) -> Request[PolicyAnswer]:
        """The policy in force and its hash."""
        return Request(PolicyRows.show_policy)

    @Method
    def review_policy(self, *, space: str | None = None) -> Request[PolicyReview]:
        """What is the matter with the rules in force, and which of them have stood in the way."""
        return Request(PolicyRows.review_policy, query=query(space=space))

    @Method
    def adopt_policy(self, policy: Policy) -> Request[PolicyAnswer]:
        """Decide under another policy from now on."""
        return Request(PolicyRows.adopt_policy, body=msgspec.to_builtins(policy))

    @Method
    def explain_policy(self, /, **asked: Any) -> Request[PolicyExplanation]:
        """Why a call or a change is decided as it is; the members of `ExplainPolicy` by name."""
        return Request(PolicyRows.explain_policy, body=msgspec.to_builtins(asked))

    @Method
    def backtest_policy(
        self,
        policy: Policy,
        sessions: Iterable[str] | None = None,
        *,
        limit: int | None = None,
        after: Reached | None = None,
    ) -> Request[Backtest]:
        """What another policy would have decided in these sessions, or in all that one may see."""
        body = {
            "policy": msgspec.to_builtins(policy),
            "sessions": None if sessions is None else list(sessions),
            "limit": limit,
            "after": None if after is None else msgspec.to_builtins(after),
        }
        given = {name: one for name, one in body.items() if one is not None}
        return Request(PolicyRows.backtest_policy, body=given)

    @Method
    def prove_policy(
        self,
        questions: Sequence[Guarantee] = (),
        policy: Policy | UnsetType = UNSET,
        against: Policy | UnsetType = UNSET,
        seconds: int = SECONDS,
    ) -> Request[ProofAnswer]:
        """Prove something of a policy for all calls, or find a call that shows the opposite."""
        asked = ProvePolicy(policy=policy, against=against, questions=tuple(questions), seconds=seconds)
        return Request(PolicyRows.prove_policy, body=msgspec.to_builtins(asked))
