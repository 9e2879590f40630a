"""The rows of hypotheses, experiments, evidence and intents."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.plan import ExperimentSpec
from beliefd.kernel.experiments.state import EvidenceRole
from beliefd.kernel.experiments.testable import TestableClaim
from beliefd.kernel.intents.state import EpistemicStatus, IntentType
from beliefd.kernel.speculation.hints import ExperimentHints, Speculation
from beliefd.kernel.speculation.lanes import Lane
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.values import Id, Text, Value
from beliefd.protocol import firewall_answers as answers
from beliefd.protocol.claim_operations import CURSOR, LIMIT
from beliefd.protocol.operation import ON_WRITING, PROPOSERS, SESSION_PATH, Operation, Parameter

S: Final = SESSION_PATH
E: Final = f"{S}/experiments/{{experiment_id}}"
CLAIM: Final = Parameter(name="claim_id", kind=Id, summary="Only what is about this claim")


class SpeculationRequest(Value, frozen=True):
    """Alternatives to a claim."""

    claim_id: Id
    hypotheses: Annotated[tuple[Alternative, ...], Meta(min_length=1, max_length=100)]


class DesignRequest(Value, frozen=True):
    """A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it.

    What informs is used up in memory: of it the spec, and so the ledger, keeps the digest alone.
    """

    spec: ExperimentSpec | None = None
    claim: TestableClaim | None = None
    speculation: Speculation | None = None
    hints: ExperimentHints | None = None

    def __post_init__(self) -> None:
        if (self.spec is None) == (self.claim is None):
            raise ValueError("give either a whole `spec` or a `claim` to design one for")
        if self.spec is not None and (self.speculation is not None or self.hints is not None):
            raise ValueError("a whole `spec` is not informed by anything more")
        if self.speculation is not None and self.hints is not None:
            raise ValueError("`hints` are made from `speculation`: give one of them")


class RunRequest(Value, frozen=True):
    """`wait: false` answers as soon as the run is let through, and leaves it running."""

    wait: bool = True


class ReproduceRequest(Value, frozen=True):
    """Nothing needs to be said: everything is in the ledger."""


class EvidenceRequest(Value, frozen=True):
    """Names a run. What it came to is in the ledger; nobody is asked for it here."""

    claim_id: Id
    run_id: Id
    role: EvidenceRole


class IntentRequest(Value, frozen=True):
    """A change of what is believed. `lane` may be said, but not chosen: every type has its own."""

    type: IntentType
    claim_id: Id
    statement: Text | None = None
    to_status: EpistemicStatus | None = None
    evidence_ids: Annotated[tuple[Id, ...], Meta(max_length=1_000)] = ()
    new_claim_id: Id | None = None
    values: dict[str, Any] = {}
    reason: Annotated[str, Meta(max_length=2_000)] = ""
    lane: Lane | msgspec.UnsetType = msgspec.UNSET
    supersedes: Id | None = None


FIREWALL_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="speculate",
        tag="firewall",
        errors=ON_WRITING,
        method="POST",
        path=f"{S}/hypotheses",
        body=SpeculationRequest,
        answer=answers.SpeculationAnswer,
        status=201,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Note alternatives to a claim, in the speculative lane",
    ),
    Operation(
        name="list_hypotheses",
        tag="firewall",
        method="GET",
        path=f"{S}/hypotheses",
        answer=answers.HypothesisPage,
        query=(CLAIM, CURSOR, LIMIT),
        summary="The speculative hypotheses of a session",
    ),
    Operation(
        name="design_experiment",
        tag="firewall",
        errors=(Code.SPECULATIVE_RESIDUE, Code.INVALID_HYPOTHESIS_ID, *ON_WRITING),
        method="POST",
        path=f"{S}/experiments",
        body=DesignRequest,
        answer=answers.ExperimentView,
        status=201,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Freeze the plan of an experiment, whole or designed from a claim",
    ),
    Operation(
        name="list_experiments",
        tag="firewall",
        method="GET",
        path=f"{S}/experiments",
        answer=answers.ExperimentPage,
        query=(CLAIM, CURSOR, LIMIT),
        summary="The experiments of a session",
    ),
    Operation(
        name="show_experiment",
        tag="firewall",
        errors=(Code.EXPERIMENT_NOT_FOUND,),
        method="GET",
        path=E,
        answer=answers.ExperimentView,
        summary="One experiment: its plan, its run, how far that has come",
    ),
    Operation(
        name="run_experiment",
        tag="firewall",
        errors=(Code.EXPERIMENT_NOT_FOUND, *ON_WRITING),
        method="POST",
        path=f"{E}/run",
        body=RunRequest,
        answer=answers.ExperimentView,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Carry an experiment out; completed, it mints evidence",
    ),
    Operation(
        name="cancel_experiment",
        tag="firewall",
        errors=(Code.EXPERIMENT_NOT_FOUND, Code.CONFLICT),
        method="DELETE",
        path=f"{E}/run",
        answer=answers.ExperimentView,
        roles=PROPOSERS,
        summary="Stop a run that this server is making",
    ),
    Operation(
        name="reproduce_experiment",
        tag="firewall",
        errors=(Code.EXPERIMENT_NOT_FOUND, Code.CONFLICT),
        method="POST",
        path=f"{E}/reproduce",
        body=ReproduceRequest,
        answer=answers.Reproduced,
        roles=PROPOSERS,
        summary="Make a recorded run again and compare its hash; nothing is written",
    ),
    Operation(
        name="link_evidence",
        tag="firewall",
        errors=(
            Code.MISSING_CLAIM_ID,
            Code.SPECULATIVE_EVIDENCE,
            Code.HYPOTHESIS_IS_NOT_EVIDENCE,
            Code.RUN_NOT_FOUND,
            Code.NOT_WARRANTED,
            *ON_WRITING,
        ),
        method="POST",
        path=f"{S}/evidence",
        body=EvidenceRequest,
        answer=answers.LinkedEvidence,
        status=201,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Let the evidence of a run count for its claim",
    ),
    Operation(
        name="list_evidence",
        tag="firewall",
        method="GET",
        path=f"{S}/evidence",
        answer=answers.EvidencePage,
        query=(CLAIM, CURSOR, LIMIT),
        summary="The evidence that runs of this session have minted",
    ),
    Operation(
        name="list_discoveries",
        tag="firewall",
        method="GET",
        path=f"{S}/discoveries",
        answer=answers.Discoveries,
        summary="Which of many tested claims can be believed together",
    ),
    Operation(
        name="stage_intent",
        tag="firewall",
        errors=(
            Code.PROPOSITION_NOT_FOUND,
            Code.EVIDENCE_NOT_FOUND,
            Code.INTENT_NOT_FOUND,
            Code.HYPOTHESIS_IS_NOT_EVIDENCE,
            Code.SPECULATIVE_PROPOSAL,
            Code.SPECULATIVE_ASSERTION,
            Code.NOT_WARRANTED,
            *ON_WRITING,
        ),
        method="POST",
        path=f"{S}/intents",
        body=IntentRequest,
        answer=answers.IntentView,
        status=201,
        if_match=True,
        idempotency_key=True,
        roles=PROPOSERS,
        summary="Ask for a change of what is believed",
    ),
    Operation(
        name="list_intents",
        tag="firewall",
        method="GET",
        path=f"{S}/intents",
        answer=answers.IntentPage,
        query=(CLAIM, CURSOR, LIMIT),
        summary="The write intents of a session",
    ),
    Operation(
        name="show_intent",
        tag="firewall",
        errors=(Code.INTENT_NOT_FOUND,),
        method="GET",
        path=f"{S}/intents/{{intent_id}}",
        answer=answers.IntentView,
        summary="One write intent and its life so far",
    ),
)
