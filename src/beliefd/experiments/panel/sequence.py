"""A test that looks after every replicate: how soon it stops, and how often it errs by that."""

from typing import Any, Final

from msgspec import Struct
from scipy.special import ndtri

from beliefd.experiments.panel.cells import concluded, limit
from beliefd.experiments.panel.claims import REPLICATES
from beliefd.experiments.plan import Plan
from beliefd.kernel.experiments.params import checked_params
from beliefd.kernel.experiments.plan import AtLeast

CLAIMED, TRUE = 0.95, 0.99
RUNS: Final = 200


class Sequence(Struct, frozen=True):
    """A share of draws that is claimed: runs in which it is just not exceeded, and runs in which it is."""

    runs: int
    false_supports: int
    supports: int
    mean_decided_after: float
    fixed_sample: int

    def too_many(self, alpha: float) -> bool:
        return self.false_supports / self.runs > limit(alpha, self.runs)


class SequenceJob(Struct, frozen=True):
    """So many runs, from a seed on."""

    runs: int
    alpha: float
    seed: int

    @property
    def work(self) -> int:
        return self.runs * REPLICATES


def followed(job: SequenceJob) -> Sequence:
    on_edge = [concluded(_plan(job, number, CLAIMED)).decision.outcome for number in range(job.runs)]
    inside = [concluded(_plan(job, number, TRUE)) for number in range(job.runs)]
    steps = [int(getattr(one.result, "decided_after")) for one in inside]  # noqa: B009 - a template's own type
    return Sequence(
        job.runs,
        on_edge.count("support"),
        sum(one.decision.outcome == "support" for one in inside),
        sum(steps) / len(steps),
        REPLICATES,
    )


def _plan(job: SequenceJob, number: int, truth: float) -> Plan:
    """Draws of a normal input are below a value as often as is true."""
    params: dict[str, Any] = {
        "model": {"language": "expression", "expression": "a"},
        "inputs": [{"name": "a", "distribution": {"is": "normal", "mean": 0.0, "std": 1.0}}],
        "region": {"region": "ordering", "side": "below", "than": float(ndtri(truth))},
    }
    return Plan(
        template="model_simulation",
        params=checked_params("model_simulation", params),
        criterion=AtLeast(at_least=CLAIMED),
        alpha=job.alpha,
        seed=job.seed + number,
        unit="1",
        replicates=REPLICATES,
    )
