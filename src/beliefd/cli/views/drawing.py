"""What all views share: the view of an answer by its type, and small pieces of text."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible

EventWords = Callable[[dict[str, Any], dict[str, Any]], Text]
"""What an event says, by the payload and the delta of its entry."""
BAR = 30


@singledispatch
def view(answer: Any) -> RenderableType:
    """The answer drawn for people. What is not known yet may be drawn by a view that nobody has imported."""
    from beliefd.cli.views import modules

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


def first_names(ids: Sequence[str], limit: int = 8, count: int | None = None) -> str:
    """The first few; `count` is how many there are, if not all of them are given."""
    more = (len(ids) if count is None else count) - limit
    return names(ids[:limit]) + (f" and {more} more" if more > 0 else "")


def json_text(value: Any) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def page(lines: Sequence[RenderableType], after: str | None, nothing: str) -> RenderableType:
    """Lines, and how to get those that follow."""
    if not lines:
        return Text(nothing, "dim")
    return Group(*lines, *([Text(f"more: --cursor {visible(after)}", "dim")] if after else []))
