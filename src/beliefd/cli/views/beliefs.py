"""Sessions drawn for people: what survives, what was ruled, and why."""

from typing import Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import (
    EventDetails,
    EventWords,
    bar,
    first_names,
    json_text,
    one_line,
    page,
    view,
)
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.cli.views.system import foreign_lines
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.protocol.beliefs import (
    ArchivedSession,
    BeliefSnapshot,
    BrokenLedger,
    Concluded,
    Declared,
    Eliminated,
    Recorded,
    RestsOn,
    Ruled,
    SessionPage,
)
from beliefd.protocol.ledger import UNSAID, Counterfactual, Tried, TriedKind, Why

SHOWN_NAMES = 120
TRIED: dict[TriedKind, str] = {
    "elimination_refused": "refused   ",
    "prediction": "predicted ",
    "experiment": "tested    ",
    "claim": "claimed   ",
}
STATUS_STYLE = {"open": "cyan", "singleton": "green", "exhausted": "bold red", "terminated": "dim"}


def measure(snapshot: BeliefSnapshot) -> Text:
    """How far the session has come. Zero bits alone would make a contradiction look like certainty."""
    return Text.assemble(
        (bar(snapshot.n_survivors, snapshot.n_hypotheses), "cyan"),
        f"  {snapshot.n_survivors} of {snapshot.n_hypotheses} left, {snapshot.entropy_proxy:.2f} bits, ",
        (snapshot.status, STATUS_STYLE[snapshot.status]),
    )


@view.register
def snapshot(answer: BeliefSnapshot) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            ("session ", "dim"), answer.session_id, ("  event ", "dim"), str(answer.seq), *_called(answer)
        ),
        *foreign_lines(answer.foreign),
        measure(answer),
        Columns([Text(visible(name), "bold") for name in answer.survivors[:SHOWN_NAMES]], padding=(0, 2)),
    ]
    hidden = answer.n_survivors - min(len(answer.survivors), SHOWN_NAMES)
    if hidden > 0:
        lines.append(Text(f"and {hidden} more; `--json` lists them", "dim"))
    if answer.rests_on.witnessed or answer.rests_on.attested:
        lines.append(rests(answer.rests_on))
    for item in answer.obligations:
        done = min(item.eliminations_since_entry, item.min_total_eliminations)
        state = ("active", "yellow") if item.active else ("released", "green")
        lines.append(
            Text.assemble(
                ("obligation ", "dim"),
                visible(item.obligation_id),
                f"  {bar(done, item.min_total_eliminations, 10)} ",
                f"{item.eliminations_since_entry} of {item.min_total_eliminations} eliminations, ",
                state,
            )
        )
    for name, times in answer.conclusions.items():
        again = f" ({times} times)" if times > 1 else ""
        on = answer.conclusions_rest_on.get(name)
        line = Text.assemble(("conclusion ", "dim"), (visible(name), "green"), again)
        lines.append(line if on is None else line.append("  on ", "dim").append_text(rests(on)))
    return Group(*lines, *_shortened(answer))


def _called(answer: BeliefSnapshot) -> list[tuple[str, str]]:
    """Where it is and what it is called, if somebody has chosen either."""
    space = answer.space if answer.space not in ("", DEFAULT_SPACE) else ""
    title = answer.title if answer.title != answer.ontology.hypothesis_space_id else ""
    told = [("  space ", "dim"), (visible(space), "")] if space else []
    return [*told, ("  ", ""), (one_line(title), "bold")] if title else told


def _shortened(answer: BeliefSnapshot) -> list[Text]:
    left = answer.shortened
    if left is None:
        return []
    told = [
        f"{len(answer.obligations)} of {left.n_obligations} obligations",
        f"{len(answer.conclusions)} of {left.n_conclusions} conclusions",
    ]
    more = "; `session show` tells the rest" if left.metadata or left.conclusions_next is None else ""
    ways = {"--obligations-before": left.obligations_next, "--conclusions-after": left.conclusions_next}
    given = [f"more: {way} {visible(name)}" for way, name in ways.items() if name is not None]
    return [Text(f"shown: {', '.join(told)}{more}", "dim"), *(Text(line, "dim") for line in given)]


