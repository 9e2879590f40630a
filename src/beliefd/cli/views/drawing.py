"""What all views share: the view of an answer by its type, and small pieces of text."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import singledispatch
from importlib import import_module
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible

EventWords = Callable[[dict[str, Any], dict[str, Any]], Text]
"""What an event says, by the payload and the delta of its entry."""
EventDetails = Callable[[dict[str, Any], dict[str, Any]], list[Text]]
"""What stands below that, a line each."""
BAR = 30
TOLD = 80
TIER_STYLE = {
    "READ_ONLY": "dim",
    "WRITE_LIMITED": "cyan",
    "MODIFY": "yellow",
    "DELETE": "bold red",
    "PRIVILEGE": "bold magenta",
}
"""The same everywhere: what can do more harm is seen first."""


@singledispatch
def view(answer: Any) -> RenderableType:
    """The answer drawn for people. What is not known yet may be drawn by a view that nobody has imported."""
    from beliefd.cli.views import modules

    # Views are named after the modules of the answers that they draw: most often one import is enough.
    with suppress(ModuleNotFoundError):
        import_module(f"{__package__}.{type(answer).__module__.rpartition('.')[2]}")
    if view.dispatch(type(answer)) is view.dispatch(object):
        modules()
    known = view.dispatch(type(answer))
    if known is view.dispatch(object):
        raise NotImplementedError(f"no view of {type(answer).__name__}")
    return known(answer)


def bar(done: int, total: int, width: int = BAR) -> str:
    filled = round(width * done / total) if total else 0
    return "█" * filled + "░" * (width - filled)


def names(ids: Iterable[str]) -> str:
    return ", ".join(map(visible, ids))


def age(since: str, now: datetime | None = None) -> str:
    """How long ago, in its largest unit."""
    passed = (now or datetime.now(UTC)) - datetime.fromisoformat(since)
    seconds = max(0, int(passed.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def first_names(ids: Sequence[str], limit: int = 8, count: int | None = None) -> str:
    """The first few; `count` is how many there are, if not all of them are given."""
    more = (len(ids) if count is None else count) - limit
    return names(ids[:limit]) + (f" and {more} more" if more > 0 else "")


def json_text(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def one_line(text: str) -> str:
    """What something is about, as long as a line has room for it."""
    return cut(visible(text))


def cut(shown: str) -> str:
    """The beginning of what is too long for a line; that there is more is to be seen."""
    return shown if len(shown) <= TOLD else f"{shown[: TOLD - 1]}…"


def page(lines: Sequence[RenderableType], after: str | None, nothing: str) -> RenderableType:
    """Lines, and how to get those that follow."""
    if not lines:
        return Text(nothing, "dim")
    return Group(*lines, *([Text(f"more: --cursor {visible(after)}", "dim")] if after else []))
