"""The policy in force: show it, adopt another."""

from typing import Literal

from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import PEOPLE
from beliefd.protocol.backtesting import AskBacktest, Backtest
from beliefd.protocol.explaining import ExplainPolicy, PolicyExplanation
from beliefd.protocol.operation import MIB, OF_SPACE, OPERATORS, Answer, Operation, Vocabulary, asks, reads
from beliefd.protocol.proofs import ProofAnswer, ProvePolicy
from beliefd.protocol.reviewing import PolicyReview


class PolicyAnswer(Answer, frozen=True):
    """A policy, and where it comes from: nobody chose it (`default`), the program that opened the store did
    (`given`), it stands in a file of the operator's (`file`), or somebody `adopted` it."""

    policy_hash: str
    policy: Policy
    source: Literal["default", "given", "file", "adopted"]
    adopted_at: str | None = None
    adopted_by: str | None = None


class PolicyRows(Vocabulary):
    """The rules in force"""

    show_policy = reads("/v1/policy", PolicyAnswer, "The policy in force and its hash")
    review_policy = reads(
        "/v1/policy/review",
        PolicyReview,
        "What is the matter with the rules in force, and which of them have stood in the way",
        query=(OF_SPACE,),
    )
    adopt_policy = Operation(
        method="PUT",
        path="/v1/policy",
        body=Policy,
        answer=PolicyAnswer,
        roles=OPERATORS,
        errors=(Code.CONFLICT,),
        max_body=4 * MIB,  # a file of the largest size that is read, with all defaults filled in
        summary="Decide under another policy from now on",
        example={"uncertainty": {"explain_above": 0.4, "defer_above": 0.7}},
    )
    explain_policy = asks(
        "/v1/policy/explain",
        ExplainPolicy,
        PolicyExplanation,
        "Why a call or a change is decided as it is, and what would make it pass",
        errors=(Code.SESSION_NOT_FOUND,),
        max_body=8 * MIB,  # two policies
        example={"call": {"tool_id": "pay", "args": {"amount": 250}}, "state": {"fact.open": {"v": 1}}},
    )
    backtest_policy = asks(
        "/v1/policy/backtest",
        AskBacktest,
        Backtest,
        "What another policy would have decided",
        roles=frozenset(PEOPLE),  # people write policies; programs have no use for it
        errors=(Code.SESSION_NOT_FOUND,),
        max_body=4 * MIB,
        example={"policy": {"uncertainty": {"explain_above": 0.2, "defer_above": 0.4}}, "limit": 1000},
    )
    prove_policy = asks(
        "/v1/policy/prove",
        ProvePolicy,
        ProofAnswer,
        "Prove something of a policy for all calls, or find a call that shows the opposite",
        roles=OPERATORS,
        max_body=8 * MIB,  # two policies
        example={"questions": [{"role": "agent", "tool": "pay", "never": "without_person"}]},
    )