def rests(on: RestsOn) -> Text:
    """What the eliminations of a session rest on."""
    return Text.assemble(
        ("eliminations ", "dim"),
        (f"{on.witnessed} witnessed", LABEL_STYLE["witnessed"] if on.witnessed else "dim"),
        ", ",
        (f"{on.attested} attested", LABEL_STYLE["attested"] if on.attested else "dim"),
    )


@view.register
def eliminated(answer: Eliminated) -> RenderableType:
    fell = Text.assemble(
        (f"{len(answer.applied_eliminated)} fell", "bold"),
        ": " if answer.applied_eliminated else "",
        first_names(answer.applied_eliminated),
    )
    if answer.ignored_eliminated:
        fell.append(f"; ignored: {first_names(answer.ignored_eliminated)}", "dim")
    if answer.unsaid:
        fell.append(f"; {answer.unsaid} without justification: `session why` says why", "yellow")
    return Group(fell, snapshot(answer.snapshot))


@view.register
def _(answer: Declared | Recorded) -> RenderableType:
    return snapshot(answer.snapshot)


@view.register
def ruling(answer: Ruled | Concluded) -> RenderableType:
    if isinstance(answer, Ruled):
        verdict = ("approved", "green") if answer.approved else ("refused", "bold red")
    else:
        verdict = ("accepted", "green") if answer.accepted else ("refused", "bold red")
    return Group(Text.assemble(verdict, f": {visible(answer.reason)}"), snapshot(answer.snapshot))


@view.register
def sessions(found: SessionPage) -> RenderableType:
    # Who uses no spaces sees none.
    placed = any(item.space != DEFAULT_SPACE for item in found.sessions)
    named = ["session", "title", *(["space"] if placed else []), "left", "bits", "status", "events", ""]
    table = Table(*named, box=None, pad_edge=False)
    for item in found.sessions:
        table.add_row(
            item.session_id,
            Text(one_line(item.title)),
            *([Text(visible(item.space))] if placed else []),
            f"{item.n_survivors}/{item.n_hypotheses}",
            f"{item.entropy_proxy:.2f}",
            Text(item.status, STATUS_STYLE[item.status]),
            str(item.seq),
            Text(_marked(item), "bold yellow"),
        )
    parts: list[RenderableType] = [table] if found.sessions else []
    rest = [*map(view, found.broken), *map(view, found.archived)]
    return page([*parts, *rest], found.next, "no sessions")


def _marked(item: BeliefSnapshot) -> str:
    told = ("foreign" if item.foreign is not None else "", "sealed" if item.seal is not None else "")
    return " ".join(filter(None, told))


@view.register
def archived(answer: ArchivedSession) -> RenderableType:
    told = f"{answer.session_id} is archived: {answer.events} events, to be found at {visible(answer.place)}"
    return Text(told, "dim")


@view.register
def broken(answer: BrokenLedger) -> RenderableType:
    return Text(f"{answer.session_id} is broken at event {answer.seq}: {visible(answer.reason)}", "red")


@view.register
def why(answer: Why) -> RenderableType:
    standing = ("survives", "green") if answer.survives else ("eliminated", "red")
    lines: list[RenderableType] = [Text.assemble((visible(answer.hypothesis), "bold"), ": ", standing)]
    lines += foreign_lines(answer.foreign)
    for item in answer.events:
        lines.append(
            Text.assemble(
                (f"  #{item.seq:<5}", "dim"),
                ("fell      " if item.applied else "also said ", "red" if item.applied else "dim"),
                (item.label, LABEL_STYLE[item.label]),
                (f", by {visible(item.actor)}" if item.actor else "", "dim"),
                ", to " if item.applied else ", ",
                (f"`{visible(item.source_id)}`", "bold"),
                f" on `{visible(item.observation_id)}`",
                (f"  merged from {item.merged_from}" if item.merged_from else "", "dim"),
                (f"  {_because(item.justification)}" if item.justification else ""),
                (f"  {UNSAID[item.unsaid]}" if item.unsaid else "", "yellow"),
            )
        )
        lines += [Text(f"        cites {' '.join(map(visible, cited.named))}", "dim") for cited in item.cites]
    if not answer.events:
        lines.append(Text("  nobody has spoken against it", "dim"))
    return page([*lines, *map(_tried, answer.tried)], answer.next, "")


