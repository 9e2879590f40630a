"""Handlers of experiments, from their plan to the evidence that comes of them."""

import asyncio
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.commands import DesignExperiment, LinkEvidence, StartRun
from beliefd.kernel.experiments.design import choose, design
from beliefd.kernel.experiments.designing import caveats_of, checked_by
from beliefd.kernel.experiments.events import EvidenceLinked, ExperimentDesigned, RunStarted
from beliefd.kernel.experiments.params import parse_spec
from beliefd.kernel.experiments.plan import ExperimentSpec, Frozen
from beliefd.kernel.experiments.state import Evidence, Experiment, Run
from beliefd.kernel.experiments.testable import testable
from beliefd.kernel.intents.warrant import counted, warrant_of
from beliefd.kernel.scan.guards import CLAIM_ID_NAMES, guard_evidence
from beliefd.kernel.speculation.hints import extract_hints
from beliefd.kernel.state import Session
from beliefd.protocol.experiments import (
    DesignRequest,
    Discoveries,
    Discovery,
    EvidencePage,
    EvidenceRequest,
    ExperimentPage,
    ExperimentView,
    LinkedEvidence,
    Progress,
    Reproduced,
    ReproduceRequest,
    RunRequest,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.effects.runner import Underway
from beliefd.steward.effects.runs import (
    ExperimentRuns,
    frozen_plan,
    need_source,
    observed_values,
    recorded_report,
)
from beliefd.steward.effects.tools import Turns
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import as_recorded, filling, page, page_filled, read, view_of
from beliefd.steward.handlers.status_card import data_picture
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store


class ExperimentHandlers(Struct, frozen=True):
    """Experiments, from their plan to their outcome."""

    store: Store
    positions: Positions
    submit: Submit
    runs: ExperimentRuns
    designing: Turns

    async def design_experiment(self, call: Call) -> ExperimentView:
        body = await read(call, lambda body, path: bind(as_recorded(body), path))
        given = {name for name, value in body.items() if value is not None}
        session = (await self.positions.existing(call.session_id)).session
        if given == {"spec"}:
            spec = _whole(body["spec"], session)
        else:
            spec = await self._designed(convert(body, DesignRequest), session)
        await need_source(self.store, call.session_id, spec)
        command = DesignExperiment(spec=spec)
        # INVARIANT: a principal's plans are frozen one after the other, so that each counts those before it.
        async with self.designing.of(call.principal.id):
            outcome, event = await submit_for(call, self.submit, call.session_id, command, ExperimentDesigned)
        return await self._view(outcome.session, event.experiment)

    async def list_experiments(self, call: Call) -> ExperimentPage:
        session = (await self.positions.existing(call.session_id)).counted
        held: list[Experiment] = [session.experiments.by_id[name] for name in session.experiments.by_id]
        shown, after = page(held, call, lambda one: one.experiment_id)
        by_id = {one.experiment_id: one for one in shown}
        views, after = await page_filled(list(by_id), lambda name: self._view(session, by_id[name]), after)
        return ExperimentPage(experiments=views, next=after)

    async def show_experiment(self, call: Call) -> ExperimentView:
        session = (await self.positions.existing(call.session_id)).counted
        experiment = _existing(session, call.path["experiment_id"])
        view = await self._view(session, experiment)
        return replace(view, picture=await data_picture(self.store, session, experiment))

    async def run_experiment(self, call: Call) -> ExperimentView:
        asked = await read(call, _run_request)
        underway = await self.runs.background.see_through(self._begun(call))
        if asked.wait and underway is not None and underway.task is not None:
            # A caller who goes away does not take the run along.
            await asyncio.shield(underway.task)
        return await self.show_experiment(call)

    async def _begun(self, call: Call) -> Underway | None:
        command = StartRun(experiment_id=call.path["experiment_id"])
        outcome, event = await submit_for(call, self.submit, call.session_id, command, RunStarted)
        underway = self.runs.runner.underway.get(event.run.run_id)
        # A repeated request has started its run before: it waits with the first one, and starts nothing.
        if underway is None and not outcome.repeated:
            experiment = outcome.session.experiments.by_id[event.run.experiment_id]
            frozen = await frozen_plan(self.store, call.session_id, experiment)
            underway = self.runs.begin(outcome.session, event.run, frozen)
        return underway

    async def cancel_experiment(self, call: Call) -> ExperimentView:
        session = (await self.positions.existing(call.session_id)).session
        experiment = _existing(session, call.path["experiment_id"])
        underway = self.runs.runner.underway.get(experiment.run_id or "")
        if underway is None or not self.runs.runner.cancel(experiment.run_id or ""):
            raise BeliefdError(Code.CONFLICT, "no run of it is being made here", {"path": "experiment_id"})
        if underway.task is not None:
            await asyncio.shield(underway.task)
        return await self.show_experiment(call)

    async def reproduce_experiment(self, call: Call) -> Reproduced:
        await read(call, _reproduce_request)
        session = (await self.positions.existing(call.session_id)).session
        experiment = _existing(session, call.path["experiment_id"])
        run: Run | None = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
        if run is None or run.status != "completed" or run.result_hash is None:
            text = "there is no completed run of it that could be made again"
            raise BeliefdError(Code.CONFLICT, text, {"path": "experiment_id"})
        frozen = await frozen_plan(self.store, call.session_id, experiment)
        report = await self.runs.make(session, frozen)
        return Reproduced(
            experiment_id=experiment.experiment_id,
            run_id=run.run_id,
            reproduced=report.result_hash == run.result_hash,
            recorded_hash=run.result_hash,
            result_hash=report.result_hash,
            failure=report.failure,
        )

    async def _designed(self, asked: DesignRequest, session: Session) -> ExperimentSpec:
        """INVARIANT: hints end here. What is recorded is the spec, and the spec has their digest only."""
        named = asked.claim
        assert named is not None  # noqa: S101 - a whole spec comes alone
        for place, name in enumerate(named.observed):
            if name not in session.observations.by_id:
                text = f"no observation `{name[:64]}` in this session"
                details = {"path": f"$.claim.observed[{place}]"}
                raise BeliefdError(Code.OBSERVATION_NOT_FOUND, text, details)
        found = [await observed_values(self.store, session, name) for name in named.observed]
        values = tuple(value for one in found for value in one) or named.observed_values
        proposition = session.intents.propositions.get(named.claim_id)
        prediction = None if proposition is None else proposition.prediction
        units = {session.observations.by_id[name].unit for name in named.observed}
        if named.unit is None and prediction is None and len(units) == 1:
            named = replace(named, unit=units.pop())
        claim = testable(named, prediction, values)
        hints = asked.hints
        if asked.speculation is not None:
            hints = extract_hints(claim.claim_id, asked.speculation)
        return design(claim, hints, choose(claim, hints))

    async def _view(self, session: Session, experiment: Experiment) -> ExperimentView:
        frozen: Frozen = await frozen_plan(self.store, session.session_id, experiment)
        run: Run | None = None if experiment.run_id is None else session.experiments.runs[experiment.run_id]
        return view_of(
            ExperimentView,
            experiment,
            spec=frozen.spec,
            informed_by=experiment.hints_digest,
            observations=list(experiment.observations),
            typed_by=list(experiment.typed_by),
            caveats=caveats_of(experiment),
            audit_event_id=experiment.event_id,
            run=run,
            report=None if run is None else await recorded_report(self.store, session.session_id, run),
            progress=None if run is None else self._progress(run),
        )

    def _progress(self, run: Run) -> Progress | None:
        one = self.runs.runner.underway.get(run.run_id)
        return None if one is None else Progress(replicates=one.replicates, planned=one.planned)


def _whole(document: object, session: Session) -> ExperimentSpec:
    """A plan that somebody else has made, or what is wrong with it, its path counted from the body."""
    try:
        return parse_spec(document, lambda spec: checked_by(spec, session.observations.by_id))
    except BeliefdError as error:
        details = dict(error.details or {})
        told = str(details.get("path", "$"))
        details["path"] = f"$.spec{told[1:]}"
        message = error.message.replace(f"`{told}`", f"`{details['path']}`")
        raise BeliefdError(error.code, message, details) from None


def _existing(session: Session, experiment_id: str) -> Experiment:
    found = session.experiments.by_id.get(experiment_id)
    if found is None:
        raise not_found(Code.EXPERIMENT_NOT_FOUND, "experiment", experiment_id, " in this session")
    return found


class EvidenceHandlers(Struct, frozen=True):
    """Evidence from completed runs."""

    positions: Positions
    submit: Submit
    in_force: PolicyInForce

    async def link_evidence(self, call: Call) -> LinkedEvidence:
        """INVARIANT: which claim it is about is asked first, then whether speculation hides in it."""
        asked = await read(call, _evidence)
        command = LinkEvidence(claim_id=asked.claim_id, run_id=asked.run_id, role=asked.role)
        outcome, event = await submit_for(call, self.submit, call.session_id, command, EvidenceLinked)
        pieces = counted(outcome.session, asked.claim_id)
        return LinkedEvidence(
            evidence=event.evidence,
            applied_eliminated=list(event.eliminated),
            ignored_eliminated=list(event.ignored),
            withheld=event.withheld,
            warrants=warrant_of(pieces, self.in_force.policy.firewall).status,
            audit_event_id=outcome.head.event_id,
        )

    async def list_evidence(self, call: Call) -> EvidencePage:
        session = (await self.positions.existing(call.session_id)).counted
        held: list[Evidence] = [session.experiments.evidence[name] for name in session.experiments.evidence]
        shown, after = page(held, call, lambda one: one.evidence_id)
        shown, after = filling(shown, [one.evidence_id for one in shown], after)
        return EvidencePage(evidence=shown, next=after)

    async def list_discoveries(self, call: Call) -> Discoveries:
        """INVARIANT: every completed run of a claim weighs in, not only the one that came out best."""
        from beliefd.experiments.sequential import e_bh, e_value

        session = (await self.positions.existing(call.session_id)).counted
        worth: dict[str, list[float]] = {}
        for name in sorted(session.experiments.evidence):
            piece: Evidence = session.experiments.evidence[name]
            speaks = piece.outcome == "support" and piece.solid
            worth.setdefault(piece.claim_id, []).append(e_value(piece.error_level) if speaks else 0.0)
        found = [
            Discovery(claim_id=claim_id, e_value=sum(values) / len(values), runs=len(values))
            for claim_id, values in sorted(worth.items())
        ]
        alpha = self.in_force.policy.firewall.alpha
        kept = set(e_bh([one.e_value for one in found], alpha))
        return Discoveries(
            alpha=alpha,
            discovered=[one for place, one in enumerate(found) if place in kept],
            others=[one for place, one in enumerate(found) if place not in kept],
        )


def _evidence(body: Any, path: dict[str, str]) -> EvidenceRequest:
    body = as_recorded(body)
    claim_id = guard_evidence(body)
    named = {name: value for name, value in body.items() if name not in CLAIM_ID_NAMES}
    return convert(bind({**named, "claim_id": claim_id}, path), EvidenceRequest)


def _run_request(body: Any, path: dict[str, str]) -> RunRequest:
    return convert(bind(as_recorded(body), {"session_id": path["session_id"]}), RunRequest)


def _reproduce_request(body: Any, path: dict[str, str]) -> ReproduceRequest:
    return convert(bind(as_recorded(body), {"session_id": path["session_id"]}), ReproduceRequest)
