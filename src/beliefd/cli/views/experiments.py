"""Experiments, runs and evidence drawn for people."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, first_names, names, page, view
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.kernel.experiments.plan import Near, Ordered, RunReport
from beliefd.kernel.experiments.prediction import Prediction
from beliefd.kernel.experiments.state import Evidence, Run
from beliefd.protocol.experiments import (
    Discoveries,
    EvidencePage,
    ExperimentPage,
    ExperimentView,
    LinkedEvidence,
    Reproduced,
)

OUTCOME_STYLE = {"support": "bold green", "refute": "bold red", "unresolved": "bold yellow"}


def prediction_words(prediction: Prediction | None) -> str:
    """What a proposition says will be measured."""
    if prediction is None:
        return "nothing that could be tested"
    region, unit = prediction.criterion, "" if prediction.unit == "1" else f" {prediction.unit}"
    if isinstance(region, Near):
        where = f"is {region.value:g}{unit}, give or take {region.tolerance:g}"
    elif isinstance(region, Ordered):
        where = f"is {region.side} {region.than:g}{unit}"
    else:
        where = f"lies from {region.low:g} to {region.high:g}{unit}"
    return f"{visible(prediction.quantity)} {where}"


@view.register
def experiment(answer: ExperimentView) -> RenderableType:
    lines: list[RenderableType] = [
        _headline(answer),
        Text.assemble(("plan ", "dim"), answer.spec_hash, ("  seed, drawn here ", "dim"), str(answer.seed)),
        Text(f"attempt {answer.attempt} at this claim, decided at {answer.alpha:.4g}", "dim"),
        Text.assemble(("data ", "dim"), (answer.label, LABEL_STYLE[answer.label])),
        *(Text(f"! {visible(caveat)}", "yellow") for caveat in answer.caveats),
    ]
    if answer.informed_by:
        lines.append(Text.assemble(("informed by hints ", "dim"), answer.informed_by))
    if answer.report is not None:
        lines.append(_report(answer.report))
    return Group(*lines)


@view.register
def experiments(found: ExperimentPage) -> RenderableType:
    return page([_headline(one) for one in found.experiments], found.next, "nothing has been planned")


@view.register
def reproduced(answer: Reproduced) -> RenderableType:
    word = ("reproduced", "bold green") if answer.reproduced else ("not reproduced", "bold red")
    return Group(
        Text.assemble(word, f"  {answer.run_id}"),
        Text.assemble(("recorded ", "dim"), answer.recorded_hash),
        Text.assemble(("now      ", "dim"), answer.result_hash),
        *([Text(visible(answer.failure), "yellow")] if answer.failure else []),
    )


@view.register
def linked(answer: LinkedEvidence) -> RenderableType:
    fallen = names(answer.applied_eliminated)
    return Group(
        _evidence(answer.evidence),
        *([Text(f"eliminated: {fallen}", "red")] if fallen else []),
        *([Text(f"eliminated nothing: {visible(answer.withheld)}", "yellow")] if answer.withheld else []),
        Text.assemble(("all evidence together warrants ", "dim"), (answer.warrants, "bold")),
    )


@view.register
def evidence(found: EvidencePage) -> RenderableType:
    return page([_evidence(one) for one in found.evidence], found.next, "no run has minted evidence")


@view.register
def discoveries(answer: Discoveries) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for word, style, found in (("together", "green", answer.discovered), ("not yet", "dim", answer.others)):
        for one in found:
            table.add_row(
                Text(visible(one.claim_id), "bold"), Text(word, style), f"e-value {one.e_value:.4g}"
            )
    head = Text(f"at most {answer.alpha:.0%} of those believed together are wrong, on average", "dim")
    return Group(head, table)


def _headline(answer: ExperimentView) -> Text:
    return Text.assemble(
        (answer.experiment_id, "bold"),
        f"  {answer.template}  of {visible(answer.claim_id)}  ",
        *_run(answer.run),
    )


def _run(run: Run | None) -> Sequence[str | tuple[str, str]]:
    if run is None:
        return (("not run yet", "dim"),)
    if run.outcome is None:
        return (
            (f"{run.status} {visible(run.failure)}".rstrip(), "dim" if run.status == "running" else "red"),
        )
    return ((run.outcome, OUTCOME_STYLE[run.outcome]), (" fragile" if run.fragile else "", "yellow"))


def _report(report: RunReport) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for check in report.checks:
        measured = "" if check.measured is None else f"{check.measured:.4g}"
        limit = "" if check.limit is None else f"limit {check.limit:.4g}"
        style = "green" if check.passed else "red"
        table.add_row(
            Text(f"  {check.name}"), Text("passed" if check.passed else "failed", style), measured, limit
        )
    early = ", stopped early" if report.stopped_early else ""
    return Group(
        Text(f"{report.replicates} replicates{early}; wrong at most with {report.error_level:.4g}"),
        Text(report.model, "dim"),
        table,
    )


def _evidence(one: Evidence) -> Text:
    return Text.assemble(
        (one.evidence_id, "bold"),
        f"  {one.kind}  of {visible(one.claim_id)}  ",
        (one.outcome, OUTCOME_STYLE[one.outcome]),
        (" fragile" if one.fragile else "", "yellow"),
        (f"  linked as {one.role}" if one.role else "  not linked", "dim"),
        (f"  {one.label}", LABEL_STYLE[one.label]),
        (f"  run {one.execution_id}", "dim"),
    )


def _designed(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    plan = delta["experiment"]
    about = f"{plan['experiment_id']}  {plan['template']}  of {visible(plan['claim_id'])}"
    return Text.assemble(about, (f"  plan {plan['spec_hash'][:16]}", "dim"))


def _recorded(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    run, minted = delta["run"], delta.get("evidence")
    said = run["outcome"] or f"{run['status']} {visible(run['failure'])}".rstrip()
    return Text.assemble(
        f"{run['run_id']}: ",
        (said, OUTCOME_STYLE.get(said, "red")),
        (f"  evidence {minted['evidence_id']}" if minted else "", "dim"),
        (_fell(delta), "bold yellow"),
    )


def _fell(delta: dict[str, Any]) -> str:
    """What lost its status by an event."""
    found = delta.get("propositions") or ()
    return "".join(f"  {visible(one['claim_id'])} fell to {one['status']}" for one in found)


def _linked(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    found, fallen = delta["evidence"], delta["eliminated"]
    counts = f"{found['evidence_id']} is {found['role']} for {visible(found['claim_id'])}"
    gone = f"  {len(fallen)} fell: {first_names(fallen)}" if fallen else ""
    return Text.assemble(counts, (gone, "red"), (_fell(delta), "bold yellow"))


EVENTS: dict[str, EventWords] = {
    "experiment_designed": _designed,
    "run_started": lambda _, delta: Text(f"{delta['run']['run_id']} of {delta['run']['experiment_id']}"),
    "run_recorded": _recorded,
    "evidence_linked": _linked,
}
