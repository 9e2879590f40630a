"""A test that looks after every replicate: how soon it stops, and how often it errs by that."""

from typing import Any, Final

from msgspec import Struct
from scipy.special import ndtri

from beliefd.experiments.panel.cells import concluded
from beliefd.experiments.panel.claims import REPLICATES
from beliefd.experiments.panel.results import CLAIMED, TRUE, Sequence
from beliefd.experiments.plan import Plan
from beliefd.kernel.experiments.params import checked_params
from beliefd.kernel.experiments.plan import AtLeast

RUNS: Final = 200


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
