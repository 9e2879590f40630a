"""What waits for a person, and what that person said, drawn for people."""

from typing import Any

import msgspec
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.short_ids import short
from beliefd.cli.views.claims import (
    approver_words,
    claim_view,
    claims_in,
    correction_lines,
    decision_words,
    gate_table,
    judged_words,
    override_lines,
    progress_lines,
)
from beliefd.cli.views.drawing import (
    TIER_STYLE,
    EventDetails,
    EventWords,
    age,
    cut,
    json_text,
    names,
    one_line,
    page,
    view,
)
from beliefd.cli.views.experiments import OUTCOME_STYLE, prediction_words
from beliefd.cli.views.measurements import measurement_lines
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.cli.views.substrate import verdict_words
from beliefd.cli.views.system import foreign_lines
from beliefd.kernel.approvals.state import (
    OPEN,
    BundleSubject,
    CallSubject,
    DefinitionSubject,
    DeltaSubject,
    InformationSubject,
    IntentSubject,
    Subject,
)
from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.intents.changes import WORDINGS
from beliefd.kernel.intents.state import Change
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.kernel.values import shown_time
from beliefd.protocol.approvals import (
    ApprovalCard,
    DecidedApproval,
    Inbox,
    StatusCard,
    TestRun,
    decided_on,
    riskiest_first,
)
from beliefd.protocol.experiments import DataPicture
from beliefd.protocol.headlines import why_it_waits

LABELS: dict[type[Subject], str] = {
    BundleSubject: "claims",
    InformationSubject: "information",
    CallSubject: "call",
    DeltaSubject: "change",
    IntentSubject: "intent",
    DefinitionSubject: "definition",
}


@view.register
def inbox(found: Inbox) -> RenderableType:
    cards = found.approvals
    if all(card.status in OPEN for card in cards):  # what is settled stays in the order of its page
        cards = riskiest_first(cards)
    items: list[RenderableType] = [Items(cards)] if cards else []
    rest = [*map(view, found.broken), *map(view, found.archived)]
    return page([*items, *rest], found.next, "nothing waits")


