"""Uncertainty drawn for people: a value, a table of methods, and a picture of what accepting more costs."""

import math
from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.claims import OUTCOME_STYLE
from beliefd.cli.views.drawing import names, view
from beliefd.kernel.values import shown_time
from beliefd.protocol.uncertainty import CalibrationAnswer, MeasuredUncertainty

if TYPE_CHECKING:
    from beliefd.uncertainty.evaluation import Evaluation, Score
    from beliefd.uncertainty.evaluation_judges import Errors, JudgeReport
    from beliefd.uncertainty.examples import Example
    from beliefd.uncertainty.result import Measured, Reading
    from beliefd.uncertainty.sampling import Drawn

BAR: Final = 40


@view.register
def measured(found: MeasuredUncertainty) -> RenderableType:
    lines = [_value(found)]
    if found.clusters:
        lines.append(Text(f"clusters {' '.join(str(members) for members in found.clusters)}", "dim"))
    if found.labels is not None:
        lines.append(Text(f"labels {names(found.labels) or 'none'}"))
    if found.warning is not None:
        lines.append(Text(f"warning: {visible(found.warning)}", "yellow"))
    return Group(*lines)


@view.register
def calibration(found: CalibrationAnswer) -> RenderableType:
    groups = ", ".join(f"{visible(name)} {count}" for name, count in found.groups.items())
    lines = [
        Text(f"{visible(found.name)} version {found.version}: {found.count} {found.score} scores "
             f"of {visible(found.model)}"),
        Text(f"alpha from {found.least_alpha:.3g} on{f'; groups {groups}' if groups else ''}"),
        Text(f"{found.sha256} kept {shown_time(found.created_at)}", "dim"),
    ]  # fmt: skip
    if found.warning is not None:
        lines.append(Text(f"warning: {visible(found.warning)}", "yellow"))
    return Group(*lines)


def sampled(drawn: "Drawn", found: "Measured") -> RenderableType:
    answers = [Text(f"{one.seed:>4}  {visible(one.text.strip()) or '(nothing)'}") for one in drawn.answers]
    failures = [Text(f"{one.seed:>4}  no answer: {visible(one.reason)}", "yellow") for one in drawn.failures]
    cost = f"{drawn.answer_tokens} tokens in {drawn.seconds:.1f} s from {visible(drawn.model)}"
    return Group(
        Text("seed  answer", "bold"),
        *answers,
        *failures,
        Text(cost, "dim"),
        _value(found.uncertainty),
    )


def _value(found: "MeasuredUncertainty | Reading") -> Text:
    word = found.gate_recommendation
    said = f"  {found.value:.3f} by {found.method}: {visible(found.interpretation)}"
    return Text.assemble((word, OUTCOME_STYLE[word]), said)


def evaluation(found: "Evaluation") -> RenderableType:
    best = next(one for one in found.scores if one.method == found.best)
    table = Table(box=None)
    for heading in ("method", "AUROC (95 %)", "AURAC (95 %)", "ECE", "calibrated", "accept up to"):
        table.add_column(heading, no_wrap=True)
    for one in found.scores:
        limit = one.threshold
        table.add_row(
            one.method,
            str(one.auroc),
            str(one.aurac),
            f"{one.ece:.3f}",
            "-" if math.isnan(one.ece_calibrated) else f"{one.ece_calibrated:.3f}",
            "none" if limit.value is None else f"{limit.value:.2f} ({limit.coverage:.0%} of answers)",
        )
    return Group(
        Text(
            f"{visible(found.file)}: {found.questions} questions, up to {found.answers} answers each, "
            f"{found.wrong:.1%} wrong"
        ),
        table,
        Text(f"\n{best.method}: {best.threshold}"),
        Text(f"{found.verdict}\n"),
        _picture(best),
    )


def _picture(best: "Score") -> RenderableType:
    """Coverage against risk: what share of the accepted is wrong if the most certain are accepted first."""
    highest = max(risk for _, risk in best.risk_coverage) or 1.0
    lines = [Text(f"accepted   wrong among them ({best.method})", "bold")]
    for coverage, risk in best.risk_coverage:
        bar = "█" * round(BAR * risk / highest)
        lines.append(Text(f"{coverage:>8.0%}   {bar} {risk:.1%}"))
    return Group(*lines)


def examples(found: "list[Example]") -> RenderableType:
    table = Table(box=None)
    for heading in ("answers", "semantic entropy", "nearest neighbour", "disagreement", "gate"):
        table.add_column(heading, justify="left" if heading in ("answers", "gate") else "right")
    for one in found:
        table.add_row(
            one.name,
            f"{one.semantic_entropy:.2f}" if one.measured else "not measured",
            f"{one.nearest_neighbour_entropy:.2f}",
            f"{one.model_disagreement:.2f}" if one.measured else "not measured",
            one.recommendation,
        )
    return table


def judges(found: "JudgeReport") -> RenderableType:
    table = Table(box=None)
    table.add_column("category")
    names = dict.fromkeys(one.judge for one in found.scores)
    for name in names:
        table.add_column(f"{visible(name)}: merged", justify="right")
        table.add_column("split", justify="right")
    by_place = {(one.category, one.judge): one for one in found.scores}
    for category in dict.fromkeys(one.category for one in found.scores):
        scores = [by_place[category, name] for name in names]
        table.add_row(category, *(_errors(part) for one in scores for part in (one.merged, one.split)))
    return Group(
        Text(f"{found.pairs} labelled pairs, {found.half} half: different answers merged, paraphrases split"),
        table,
    )


def _errors(found: "Errors") -> str:
    share = found.share
    return f"{found.wrong}/{found.total} [{share.low:.1%}, {share.high:.1%}]"
