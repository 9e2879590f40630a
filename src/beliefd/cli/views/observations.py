"""Observations drawn for people: they always show whether somebody has witnessed them."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, page, view
from beliefd.protocol.observations import ObservationPage, ObservationView
from beliefd.protocol.observed import counted

LABEL_STYLE = {"witnessed": "bold green", "attested": "bold yellow"}
SHOWN = 20


@view.register
def observation(answer: ObservationView) -> RenderableType:
    shown = ", ".join(f"{value:g}" for value in answer.values[:SHOWN])
    more = f" and {answer.count - SHOWN} more" if answer.count > SHOWN else ""
    return Group(
        _headline(answer),
        Text(visible(answer.where)),
        *([Text(f"{shown}{more}")] if answer.values else []),
        Text.assemble(("digest ", "dim"), answer.digest),
    )


@view.register
def observations(found: ObservationPage) -> RenderableType:
    return page([_headline(one) for one in found.observations], found.next, "nothing was observed")


def _headline(one: ObservationView) -> Text:
    unit = "" if one.unit == "1" else f" {one.unit}"
    return Text.assemble(
        (one.observation_id, "bold"),
        f"  {visible(one.quantity)}  ",
        (one.label, LABEL_STYLE[one.label]),
        f"  {counted(one.count)} from {one.low:g} to {one.high:g}{unit}",
    )


def _observed(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    one = delta["observation"]
    return Text.assemble(
        f"{counted(one['count'])} of {visible(one['quantity'])}  ", (one["label"], LABEL_STYLE[one["label"]])
    )


EVENTS: dict[str, EventWords] = {"observed": _observed}
