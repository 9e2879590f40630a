"""How answers and events look to people: each module draws one vocabulary, or one kind of thing in it.

A module registers what it draws with `view.register`, and its `EVENTS` are the words that the timeline has
for each kind of event; its `DETAILS` are the lines below those words. Every text that came from outside goes
through `visible` first.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventDetails, EventWords


@cache
def modules() -> list[ModuleType]:
    return [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]


@cache
def event_words() -> dict[str, EventWords]:
    """What the timeline says, by the kind of event."""
    return {kind: words for module in modules() for kind, words in getattr(module, "EVENTS", {}).items()}


@cache
def event_details() -> dict[str, EventDetails]:
    """What stands below a line of the timeline, by the kind of event."""
    return {kind: told for module in modules() for kind, told in getattr(module, "DETAILS", {}).items()}


def details(entry: dict[str, Any]) -> list[Text]:
    """All that was asked for: claims, arguments, reasons in full."""
    delta = entry["delta"]
    told = event_details().get(delta["kind"])
    lines = [] if told is None else told(entry["payload"], delta)
    return [Text.assemble("        ", line) for line in lines]


def event(entry: dict[str, Any]) -> Text:
    """One line of the timeline: when, who, what was asked, and what became of it."""
    delta = entry["delta"]
    return Text.assemble(
        (f"#{entry['seq']:<5}", "dim"),
        (f"{visible(str(entry['ts']))[:23]}Z  ", "dim"),
        (f"{visible(str(entry['verb'])):<20} ", "bold"),
        f"{visible(str(entry['actor']['id']))}  ",
        event_words()[delta["kind"]](entry["payload"], delta),
        *([(f"  notes: {visible(entry['notes'])}", "dim")] if entry.get("notes") is not None else []),
    )
