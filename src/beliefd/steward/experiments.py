"""Handlers of the experiment operations: design, run, watch, cancel, reproduce."""

import asyncio

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.commands import DesignExperiment, StartRun
from beliefd.kernel.experiments.design import choose, design
from beliefd.kernel.experiments.events import ExperimentDesigned, RunRecorded, RunStarted
from beliefd.kernel.experiments.params import parse_spec
from beliefd.kernel.experiments.plan import ExperimentSpec, Frozen, RunReport
from beliefd.kernel.experiments.state import Experiment, Run
from beliefd.kernel.speculation.hints import extract_hints
from beliefd.kernel.state import Session
from beliefd.protocol.experiments import (
    DesignRequest,
    ExperimentPage,
    ExperimentView,
    Progress,
    Reproduced,
    ReproduceRequest,
    RunRequest,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.claims import submitted
from beliefd.steward.firewall import page
from beliefd.steward.handle import Steward
from beliefd.steward.runs import begin, conduct, entry_of, frozen_plan, need_source
from beliefd.steward.substrate import as_recorded


async def design_experiment(steward: Steward, call: Call) -> ExperimentView:
    body = bind(as_recorded(call.body), call.path)
    given = {name for name, value in body.items() if value is not None}
    spec = _whole(body["spec"]) if given == {"spec"} else _designed(convert(body, DesignRequest))
    await need_source(steward, spec)
    outcome = await submitted(steward, call.session_id, DesignExperiment(spec=spec), call)
    event = outcome.event
    assert isinstance(event, ExperimentDesigned)  # noqa: S101 - what is not refused was frozen
    return await _view(steward, outcome.session, event.experiment)


def _whole(document: object) -> ExperimentSpec:
    """A plan that somebody else has made, or what is wrong with it, its path counted from the body."""
    try:
        return parse_spec(document)
    except BeliefdError as error:
        details = dict(error.details or {})
        told = str(details.get("path", "$"))
        details["path"] = f"$.spec{told[1:]}"
        message = error.message.replace(f"`{told}`", f"`{details['path']}`")
        raise BeliefdError(error.code, message, details) from None


def _designed(asked: DesignRequest) -> ExperimentSpec:
    """INVARIANT: hints end here. What is recorded is the spec, and the spec has their digest only."""
    assert asked.claim is not None  # noqa: S101 - a whole spec comes alone
    hints = asked.hints
    if asked.speculation is not None:
        hints = extract_hints(asked.claim.claim_id, asked.speculation)
    return design(asked.claim, hints, choose(asked.claim, hints))


async def list_experiments(steward: Steward, call: Call) -> ExperimentPage:
    session = (await steward.positions.existing(call.session_id)).session
    held: list[Experiment] = [session.experiments.by_id[name] for name in session.experiments.by_id]
    shown, after = page(held, call, lambda one: one.experiment_id)
    views = [await _view(steward, session, one) for one in shown]
    return ExperimentPage(experiments=views, next=after)


async def show_experiment(steward: Steward, call: Call) -> ExperimentView:
    session = (await steward.positions.existing(call.session_id)).session
    return await _view(steward, session, _existing(session, call.path["experiment_id"]))


async def run_experiment(steward: Steward, call: Call) -> ExperimentView:
    body = bind(as_recorded(call.body), {"session_id": call.session_id})
    asked = convert(body, RunRequest)
    command = StartRun(experiment_id=call.path["experiment_id"])
    outcome = await submitted(steward, call.session_id, command, call)
    event = outcome.event
    assert isinstance(event, RunStarted)  # noqa: S101 - what is not refused was let through
    underway = steward.runner.underway.get(event.run.run_id)
    # A repeated request has started its run before: it waits with the first one, and starts nothing.
    if underway is None and not outcome.repeated:
        experiment = outcome.session.experiments.by_id[event.run.experiment_id]
        frozen = await frozen_plan(steward, call.session_id, experiment)
        underway = begin(steward, call.session_id, event.run, frozen)
    if asked.wait and underway is not None and underway.task is not None:
        # A caller who goes away does not take the run along.
        await asyncio.shield(underway.task)
    return await show_experiment(steward, call)


async def cancel_experiment(steward: Steward, call: Call) -> ExperimentView:
    session = (await steward.positions.existing(call.session_id)).session
    experiment = _existing(session, call.path["experiment_id"])
    underway = steward.runner.underway.get(experiment.run_id or "")
    if underway is None or not steward.runner.cancel(experiment.run_id or ""):
        raise BeliefdError(Code.CONFLICT, "no run of it is being made here", {"path": "experiment_id"})
    if underway.task is not None:
        await asyncio.shield(underway.task)
    return await show_experiment(steward, call)


async def reproduce_experiment(steward: Steward, call: Call) -> Reproduced:
    convert(bind(as_recorded(call.body), {"session_id": call.session_id}), ReproduceRequest)
    session = (await steward.positions.existing(call.session_id)).session
    experiment = _existing(session, call.path["experiment_id"])
    run: Run | None = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
    if run is None or run.status != "completed" or run.result_hash is None:
        text = "there is no completed run of it that could be made again"
        raise BeliefdError(Code.CONFLICT, text, {"path": "experiment_id"})
    frozen = await frozen_plan(steward, call.session_id, experiment)
    report = await conduct(steward, frozen)
    return Reproduced(
        experiment_id=experiment.experiment_id,
        run_id=run.run_id,
        reproduced=report.result_hash == run.result_hash,
        recorded_hash=run.result_hash,
        result_hash=report.result_hash,
    )


def _existing(session: Session, experiment_id: str) -> Experiment:
    found = session.experiments.by_id.get(experiment_id)
    if found is None:
        text = f"no experiment `{experiment_id[:64]}` in this session"
        raise BeliefdError(Code.EXPERIMENT_NOT_FOUND, text, {"path": "experiment_id"})
    return found


async def _view(steward: Steward, session: Session, experiment: Experiment) -> ExperimentView:
    frozen: Frozen = await frozen_plan(steward, session.session_id, experiment)
    run: Run | None = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
    return ExperimentView(
        experiment_id=experiment.experiment_id,
        claim_id=experiment.claim_id,
        template=experiment.template,
        spec=frozen.spec,
        spec_hash=experiment.spec_hash,
        code_hash=experiment.code_hash,
        attempt=experiment.attempt,
        alpha=experiment.alpha,
        designed_by=experiment.designed_by,
        designed_at=experiment.designed_at,
        informed_by=experiment.hints_digest,
        audit_event_id=experiment.event_id,
        run_id=experiment.run_id,
        run=run,
        report=await _report(steward, session.session_id, run),
        progress=None if run is None else _progress(steward, run),
    )


async def _report(steward: Steward, session_id: str, run: Run | None) -> RunReport | None:
    if run is None or run.event_id is None:
        return None
    event = (await entry_of(steward, session_id, run.event_id)).delta
    assert isinstance(event, RunRecorded)  # noqa: S101 - the state names the event that made it
    return event.report


def _progress(steward: Steward, run: Run) -> Progress | None:
    one = steward.runner.underway.get(run.run_id)
    return None if one is None else Progress(replicates=one.replicates, planned=one.planned)
