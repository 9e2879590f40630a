"""Propositions: what is believed over all sessions, and on what grounds."""

from typing import Annotated, Final

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.plan import RunOutcome
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.experiments.state import EvidenceKind, EvidenceRole
from beliefd.kernel.intents.state import EpistemicStatus, IntentState, IntentStep, IntentType
from beliefd.kernel.labels import Label
from beliefd.kernel.speculation.state import Alternative
from beliefd.kernel.transfers.state import Foreign
from beliefd.protocol.beliefs import ArchivedSession, BrokenLedger
from beliefd.protocol.operation import OF_SPACE, PAGE, Answer, Parameter, Vocabulary, reads

PROPOSITION: Final = "/v1/propositions/{claim_id}"


class PropositionRow(Answer, frozen=True):
    """A proposition in a list. `status` is that over all `sessions` that hold it, `foreign` of which began
    elsewhere and were imported."""

    claim_id: str
    statement: str
    status: EpistemicStatus
    sessions: int
    foreign: int
    changed_at: str


class PropositionPage(Answer, frozen=True):
    """Propositions over all sessions. `broken` are sessions whose ledgers do not verify, or whose rows are
    not what their ledgers say: what they hold is left out. Of those that are `archived` it is as it was left.
    """

    propositions: list[PropositionRow]
    next: str | None
    broken: list[BrokenLedger] = []
    archived: list[ArchivedSession] = []


class Holding(Answer, frozen=True):
    """A proposition as one session holds it."""

    session_id: str
    statement: str
    status: EpistemicStatus
    quarantined: bool
    revision: int
    forked_from: str | None
    created_by: str
    created_at: str
    changed_at: str
    intent_id: str
    evidence_ids: list[str]
    prediction: Prediction | None
    fell: str


class EvidenceEntry(Answer, frozen=True):
    """A piece of evidence for or against a proposition; `role` is null if nobody said what it is to it.

    `counts` is false for one that tested an earlier wording. It holds under its `model` only. `label` says
    whether somebody else than its designer has witnessed its data.
    """

    session_id: str
    evidence_id: str
    kind: EvidenceKind
    role: EvidenceRole | None
    label: Label
    worded_first: bool
    outcome: RunOutcome
    success: bool
    fragile: bool
    counts: bool
    confidence: float
    error_level: float
    model: str
    template: str
    experiment_id: str
    run_id: str
    result_hash: str
    linked_by: str | None
    linked_at: str | None


class IntentEntry(Answer, frozen=True):
    """A wish to change a proposition, and what became of it."""

    session_id: str
    intent_id: str
    type: IntentType
    state: IntentState
    to_status: EpistemicStatus | None
    evidence_ids: list[str]
    proposed_by: str
    approval_id: str | None
    history: list[IntentStep]


class IdeaEntry(Answer, frozen=True):
    """A speculative hypothesis about a claim: of no weight, and never among its evidence."""

    session_id: str
    hypothesis_id: str
    alternative: Alternative
    proposed_by: str
    proposed_at: str
    targets_proposition: bool


class TruthAssertion(Answer, frozen=True):
    """What all evidence together warrants, worked out anew each time. It decides nothing."""

    warrants: EpistemicStatus
    why: str
    supporting: list[str]
    refuting: list[str]


class PropositionView(Answer, frozen=True):
    """A proposition over all sessions. `truncated` says that there is more than one answer can hold.

    `foreign` are the sessions that began elsewhere, each with who imported it from where: nothing in them
    counts as witnessed. `broken` and `archived` are as in the list.
    """

    claim_id: str
    statement: str
    status: EpistemicStatus
    truth_assertion: TruthAssertion
    sessions: list[Holding]
    evidence: list[EvidenceEntry]
    intents: list[IntentEntry]
    speculative_hypotheses: list[IdeaEntry]
    truncated: bool
    foreign: dict[str, Foreign] = {}
    broken: list[BrokenLedger] = []
    archived: list[ArchivedSession] = []


AfterStep = Annotated[str, Meta(pattern=r"^[^,]{1,64},[^,]{1,128},[0-9]{1,15}$")]
"""When a step was taken, in which session, and its `seq`."""


class WhyStep(Answer, frozen=True):
    """One event on the way to a status; `about` names the experiment, run, evidence, intent or approval."""

    session_id: str
    seq: int
    event_id: str
    ts: str
    actor: str
    event: str
    said: str
    about: dict[str, str]
    status: EpistemicStatus | None = None


class PropositionWhy(Answer, frozen=True):
    """The way to a status. An answer holds some megabytes; `next` is the cursor of the steps that follow.
    `foreign`, `broken` and `archived` are as in the proposition; of the last two there are no steps."""

    claim_id: str
    status: EpistemicStatus
    steps: list[WhyStep]
    next: str | None = None
    foreign: dict[str, Foreign] = {}
    broken: list[BrokenLedger] = []
    archived: list[ArchivedSession] = []


class KnowledgeRows(Vocabulary):
    """What is believed over all sessions, and on what grounds"""

    list_propositions = reads(
        "/v1/propositions",
        PropositionPage,
        "Propositions of all sessions with their epistemic status, by id",
        query=(
            *PAGE,
            Parameter(name="status", kind=EpistemicStatus, summary="Only those with this combined status"),
            OF_SPACE,
        ),
    )
    show_proposition = reads(
        PROPOSITION,
        PropositionView,
        "One proposition over all sessions, with its evidence and intents",
        errors=(Code.PROPOSITION_NOT_FOUND,),
    )
    why_proposition = reads(
        f"{PROPOSITION}/why",
        PropositionWhy,
        "The events that led to its status: experiment, run, evidence, intent, approval",
        query=(Parameter(name="cursor", kind=AfterStep, summary="`next` of the page before"),),
        errors=(Code.PROPOSITION_NOT_FOUND,),
    )
