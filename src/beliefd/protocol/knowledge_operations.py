"""The rows of propositions."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.protocol import knowledge_answers as answers
from beliefd.protocol.claim_operations import CURSOR, LIMIT
from beliefd.protocol.operation import Operation, Parameter

P: Final = "/v1/propositions/{claim_id}"

KNOWLEDGE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="list_propositions",
        tag="knowledge",
        method="GET",
        path="/v1/propositions",
        answer=answers.PropositionPage,
        query=(
            CURSOR,
            LIMIT,
            Parameter(name="status", kind=EpistemicStatus, summary="Only those with this combined status"),
        ),
        summary="Propositions of all sessions with their epistemic status, by id",
    ),
    Operation(
        name="show_proposition",
        tag="knowledge",
        errors=(Code.PROPOSITION_NOT_FOUND,),
        method="GET",
        path=P,
        answer=answers.PropositionView,
        summary="One proposition over all sessions, with its evidence and intents",
    ),
    Operation(
        name="why_proposition",
        tag="knowledge",
        errors=(Code.PROPOSITION_NOT_FOUND,),
        method="GET",
        path=f"{P}/why",
        answer=answers.PropositionWhy,
        summary="The events that led to its status: experiment, run, evidence, intent, approval",
    ),
)
