"""Runs of experiments: made once they are allowed, and recorded however they end.

INVARIANT: a run begins only after the event that allowed it is durable. If nobody lives to tell how it ended,
its deadline in the inbox ends it as failed, and no evidence comes of it.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.commands import RecordRun
from beliefd.kernel.experiments.events import ExperimentDesigned, RunRecorded
from beliefd.kernel.experiments.plan import ExperimentSpec, Frozen, RunReport
from beliefd.kernel.experiments.referring import named
from beliefd.kernel.experiments.state import Experiment, Run
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.state import Session
from beliefd.steward.effects.background import Background
from beliefd.steward.effects.runner import Runner, Underway
from beliefd.steward.effects.tools import EXECUTOR
from beliefd.steward.entries import entry_of
from beliefd.steward.offload import in_pool
from beliefd.steward.write.submitting import Submit
from beliefd.stores.base import Store

if TYPE_CHECKING:
    from beliefd.experiments.engine import Progress

log = logging.getLogger("beliefd.runs")
UNTESTED: Final = "nothing was tested: the run did not end"


class ExperimentRuns(Struct, frozen=True):
    """Makes runs of experiments in this process, and records how they ended."""

    store: Store
    submit: Submit
    runner: Runner
    background: Background

    def begin(self, session: Session, run: Run, frozen: Frozen) -> Underway:
        """Start making a run; `task` is done when its outcome is in the ledger."""
        one = Underway(frozen.spec.budget.replicates, asyncio.Event())
        self.runner.underway[run.run_id] = one
        one.task = self.background.start(self._make_and_record(session, run, frozen, one))
        return one

    async def _make_and_record(self, session: Session, run: Run, frozen: Frozen, one: Underway) -> None:
        def note_progress(progress: "Progress") -> None:
            one.replicates, one.planned = progress.done, progress.of

        try:
            report = await self.make(session, frozen, note_progress, one.cancelled)
            await self.submit(session.session_id, RecordRun(run_id=run.run_id, report=report), EXECUTOR)
        except BeliefdError as error:
            # The store is away, or the ledger takes nothing more: the deadline will end the run as failed.
            log.warning("run `%s` could not be recorded: %s", run.run_id, error)
        finally:
            del self.runner.underway[run.run_id]

    async def make(
        self, session: Session, frozen: Frozen, progress: Any = None, cancel: asyncio.Event | None = None
    ) -> RunReport:
        """Make a run, recorded or not. Whatever goes wrong in it is told in the report."""
        from beliefd.experiments import engine

        try:
            sources = await _sources(self.store, session.session_id, frozen.spec)
            executor = self.runner.executor
            observed = await _observed(self.store, session, frozen.spec)
            return await engine.run(
                frozen,
                executor=executor,
                sources=sources,
                observed=observed,
                progress=progress,
                cancel=cancel,
            )
        except BeliefdError as error:  # what the executor lacks, such as an extra that is not installed
            return _failed(frozen, frozen.spec.seed, error.message)
        except Exception as error:  # a defect of ours must not leave a run without an end
            log.exception("a run of `%s` ended in a defect", frozen.template)
            return _failed(frozen, frozen.spec.seed, f"the run ended in a defect: {type(error).__name__}")


def overdue_run(session: Session, run_id: str) -> RecordRun:
    """A run whose deadline passed without an outcome: it failed, whatever became of it."""
    experiment: Experiment = session.experiments.by_id[session.experiments.runs[run_id].experiment_id]
    report = _failed(experiment, experiment.seed, "nobody recorded an outcome in time")
    return RecordRun(run_id=run_id, report=report)


def _failed(plan: Frozen | Experiment, seed: int, why: str) -> RunReport:
    return RunReport(
        status="failed",
        spec_hash=plan.spec_hash,
        template=plan.template,
        code_hash=plan.code_hash,
        seed=seed,
        model=UNTESTED,
        failure=why,
    )


async def frozen_plan(store: Store, session_id: str, experiment: Experiment) -> Frozen:
    """The plan as the ledger froze it."""
    event = (await entry_of(store, session_id, experiment.event_id)).delta
    assert isinstance(event, ExperimentDesigned)  # noqa: S101 - the state names the event that made it
    return event.frozen


async def recorded_report(store: Store, session_id: str, run: Run) -> RunReport | None:
    """What a run came to, once it has ended."""
    if run.event_id is None:
        return None
    event = (await entry_of(store, session_id, run.event_id)).delta
    assert isinstance(event, RunRecorded)  # noqa: S101 - the state names the event that made it
    return event.report


async def _observed(store: Store, session: Session, spec: ExperimentSpec) -> dict[str, tuple[float, ...]]:
    """The values of the observations that a plan names."""
    return {name: await observed_values(store, session, name) for name in named(spec.params)}


async def observed_values(store: Store, session: Session, observation_id: str) -> tuple[float, ...]:
    """The values of an observation, as the ledger froze them."""
    one: Observation = session.observations.by_id[observation_id]
    event = (await entry_of(store, session.session_id, one.event_id)).delta
    assert isinstance(event, Observed)  # noqa: S101 - the state names the event that made it
    return event.values


async def _sources(store: Store, session_id: str, spec: ExperimentSpec) -> dict[str, str]:
    """The model code that a plan names by its hash, from what was stored under it in its space."""
    if (name := source_of(spec)) is None:
        return {}
    content = await store.content(name, (await store.space_of(session_id) or "",))
    return {} if content is None else {name: content.decode("utf-8", "replace")}


def source_of(spec: ExperimentSpec) -> str | None:
    model = spec.params.get("model")
    source = model.get("source") if isinstance(model, dict) else None
    return source if isinstance(source, str) else None


async def need_source(store: Store, session_id: str, spec: ExperimentSpec) -> None:
    """A plan that names model code is of no use without it, nor with code that no run would accept."""
    from beliefd.experiments.sandbox.errors import ModelFailed
    from beliefd.experiments.sandbox.source import forgetful

    if (name := source_of(spec)) is None:
        return
    sources = await _sources(store, session_id, spec)
    try:
        text = "no content is stored under this hash; store the model's code first"
        if name in sources:
            await in_pool("parse", forgetful, sources[name])
            return
    except ModelFailed as error:
        text = str(error)
    raise BeliefdError(Code.INVALID_REQUEST, text, {"path": "$.spec.params.model.source"})
