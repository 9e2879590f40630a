"""What callers get back about the two lanes: ideas, experiments, evidence, intents."""

from beliefd.kernel.experiments.plan import ExperimentSpec, RunReport
from beliefd.kernel.experiments.state import Evidence, Run
from beliefd.kernel.intents.rules import content_of
from beliefd.kernel.intents.state import Change, EpistemicStatus, Intent, IntentState, IntentStep
from beliefd.kernel.speculation.lanes import Lane
from beliefd.kernel.speculation.state import Alternative
from beliefd.protocol.answers import Answer


class HypothesisView(Answer, frozen=True):
    """A speculative hypothesis. It has no weight; `lane` says so wherever it is shown."""

    hypothesis_id: str
    claim_id: str
    alternative: Alternative
    proposed_by: str
    proposed_at: str
    targets_proposition: bool
    lane: Lane = "speculative"


class Links(Answer, frozen=True):
    """Links to the session always hold; those to the proposition are tried, and may fail."""

    session: int
    proposition_attempted: int
    proposition_created: int


class SpeculationAnswer(Answer, frozen=True):
    hypotheses: list[HypothesisView]
    links: Links
    soft_failures: list[str]
    audit_event_id: str


class HypothesisPage(Answer, frozen=True):
    hypotheses: list[HypothesisView]
    next: str | None = None


class Progress(Answer, frozen=True):
    """How far a run has come, as this server knows it."""

    replicates: int
    planned: int


class ExperimentView(Answer, frozen=True):
    """A frozen plan, and its run if there is one. `informed_by` is the digest of hints, never their text."""

    experiment_id: str
    claim_id: str
    template: str
    spec: ExperimentSpec
    spec_hash: str
    code_hash: str
    attempt: int
    alpha: float
    designed_by: str
    designed_at: str
    informed_by: str
    audit_event_id: str
    run_id: str | None = None
    run: Run | None = None
    report: RunReport | None = None
    progress: Progress | None = None
    lane: Lane = "grounded"


class ExperimentPage(Answer, frozen=True):
    experiments: list[ExperimentView]
    next: str | None = None


class Reproduced(Answer, frozen=True):
    """A run made again with the recorded seed. It changes nothing and is not recorded."""

    experiment_id: str
    run_id: str
    reproduced: bool
    recorded_hash: str
    result_hash: str


class LinkedEvidence(Answer, frozen=True):
    """Evidence that counts from now on, and what of the session's hypotheses fell by it."""

    evidence: Evidence
    applied_eliminated: list[str]
    ignored_eliminated: list[str]
    warrants: EpistemicStatus
    audit_event_id: str


class EvidencePage(Answer, frozen=True):
    evidence: list[Evidence]
    next: str | None = None


class Discovery(Answer, frozen=True):
    """A claim that can be believed together with the others. `e_value` is the mean over all of its runs."""

    claim_id: str
    e_value: float
    runs: int


class Discoveries(Answer, frozen=True):
    """Of all claims that were tested here, those that can be believed at once: on average at most a share
    `alpha` of them is wrong, however they depend on each other."""

    alpha: float
    discovered: list[Discovery]
    others: list[Discovery]


class IntentView(Answer, frozen=True):
    """A write intent: what it would change, where it stands, and how it got there."""

    intent_id: str
    lane: Lane
    change: Change
    state: IntentState
    proposer: str
    history: list[IntentStep]
    expires_at: str | None = None
    approval_id: str | None = None
    content_hash: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    audit_event_id: str | None = None


class IntentPage(Answer, frozen=True):
    intents: list[IntentView]
    next: str | None = None


def intent_view(intent: Intent, event_id: str | None = None) -> IntentView:
    waits = intent.state == "awaiting_approval"
    return IntentView(
        intent_id=intent.intent_id,
        lane=intent.lane,
        change=intent.change,
        state=intent.state,
        proposer=intent.proposer.id,
        history=list(intent.history),
        expires_at=intent.expires_at,
        approval_id=intent.approval_id,
        content_hash=content_of(intent.change) if waits else None,
        supersedes=intent.supersedes,
        superseded_by=intent.superseded_by,
        audit_event_id=event_id,
    )
