"""Experiments: plans, runs, the evidence they mint, and what of it can be believed together."""

from typing import Final

from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.plan import ExperimentSpec, RunReport
from beliefd.kernel.experiments.state import Evidence, EvidenceRole, Run
from beliefd.kernel.experiments.testable import ClaimToTest
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.kernel.labels import ATTESTED, Label
from beliefd.kernel.speculation.hints import ExperimentHints, Speculation
from beliefd.kernel.speculation.lanes import Lane
from beliefd.kernel.values import Id, Value
from beliefd.protocol.operation import (
    ABOUT_CLAIM,
    PAGE,
    SESSION,
    Answer,
    Operation,
    Vocabulary,
    asks,
    reads,
    writes,
)

EXPERIMENT: Final = f"{SESSION}/experiments/{{experiment_id}}"
NOT_RUNNING: Final = (Code.EXPERIMENT_NOT_FOUND, Code.CONFLICT)


class DesignRequest(Value, frozen=True):
    """A whole `spec`; or a `claim` to design one for, with the `speculation` or `hints` that may inform it.

    What informs is used up in memory: of it the spec, and so the ledger, keeps the digest alone.
    """

    spec: ExperimentSpec | None = None
    claim: ClaimToTest | None = None
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


class Progress(Answer, frozen=True):
    """How far a run has come, as this server knows it."""

    replicates: int
    planned: int


class DataPicture(Answer, frozen=True):
    """Data against what is predicted of them: a histogram from `low` to `high`, and the predicted region.

    An end of the region is null where it has none.
    """

    low: float
    high: float
    counts: list[int]
    mean: float
    region_low: float | None
    region_high: float | None


class ExperimentView(Answer, frozen=True):
    """A frozen plan, and its run if there is one. `informed_by` is the digest of hints, never their text.

    `label` says whether somebody else than its designer has witnessed its data, `observations` and `typed_by`
    where they came from; `tries` how many tests its designer has made on them, `left_out` how many results of
    the same tools it does not use, `choices` among how many lists of numbers its data were chosen. `caveats`
    say in words what its outcome will not be able to do, and why. `picture` is its data against what is
    predicted of them; it is there if the experiment was asked for by itself and has numbers.
    """

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
    seed: int = 0
    revision: int = 0
    label: Label = ATTESTED
    observations: list[str] = []
    typed_by: list[str] = []
    worded_first: bool = False
    tries: int = 1
    left_out: int = 0
    choices: int = 1
    caveats: list[str] = []
    lane: Lane = "grounded"
    picture: DataPicture | None = None


class ExperimentPage(Answer, frozen=True):
    """Experiments of a session."""

    experiments: list[ExperimentView]
    next: str | None = None


class Reproduced(Answer, frozen=True):
    """A run made again with the recorded seed. It changes nothing and is not recorded.

    `failure` says why it could not be made again, for example because the template has changed since.
    """

    experiment_id: str
    run_id: str
    reproduced: bool
    recorded_hash: str
    result_hash: str
    failure: str = ""


class LinkedEvidence(Answer, frozen=True):
    """Evidence and its role, and what of the session's hypotheses fell by it; or why nothing did."""

    evidence: Evidence
    applied_eliminated: list[str]
    ignored_eliminated: list[str]
    withheld: str
    warrants: EpistemicStatus
    audit_event_id: str


class EvidencePage(Answer, frozen=True):
    """Evidence of a session."""

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


class ExperimentRows(Vocabulary):
    """Plans, runs, the evidence they mint, and what of it can be believed together"""

    design_experiment = writes(
        f"{SESSION}/experiments",
        DesignRequest,
        ExperimentView,
        "Freeze the plan of an experiment, whole or designed from a claim",
        status=201,
        errors=(
            Code.SPECULATIVE_RESIDUE,
            Code.INVALID_HYPOTHESIS_ID,
            Code.OBSERVATION_NOT_FOUND,
            Code.NOT_WARRANTED,
        ),
        example={
            "claim": {
                "claim_id": "pool-wait-is-40ms",
                "claimed_value": 40.0,
                "observed_values": [39.2, 41.0, 40.4, 38.9, 40.1, 39.7, 40.8, 39.5, 40.2, 40.6, 39.9, 40.3],
                "tolerance": 2.0,
                "unit": "ms",
            }
        },
    )
    list_experiments = reads(
        f"{SESSION}/experiments",
        ExperimentPage,
        "The experiments of a session",
        query=(ABOUT_CLAIM, *PAGE),
    )
    show_experiment = reads(
        EXPERIMENT,
        ExperimentView,
        "One experiment: its plan, its run, how far that has come",
        errors=(Code.EXPERIMENT_NOT_FOUND,),
    )
    run_experiment = writes(
        f"{EXPERIMENT}/run",
        RunRequest,
        ExperimentView,
        "Carry an experiment out; completed, it mints evidence",
        errors=(Code.EXPERIMENT_NOT_FOUND,),
        example={"wait": True},
    )
    cancel_experiment = Operation(
        method="DELETE",
        path=f"{EXPERIMENT}/run",
        answer=ExperimentView,
        errors=NOT_RUNNING,
        summary="Stop a run that this server is making",
    )
    reproduce_experiment = asks(
        f"{EXPERIMENT}/reproduce",
        ReproduceRequest,
        Reproduced,
        "Make a recorded run again and compare its hash; nothing is written",
        errors=NOT_RUNNING,
        example={},
    )
    link_evidence = writes(
        f"{SESSION}/evidence",
        EvidenceRequest,
        LinkedEvidence,
        "Say what the evidence of a run is to its claim, and let fall what its plan had named",
        status=201,
        errors=(
            Code.MISSING_CLAIM_ID,
            Code.SPECULATIVE_EVIDENCE,
            Code.HYPOTHESIS_IS_NOT_EVIDENCE,
            Code.RUN_NOT_FOUND,
            Code.NOT_WARRANTED,
        ),
        example={"claim_id": "pool-wait-is-40ms", "run_id": "<the run>", "role": "support"},
    )
    list_evidence = reads(
        f"{SESSION}/evidence",
        EvidencePage,
        "The evidence that runs of this session have minted",
        query=(ABOUT_CLAIM, *PAGE),
    )
    list_discoveries = reads(
        f"{SESSION}/discoveries", Discoveries, "Which of many tested claims can be believed together"
    )
