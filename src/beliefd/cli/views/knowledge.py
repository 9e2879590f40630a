"""Propositions drawn for people."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import one_line, page, view
from beliefd.cli.views.drawing import view as drawn
from beliefd.cli.views.experiments import prediction_words
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.cli.views.system import foreign_lines
from beliefd.protocol.knowledge import (
    EvidenceEntry,
    Holding,
    IntentEntry,
    PropositionPage,
    PropositionRow,
    PropositionView,
    PropositionWhy,
)

STATUS_STYLE = {
    "proven": "bold green",
    "supported": "green",
    "unresolved": "yellow",
    "speculative": "magenta",
    "refuted": "bold red",
}
ROLE_STYLE = {"support": "green", "replicate": "green", "refute": "red", "undercut": "yellow"}


@view.register
def propositions(found: PropositionPage) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for row in found.propositions:
        table.add_row(
            Text(row.status, STATUS_STYLE[row.status]),
            Text(visible(row.claim_id), "bold"),
            Text(one_line(row.statement)),
            Text(f"{row.sessions} sessions" if row.sessions > 1 else "", "dim"),
            Text(_foreign_of(row), "bold yellow"),
        )
    parts: list[RenderableType] = [table] if found.propositions else []
    return page([*parts, *_left_out(found)], found.next, "no propositions")


def _foreign_of(row: PropositionRow) -> str:
    return "" if not row.foreign else "foreign" if row.foreign == row.sessions else f"{row.foreign} foreign"


def _left_out(found: PropositionPage | PropositionView | PropositionWhy) -> list[RenderableType]:
    return [*map(drawn, found.broken), *map(drawn, found.archived)]


@view.register
def proposition(view: PropositionView) -> RenderableType:
    """A tree: what is claimed, who holds it, what speaks for and against it, who wanted it changed."""
    head = Text.assemble((view.status, STATUS_STYLE[view.status]), f"  {visible(view.statement)}")
    tree = Tree(head, guide_style="dim")
    tree.add(
        Text.assemble(
            ("all evidence warrants ", "dim"),
            (view.truth_assertion.warrants, STATUS_STYLE[view.truth_assertion.warrants]),
            (f": {visible(view.truth_assertion.why)}", "dim"),
        )
    )
    for holding in view.sessions:
        branch = tree.add(_holding(holding))
        for line in foreign_lines(view.foreign.get(holding.session_id)):
            branch.add(line)
        branch.add(Text.assemble(("predicts ", "dim"), prediction_words(holding.prediction)))
        if holding.fell:
            branch.add(Text(f"its status fell: {visible(holding.fell)}", "bold yellow"))
        for piece in view.evidence:
            if piece.session_id == holding.session_id:
                branch.add(_evidence(piece)).add(
                    Text(f"{piece.template}, run {piece.run_id}, under: {visible(piece.model)}", "dim")
                )
        for intent in view.intents:
            if intent.session_id == holding.session_id:
                branch.add(_intent(intent))
    ideas = len(view.speculative_hypotheses)
    if ideas:
        tree.add(Text(f"{ideas} speculative hypotheses, of no weight", "magenta"))
    if view.truncated:
        tree.add(Text("there is more than is shown here", "yellow"))
    for one in _left_out(view):
        tree.add(one)
    return tree


@view.register
def why(answer: PropositionWhy) -> RenderableType:
    lines: list[RenderableType] = []
    for step in answer.steps:
        lines.append(
            Text.assemble(
                (f"{step.ts}  ", "dim"),
                visible(step.said),
                (f"  -> {step.status}" if step.status else "", STATUS_STYLE.get(step.status or "", "")),
            )
        )
        about = "  ".join(f"{name} {visible(value)}" for name, value in step.about.items())
        lines.append(Text(f"    by {visible(step.actor)}  event {step.event_id}  {about}", "dim"))
    lines.append(Text.assemble("so it is ", (answer.status, STATUS_STYLE[answer.status])))
    for name in sorted(answer.foreign):
        lines += [Text(f"session {name}:", "dim"), *foreign_lines(answer.foreign[name])]
    return page([*lines, *_left_out(answer)], answer.next, "")


def _holding(one: Holding) -> Text:
    return Text.assemble(
        ("session ", "dim"),
        one.session_id,
        "  ",
        (one.status, STATUS_STYLE[one.status]),
        (f"  wording {one.revision}" if one.revision > 1 else "", "dim"),
        ("  quarantined" if one.quarantined else "", "bold yellow"),
        (f"  forked from {visible(one.forked_from)}" if one.forked_from else "", "dim"),
    )


def _evidence(one: EvidenceEntry) -> Text:
    return Text.assemble(
        (one.role or one.outcome, ROLE_STYLE.get(one.role or one.outcome, "bold yellow")),
        (f"  {one.label}", LABEL_STYLE[one.label]),
        f"  {one.kind} {one.evidence_id}  confidence {one.confidence:.3g}, error {one.error_level:.3g}",
        ("  fragile" if one.fragile else "", "bold yellow"),
        ("" if one.counts else "  for an earlier wording", "yellow"),
    )


def _intent(one: IntentEntry) -> Text:
    to = f" to {one.to_status}" if one.to_status else ""
    life = " > ".join(step.state for step in one.history)
    return Text.assemble(
        ("intent ", "dim"), f"{one.type}{to}", (f"  {life}  by {visible(one.proposed_by)}", "dim")
    )
