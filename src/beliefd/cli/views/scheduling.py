"""Modes, interrupts and episodes drawn for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, first_names, view
from beliefd.kernel.values import shown_time
from beliefd.protocol.scheduling import InterruptAnswer, ScheduleAnswer, ScheduleView


@view.register
def schedule(answer: ScheduleView) -> RenderableType:
    off = [
        name
        for name, on in (("network", answer.network), ("calls that change things", answer.mutating))
        if not on
    ]
    share = f"{answer.budget_share:g} of every budget"
    lines = [Text.assemble(("mode ", "dim"), (answer.mode, "bold"), f"  {', '.join([share, *_off(off)])}")]
    if (given := answer.set_mode) is not None:
        ends = "" if given.until is None else f", until {shown_time(given.until)}"
        lines.append(Text(f"set to {given.mode} by {visible(given.by)}{ends}: {visible(given.reason)}"))
    if (lowered := answer.lowered) is not None:
        lines.append(
            Text(f"lowered by {visible(lowered.by)} since {lowered.since}: {visible(lowered.reason)}")
        )
    if (held := answer.interruption) is not None:
        ends = "" if held.until is None else f", until {shown_time(held.until)}"
        told = f" ({held.kind}) by {visible(held.by)} since {held.at}{ends}: {visible(held.reason)}"
        lines.append(Text.assemble(("interrupted", "bold yellow"), told))
    if (episode := answer.episode) is not None:
        lines.append(Text(f"episode since {episode.since}"))
        lines += [
            Text(f"   {name} {episode.used[name]:g} of {limit}") for name, limit in episode.limits.items()
        ]
    return Group(*lines)


def _off(names: list[str]) -> list[str]:
    return [f"no {name}" for name in names]


@view.register
def changed(answer: ScheduleAnswer) -> RenderableType:
    return schedule(answer.schedule)


@view.register
def interrupted(answer: InterruptAnswer) -> RenderableType:
    if not answer.interrupted:
        return Group(Text(f"noted, and not interrupted: {visible(answer.why)}"), schedule(answer.schedule))
    told = [
        Text(f"{word}: {first_names(names)}", style)
        for word, names, style in (
            ("stopped before they began", answer.stopped, ""),
            ("cancelled", answer.cancelled, ""),
            ("their callers run these, and only they can stop them", answer.elsewhere, "yellow"),
        )
        if names
    ]
    return Group(schedule(answer.schedule), *told)


def _mode_set(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    until = (delta["set_mode"] or {}).get("until")
    ends = "" if until is None else f" until {visible(shown_time(until))}"
    return Text(f"{visible(payload['mode'])}{ends}: {visible(payload['reason'])}")


def _interrupted(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    held = delta["interruption"]
    counts = [(len(delta[name]), name) for name in ("stopped", "cancelled", "elsewhere")]
    more = "".join(f", {count} {name}" for count, name in counts if count)
    return Text.assemble(
        ("interrupted", "bold yellow"), f" ({held['kind']}{more}): {visible(held['reason'])}"
    )


def _signal_noted(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    return Text(f"{delta['signal']} noted: {visible(delta['message'])}")


def _resumed(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    return Text(f"resumed after {delta['ended']['kind']}: {visible(payload['reason'])}")


EVENTS: dict[str, EventWords] = {
    "mode_set": _mode_set,
    "interrupted": _interrupted,
    "signal_noted": _signal_noted,
    "resumed": _resumed,
}
