"""What can happen to experiments."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.experiments.plan import Frozen, RunReport
from beliefd.kernel.experiments.state import Evidence, Experiment, Run
from beliefd.kernel.intents.state import Proposition


class ExperimentDesigned(EventBase, frozen=True, tag="experiment_designed"):
    """A plan was frozen, with its hash, before anything was drawn."""

    experiment: Experiment
    frozen: Frozen


class RunStarted(EventBase, frozen=True, tag="run_started"):
    """A run has begun."""

    run: Run


class RunRecorded(EventBase, frozen=True, tag="run_recorded"):
    """A run ended. `evidence` is minted here and nowhere else; a run that did not complete mints none.

    `propositions` are those whose status fell by it.
    """

    run: Run
    report: RunReport
    evidence: Evidence | None = None
    propositions: tuple[Proposition, ...] = ()


class EvidenceLinked(EventBase, frozen=True, tag="evidence_linked"):
    """Evidence got a role. What its experiment had said would fall by it is `eliminated`, or `ignored` if it
    was gone already; `withheld` says why nothing fell. `propositions` are those whose status fell."""

    evidence: Evidence
    ignored: tuple[str, ...] = ()
    withheld: str = ""
    propositions: tuple[Proposition, ...] = ()


ExperimentEvent = ExperimentDesigned | RunStarted | RunRecorded | EvidenceLinked
