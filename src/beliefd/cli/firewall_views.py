"""Ideas, experiments, evidence and intents drawn for people; foreign text goes through `visible`."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.kernel.experiments.plan import RunReport
from beliefd.kernel.experiments.state import Evidence, Run
from beliefd.protocol.experiments import (
    Discoveries,
    EvidencePage,
    ExperimentPage,
    ExperimentView,
    LinkedEvidence,
    Reproduced,
)
from beliefd.protocol.intents import IntentPage, IntentView
from beliefd.protocol.speculation import HypothesisPage, HypothesisView, SpeculationAnswer

OUTCOME_STYLE = {"support": "bold green", "refute": "bold red", "unresolved": "bold yellow"}
STATE_STYLE = {"executed": "green", "awaiting_approval": "yellow", "failed": "red", "rejected": "red"}
SPECULATIVE = "italic magenta"


def speculation(answer: SpeculationAnswer) -> RenderableType:
    return Group(
        *(_hypothesis(one) for one in answer.hypotheses),
        *(Text(f"not linked: {visible(why)}", "yellow") for why in answer.soft_failures),
    )


def hypotheses(page: HypothesisPage) -> RenderableType:
    return _page([_hypothesis(one) for one in page.hypotheses], page.next, "nothing was speculated")


def experiment(answer: ExperimentView) -> RenderableType:
    lines: list[RenderableType] = [
        _headline(answer),
        Text.assemble(("plan ", "dim"), answer.spec_hash, ("  seed ", "dim"), str(answer.spec.seed)),
        Text(f"attempt {answer.attempt} at this claim, decided at {answer.alpha:.4g}", "dim"),
    ]
    if answer.informed_by:
        lines.append(Text.assemble(("informed by hints ", "dim"), answer.informed_by))
    if answer.report is not None:
        lines.append(_report(answer.report))
    return Group(*lines)


def experiments(page: ExperimentPage) -> RenderableType:
    return _page([_headline(one) for one in page.experiments], page.next, "nothing has been planned")


def reproduced(answer: Reproduced) -> RenderableType:
    word = ("reproduced", "bold green") if answer.reproduced else ("not reproduced", "bold red")
    return Group(
        Text.assemble(word, f"  {answer.run_id}"),
        Text.assemble(("recorded ", "dim"), answer.recorded_hash),
        Text.assemble(("now      ", "dim"), answer.result_hash),
    )


def linked(answer: LinkedEvidence) -> RenderableType:
    fallen = ", ".join(visible(name) for name in answer.applied_eliminated)
    return Group(
        _evidence(answer.evidence),
        *([Text(f"eliminated: {fallen}", "red")] if fallen else []),
        Text.assemble(("all evidence together warrants ", "dim"), (answer.warrants, "bold")),
    )


def evidence(page: EvidencePage) -> RenderableType:
    return _page([_evidence(one) for one in page.evidence], page.next, "no run has minted evidence")


def discoveries(answer: Discoveries) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for word, style, found in (("together", "green", answer.discovered), ("not yet", "dim", answer.others)):
        for one in found:
            table.add_row(
                Text(visible(one.claim_id), "bold"), Text(word, style), f"e-value {one.e_value:.4g}"
            )
    head = Text(f"at most {answer.alpha:.0%} of those believed together are wrong, on average", "dim")
    return Group(head, table)


def intent(answer: IntentView) -> RenderableType:
    lines = [_intent(answer)]
    for step in answer.history:
        why = f": {visible(step.why)}" if step.why else ""
        lines.append(Text(f"  {step.at}  {step.state} by {visible(step.by)}{why}", "dim"))
    if answer.content_hash is not None:
        lines.append(Text(f"waits as {answer.approval_id} until {answer.expires_at}", "yellow"))
    return Group(*lines)


def intents(page: IntentPage) -> RenderableType:
    return _page([_intent(one) for one in page.intents], page.next, "nothing has been asked for")


def _page(lines: Sequence[RenderableType], after: str | None, nothing: str) -> RenderableType:
    if not lines:
        return Text(nothing, "dim")
    return Group(*lines, *([Text(f"more: --cursor {visible(after)}", "dim")] if after else []))


def _hypothesis(one: HypothesisView) -> Text:
    return Text.assemble(
        (visible(one.hypothesis_id), "bold"),
        ("  speculative  ", SPECULATIVE),
        visible(one.alternative.statement),
    )


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
        (f"  counts as {one.role}" if one.role else "  not linked", "dim"),
        (f"  run {one.execution_id}", "dim"),
    )


def _intent(answer: IntentView) -> Text:
    change = answer.change
    to = "" if change.to_status is None else f" to {change.to_status}"
    return Text.assemble(
        (answer.intent_id, "bold"),
        f"  {change.type} {visible(change.claim_id)}{to}  ",
        (answer.state, STATE_STYLE.get(answer.state, "dim")),
    )
