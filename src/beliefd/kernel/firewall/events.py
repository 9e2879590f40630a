"""What can happen in the two lanes."""

from beliefd.kernel.claims.approvals import Approval
from beliefd.kernel.firewall.artifacts import (
    Evidence,
    Experiment,
    Hypothesis,
    Intent,
    Proposition,
    Run,
    SpeculativeClaim,
)
from beliefd.kernel.firewall.experiments import Frozen, RunReport
from beliefd.kernel.happening import Happening


class Speculated(Happening, frozen=True, tag="speculated"):
    """Ideas were noted. Each is linked to its session; the link to a proposition is tried, and may fail."""

    hypotheses: tuple[Hypothesis, ...]
    links_attempted: int
    links_created: int


class ClaimSpeculated(Happening, frozen=True, tag="claim_speculated"):
    """A claim was put forward in the speculative lane, where it stays."""

    claim: SpeculativeClaim


class ExperimentDesigned(Happening, frozen=True, tag="experiment_designed"):
    """A plan was frozen, with its hash, before anything was drawn."""

    experiment: Experiment
    frozen: Frozen


class RunStarted(Happening, frozen=True, tag="run_started"):
    run: Run


class RunRecorded(Happening, frozen=True, tag="run_recorded"):
    """A run ended. `evidence` is minted here and nowhere else; a run that did not complete mints none."""

    run: Run
    report: RunReport
    evidence: Evidence | None = None


class EvidenceLinked(Happening, frozen=True, tag="evidence_linked"):
    """Minted evidence began to count. What its experiment had said would fall by it is `eliminated`, or
    `ignored` if it was gone already."""

    evidence: Evidence
    ignored: tuple[str, ...] = ()


class IntentStaged(Happening, frozen=True, tag="intent_staged"):
    """A change was asked for. Without an approval it was carried out, or failed, at once."""

    intent: Intent
    approval: Approval | None = None
    propositions: tuple[Proposition, ...] = ()
    superseded: Intent | None = None
