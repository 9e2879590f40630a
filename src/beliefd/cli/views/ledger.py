"""Ledgers drawn for people: verified, taken in, replayed."""

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import view
from beliefd.protocol.ledger import Imported, Verified


@view.register
def imported(answer: Imported) -> RenderableType:
    return Group(Text(f"took in {answer.events} verified events", "green"), view(answer.snapshot))


@view.register
def verified(answer: Verified) -> Text:
    if answer.first_bad is None:
        head = answer.head.hash[:16] if answer.head else "-"
        return Text.assemble(
            ("verified", "green"),
            f": {answer.checked} events, head {head}",
            (_parts(answer.withheld, answer.erased, answer.absent), "dim"),
        )
    bad = answer.first_bad
    return Text.assemble(
        ("broken", "bold red"),
        f": event {bad.seq} ({visible(bad.event_id or 'missing')}): {visible(bad.reason)}",
        (f"; the {answer.checked} before it hold", "dim"),
    )


def _parts(withheld: int, erased: int, absent: int) -> str:
    """What became of what events withhold, if they withhold anything."""
    if not withheld:
        return ""
    rest = f", {absent} not here" if absent else ""
    return f"; {withheld} parts withheld, {erased} erased{rest}"


def covering(answer: Verified, told: dict[str, Any] | None) -> RenderableType:
    """What a checkpoint covers of a ledger, in a file or as a server gave it."""
    if told is None:
        return verified(answer)
    by = f" by the checkpoint of size {told['size']} of {visible(told['origin'])}"
    rest, anchored = told["not_covered"], told.get("anchored")
    where = "in the file" if anchored is None else "in the session"
    later = f"{rest} more {where} {'is' if rest == 1 else 'are'} not covered"
    all_of_it = f"these are all events {where.replace('in', 'of', 1)}"
    return Group(
        verified(answer),
        Text.assemble((f"events 1 to {told['covered']} are covered", "green"), by),
        *(Text(f"cosigned by {visible(one['witness'])} at {one['time']}") for one in told["cosigned"]),
        Text(later, "yellow") if rest else Text(all_of_it, "dim"),
        *(_unseen(told["session_id"]) if anchored is None else (_anchored(one) for one in anchored)),
    )


def _unseen(session_id: str) -> Iterable[Text]:
    yield Text("whether the session has more events than the file cannot be seen from it", "dim")
    yield Text("to find out, use `--expect-head` with a head that you kept, or ask the server:", "dim")
    yield Text(f"  beliefd log prove {visible(session_id)}", "dim")


def _anchored(one: dict[str, Any]) -> Text:
    by = f"by the checkpoint of size {one['size']} that is anchored at {visible(one['place'])}"
    if one["covered"]:
        return Text(f"events 1 to {one['covered']} are covered {by}")
    return Text(f"no event is covered by what is anchored at {visible(one['place'])}", "yellow")


def replayed(answer: dict[str, Any]) -> RenderableType:
    verdict = ("same state", "green") if answer["same"] else ("another state", "bold red")
    return Group(
        Text.assemble(
            f"{answer['events']} events folded and decided again: ",
            verdict,
            (_parts(answer["withheld"], answer["erased"], answer["absent"]), "dim"),
        ),
        Text.assemble(("state ", "dim"), answer["state_hash"]),
        *([_without_speculation(answer)] if answer["speculative_records"] else []),
        view(answer["snapshot"]),
    )


def _without_speculation(answer: dict[str, Any]) -> Text:
    verdict = ("the same", "green") if answer["same_without"] else ("another", "bold red")
    return Text.assemble(
        f"without its {answer['speculative_records']} speculative records the grounded state is ",
        verdict,
        (f": {answer['grounded_hash']}", "dim"),
    )