class Items:
    """Items in columns that fit a terminal; written to a file, a whole line for each."""

    def __init__(self, cards: list[ApprovalCard]) -> None:
        self._cards = cards

    def __rich_console__(self, console: Console, _: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield from map(row, self._cards)
            return
        table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
        for name in ("item", "tier", "kind", "age"):
            table.add_column(name, no_wrap=True)
        table.add_column("what", no_wrap=True, ratio=3, overflow="ellipsis")
        table.add_column("by", no_wrap=True, ratio=1, overflow="ellipsis")
        table.add_column("", no_wrap=True, overflow="ellipsis")
        for card in self._cards:
            table.add_row(
                Text(short(card.approval_id), "bold"),
                Text(card.tier, TIER_STYLE[card.tier]),
                LABELS[type(card.subject)],
                age(card.opened_at),
                Text(about(card.subject, card.title)),
                Text(visible(card.proposer), "dim"),
                _marks(card),
            )
        yield table


def _marks(card: ApprovalCard) -> Text:
    """What a reviewer should know before opening it."""
    told = [
        (card.status, "dim") if card.status != "pending" else None,
        ("overdue", "bold red") if card.overdue else None,
        ("cannot run", "bold red") if card.cannot_run else None,
        (card.came_to, "bold") if card.came_to else None,
        ("foreign", "bold yellow") if card.foreign is not None else None,
    ]
    return Text(" ").join(Text(*one) for one in told if one is not None)


def row(card: ApprovalCard) -> Text:
    first = about(card.subject, card.title)
    return Text.assemble(
        (f"{card.approval_id}  ", "bold"),
        (f"{card.tier:<13} ", TIER_STYLE[card.tier]),
        (f"{card.came_to or card.status:<9} " if card.status != "pending" else "", "dim"),
        cut(first),
        (f"  by {visible(card.proposer)}", "dim"),
        (f"  {visible(card.reason)}", "dim"),
        *((f"  {visible(line.plain)}", "yellow") for line in progress_lines(card.progress)),
        (f"  {visible(card.cannot_run)}" if card.cannot_run else "", "bold red"),
        ("  foreign" if card.foreign is not None else "", "bold yellow"),
        (f"  {len(card.ended)} of {len(card.claims)} ended" if card.ended else "", "bold red"),
    )


@view.register
def card(answer: ApprovalCard) -> RenderableType:
    """Claim, gates with limits, evidence, cost if wrong, what changes on approval."""
    from beliefd.cli.views.asked import before_lines

    lines: list[RenderableType] = [
        Text.assemble(
            (answer.approval_id, "bold"),
            f"  {answer.status}  ",
            (f"{answer.tier}  ", TIER_STYLE[answer.tier]),
            (visible(why_it_waits(answer)), "yellow"),
        ),
        *foreign_lines(answer.foreign),
        *_content(answer),
        *(Text(f"  ! {one.words}", "bold red" if one.grave else "yellow") for one in answer.signs),
        *(line for one in answer.measurements for line in measurement_lines(one)),
        *_tested(answer),
        gate_table(answer.gates),
        *_warnings(answer),
        *before_lines(answer),
        *override_lines(answer.overridden),
        Text(f"in {visible(answer.session_title)}", "dim"),
        Text(f"proposed by {names(answer.proposers)}{_time_left(answer)}"),
    ]
    lines += approver_words(answer.approvals)
    lines += progress_lines(answer.progress)
    if answer.allowed_decisions:
        able, verdicts = names(answer.required_approvals), ", ".join(answer.allowed_decisions)
        lines.append(Text(f"may be decided by {able}: {verdicts}"))
        lines.append(Text(f"on approval: {answer.on_approval}"))
    if answer.successor is not None:
        lines.append(Text(f"goes on as {answer.successor}", "dim"))
    lines.append(Text.assemble(("content ", "dim"), answer.content_hash))
    return Group(*lines)


def _time_left(answer: ApprovalCard) -> str:
    if answer.status in OPEN:
        return f", open until {shown_time(answer.expires_at)}"
    return "" if answer.decided_at is None else f", settled at {shown_time(answer.decided_at)}"


def _warnings(answer: ApprovalCard) -> list[RenderableType]:
    """Why a yes would be in vain, before it is given; and what became of one that was."""
    told = [] if answer.cannot_run is None else [Text(f"  ! {visible(answer.cannot_run)}", "bold red")]
    return [*told, *([] if answer.came_to is None else [Text(f"  {answer.came_to}", "bold")])]


def _tested(answer: ApprovalCard) -> list[RenderableType]:
    if answer.proposition is None:
        return []
    past = [] if answer.status in OPEN else [Text("  as it stood when it was asked for:", "dim")]
    return [*past, view(answer.proposition)]


@view.register
def proposition(answer: StatusCard) -> RenderableType:
    """What is claimed, what all runs together warrant, and each of them against what was predicted."""
    lines: list[RenderableType] = [
        Text.assemble(("  claims ", "dim"), visible(answer.statement)),
        Text.assemble(("  predicts ", "dim"), prediction_words(answer.prediction)),
        Text(f"  it is {answer.status}; all evidence ({_counted(answer)}) warrants {answer.warrants}:"),
        Text(f"    {visible(answer.why)}"),
        *(Text(f"  ! {visible(doubt)}", "bold yellow") for doubt in answer.doubts),
    ]
    for run in answer.runs:
        lines += _test_run(run)
    return Group(*lines)


def _counted(answer: StatusCard) -> str:
    return "1 run" if answer.runs_in_all == 1 else f"{answer.runs_in_all} runs"


def _test_run(run: TestRun) -> list[RenderableType]:
    failed = f"  failed: {', '.join(run.failed_checks)}" if run.failed_checks else ""
    return [
        Text.assemble(
            ("    ", ""),
            (run.outcome, OUTCOME_STYLE[run.outcome]),
            f"  {run.template}  wrong at most with {run.error_level:.3g}  ",
            (run.label, LABEL_STYLE[run.label]),
            ("" if run.counts else "  of another wording", "yellow"),
            (failed, "red"),
        ),
        *(Text(f"      {visible(where)}", "dim") for where in run.where),
        Text(f"      {_tried(run)}", "dim"),
        *([] if run.picture is None else [Text(f"      {line}") for line in picture_lines(run.picture)]),
    ]


def _tried(run: TestRun) -> str:
    """All that could have been tried instead, and what that left of alpha."""
    parts = [f"attempt {run.attempt} at the claim", f"test {run.tries} on these data"]
    parts += [f"{run.left_out} other results of the same tool left out"] if run.left_out else []
    parts += [f"one of {run.choices} lists of numbers in its source"] if run.choices > 1 else []
    return f"{', '.join(parts)}: at {run.alpha:.3g}"


BARS = " ▁▂▃▄▅▆▇█"


def picture_lines(picture: DataPicture) -> list[str]:
    """A histogram, and below it where the prediction says that the mean lies."""
    most = max(picture.counts)
    bars = "".join(BARS[-(-count * (len(BARS) - 1) // most)] for count in picture.counts)
    width = (picture.high - picture.low) / len(picture.counts)
    centres = [picture.low + (place + 0.5) * width for place in range(len(picture.counts))]
    low = picture.low - width if picture.region_low is None else picture.region_low
    high = picture.high + width if picture.region_high is None else picture.region_high
    # A region may be narrower than a bar: the bar that holds an end of it belongs to it.
    marks = "".join("=" if low - width / 2 <= centre <= high + width / 2 else "·" for centre in centres)
    return [
        f"{picture.low:.4g} {bars} {picture.high:.4g}   data, mean {picture.mean:.4g}",
        f"{' ' * len(f'{picture.low:.4g}')} {marks} {' ' * len(f'{picture.high:.4g}')}   predicted",
    ]


def _content(answer: ApprovalCard) -> list[RenderableType]:
    """All of what waits."""
    from beliefd.cli.views.asked import call_lines, told_lines, why_lines

    subject = answer.subject
    if isinstance(subject, BundleSubject | InformationSubject):
        claims = [claim_view(claim, answer) for claim in answer.claims]
        return [*correction_lines(answer.corrects), *claims]
    candidate = subject.candidate if isinstance(subject, CallSubject | DeltaSubject) else None
    if isinstance(candidate, CallCandidate):
        return [*call_lines(answer, candidate), *told_lines(answer), *why_lines(answer, candidate)]
    label = LABELS[type(subject)]
    lines: list[RenderableType] = [Text(f"  {label} {about(subject, answer.title)}", "bold")]
    if isinstance(candidate, DeltaCandidate):
        lines += why_lines(answer, candidate)
    change = subject.change if isinstance(subject, IntentSubject) else None
    if change is not None and change.type in WORDINGS:
        lines.append(Text.assemble(("  predicts ", "dim"), prediction_words(change.prediction)))
    if isinstance(subject, DeltaSubject) and answer.call is not None and answer.status in OPEN:
        lines.append(Text.assemble(("  there now ", "dim"), json_text(answer.call.values_now)))
    return lines


def about(subject: Subject, title: str) -> str:
    """What waits, in one line: a claim, a call, a change of the symbolic state, or of what is believed."""
    match subject:
        case CallSubject(candidate=CallCandidate() as call):
            return f"{visible(call.tool_id)} {json_text(call.args)}"
        case DeltaSubject(candidate=DeltaCandidate() as delta):
            return json_text({**delta.patch.set, **dict.fromkeys(delta.patch.remove)})
        case IntentSubject(change=Change() as change):
            return visible(" ".join(part for part in _change(change) if part))
        case DefinitionSubject(definition=OfferedTool() as tool):
            before = {} if subject.was is None else {"was": msgspec.to_builtins(subject.was)}
            return f"{visible(title)} {json_text({'is': msgspec.to_builtins(tool), **before})}"
    return visible(title)


def _change(change: Change) -> tuple[str, ...]:
    """What a write intent would do, in one line."""
    to = "" if change.to_status is None else f"to {change.to_status}"
    on = f"on {', '.join(change.evidence_ids)}" if change.evidence_ids else ""
    return change.type, change.claim_id, to, on, change.new_claim_id or "", change.statement or ""


@view.register
def decided(answer: DecidedApproval) -> RenderableType:
    status = answer.approval.came_to or answer.status
    head = Text.assemble((f"{status}  ", "bold"), visible(answer.approval.title))
    by_caller = getattr(answer.approval.subject, "is_run_by_caller", False)
    if answer.call is not None and answer.call.status == "scheduled" and by_caller:
        return Group(head, Text("nothing has run yet: its agent makes the call itself", "dim"))
    if answer.call is not None:
        return Group(head, view(answer.call))
    if answer.intent is not None:
        last = answer.intent.history[-1]
        return Group(head, Text(f"{answer.intent.intent_id} is {last.state} {visible(last.why)}".rstrip()))
    if answer.bundle is None and answer.status == "rejected":
        return head
    if answer.bundle is None:
        return Group(head, *progress_lines(answer.approval.progress))
    return Group(head, view(answer.bundle))


def _decided(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    said = Text(f"{delta['decision']} {delta['approval_id']}  ", "bold")
    if payload.get("reason"):
        said.append(f"{visible(payload['reason'])}  ", "not bold")
    about = one_line(decided_on(delta))
    if delta.get("result") is not None:
        return said.append_text(verdict_words(delta["result"], about or "the call,"))
    if delta.get("gated") is not None:
        return said.append_text(judged_words(delta["gated"])).append(f"  {about}")
    return said.append_text(_came_of_it(delta, None))


def _closed(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    said = Text(f"{delta['outcome']} {delta['approval_id']}  ", "bold")
    return said.append_text(_came_of_it(delta, delta.get("bundle")))


def _came_of_it(delta: dict[str, Any], bundle: dict[str, Any] | None) -> Text:
    if bundle is not None:
        return decision_words(bundle)
    status = delta["approval"]["status"]
    return Text("more people must agree" if status == "pending" else status, "dim")


def _granted(word: str) -> EventWords:
    def words(_: dict[str, Any], delta: dict[str, Any]) -> Text:
        grant = delta["grant"]
        return Text(f"{word} {', '.join(grant['tiers'])} to {visible(grant['principal'])}")

    return words


def _edits(payload: dict[str, Any], delta: dict[str, Any]) -> list[Text]:
    """Who decided what about whose proposal, and what an edit put in its place."""
    approval = delta["approval"]
    head = Text(f"proposed by {names(approval['proposers'])}, {approval['tier']}", "dim")
    return [head, *claims_in({"claims": payload.get("claims") or []})]


DETAILS: dict[str, EventDetails] = {"approval_decided": _edits}
EVENTS: dict[str, EventWords] = {
    "approval_decided": _decided,
    "approval_closed": _closed,
    "grant_given": _granted("granted"),
    "grant_revoked": _granted("revoked"),
}