def _tried(item: Tried) -> Text:
    return Text.assemble(
        (f"  #{item.seq:<5}", "dim"),
        (f"{TRIED[item.kind]} ", "cyan"),
        (visible(item.id), "bold"),
        (f" by {visible(item.actor)}", "dim"),
        f": {visible(item.came_to)}",
    )


@view.register
def counterfactual(answer: Counterfactual) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            "without ",
            (_left_out(answer), "bold"),
            f": {answer.n_survivors} left, ",
            (answer.status, STATUS_STYLE[answer.status]),
        ),
        Text(f"would stand again: {first_names(answer.restored, count=answer.n_restored) or 'nothing'}"),
    ]
    for item in answer.conclusions:
        rests = ("rests on them", "red") if item.rests_on_removed else ("does not rest on them", "green")
        counts = f" ({item.n_survivors_then} left then, {item.n_survivors_without} without)"
        lines.append(Text.assemble("conclusion ", (visible(item.conclusion_id), "bold"), " ", rests, counts))
        for source, names in item.sole_sources.items():
            told = first_names(names, count=item.sole_source_counts[source])
            lines.append(Text(f"  only {visible(source)} spoke against {told}", "dim"))
        for principal, names in item.sole_principals.items():
            told = first_names(names, count=item.sole_principal_counts[principal])
            lines.append(Text(f"  nobody but {visible(principal)} said so of {told}", "dim"))
    if answer.conclusions_next is not None:
        lines.append(Text(f"more: --conclusions-after {answer.conclusions_next}", "dim"))
    return Group(*lines)


def _left_out(answer: Counterfactual) -> str:
    names = first_names([*answer.without_source_ids, *answer.without_principals])
    told = [*([names] if names else []), *(["attested eliminations"] if answer.without_attested else [])]
    return " and ".join(told) or "nothing"


def _because(justification: dict[str, Any]) -> str:
    text = justification.get("because")
    return visible(text) if isinstance(text, str) else json_text(justification)


def _fell(eliminated: list[str]) -> Text:
    text = Text.assemble((f"{len(eliminated)} fell", "red" if eliminated else "dim"))
    return text.append(f": {first_names(eliminated)}" if eliminated else "")


def _eliminated(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    source = f"  {visible(payload['source_id'])} on {visible(payload['observation_id'])}"
    label = f", {delta['label']}" if "label" in delta else ""
    return _fell(delta["eliminated"]).append(f"{source}{label}", "dim")


def _ruled(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    granted = delta.get("approved", delta.get("accepted"))
    about = visible(str(delta.get("obligation_id") or delta.get("conclusion_id") or ""))
    verdict = ("granted ", "green") if granted else ("refused ", "bold red")
    return Text.assemble(verdict, f"{about}: " if about else "", (visible(delta["reason"]), "dim"))


def _refused(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    told, operation = delta["details"], delta["details"].get("operation")
    where = "" if operation is None else f" ({operation} at {visible(str(told.get('path', '$')))})"
    return Text.assemble(("refused ", "bold red"), f"{delta['code']}: {visible(delta['message'])}{where}")


def _reasons(payload: dict[str, Any], _: dict[str, Any]) -> list[Text]:
    said = payload.get("justification")
    return [Text.assemble(("because ", "dim"), _because(said))] if said else []


DETAILS: dict[str, EventDetails] = {"eliminated": _reasons}
EVENTS: dict[str, EventWords] = {
    "declared": lambda payload, _: Text(f"{len(payload['hypotheses'])} hypotheses"),
    "eliminated": _eliminated,
    "merged": lambda payload, delta: _fell(delta["eliminated"]).append(
        f"  (replica at event {payload['replica_head']['seq']})", "dim"
    ),
    "obligation_entered": lambda _, delta: Text(
        f"{visible(delta['obligation_id'])}: {delta['min_total_eliminations']} eliminations first"
    ),
    "exit_ruled": _ruled,
    "conclusion_ruled": _ruled,
    "termination_ruled": _ruled,
    "refused": _refused,
}
