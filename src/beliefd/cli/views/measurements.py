"""Receipts of measurements drawn for people: they always show whose answers were compared."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, one_line, page, view
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.protocol.measurements import MeasurementPage, MeasurementView


@view.register
def measurement(answer: MeasurementView) -> RenderableType:
    return Group(*measurement_lines(answer))


def measurement_lines(answer: MeasurementView) -> list[Text]:
    asked = [Text.assemble(("  asked ", "dim"), visible(answer.question))] if answer.question else []
    return [
        _headline(answer),
        Text.assemble(("  of ", "dim"), visible(answer.statement)),
        Text(f"  {visible(answer.how)}; {visible(answer.interpretation)}", "dim"),
        *asked,
        *(Text(f"    {visible(one)}", "dim") for one in answer.numbers),
        *(Text(f"    {place}. {visible(one.strip())}") for place, one in enumerate(answer.answers, 1)),
    ]


@view.register
def measurements(found: MeasurementPage) -> RenderableType:
    lines = [_headline(one).append(f"  {one_line(one.statement)}", "dim") for one in found.measurements]
    return page(lines, found.next, "nothing was measured")


def _headline(one: MeasurementView) -> Text:
    return Text.assemble(
        (one.measurement_id, "bold"), f"  {one.method} {one.value:g}  ", (one.label, LABEL_STYLE[one.label])
    )


def _measured(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    one = delta["measurement"]
    return Text(f"{one['method']} {one['value']:g} over {one.get('k', 0)} answers")


EVENTS: dict[str, EventWords] = {"measured": _measured}
