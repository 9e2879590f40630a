"""Catalogues drawn for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, names, view
from beliefd.protocol.catalogues import CatalogueView, OfferedTools, WaitingTool


@view.register
def offered(answer: OfferedTools) -> RenderableType:
    gone = [Text(f"gone: {names(answer.gone)}", "dim")] if answer.gone else []
    return Group(
        Text(f"{answer.upstream}: {len(answer.pinned)} tools pinned"), *map(_waits, answer.waiting), *gone
    )


@view.register
def catalogue(answer: CatalogueView) -> RenderableType:
    lines = [Text(f"{visible(one.name)}  {one.tier}  {one.definition_hash[:12]}") for one in answer.tools]
    return Group(*lines, *map(_waits, answer.waiting))


def _waits(one: WaitingTool) -> Text:
    return Text(f"{visible(one.name)} is {one.what}: {one.approval_id}", "yellow")


def _pinned(_: Any, delta: Any) -> Text:
    told = [("pinned", [one["tool"]["name"] for one in delta["pinned"]])]
    told += [("asks about", [one["name"] for one in delta["offers"]]), ("as pinned again", delta["restored"])]
    return Text("; ".join(f"{what} {names(which)}" for what, which in told if which))


EVENTS: dict[str, EventWords] = {"tools_pinned": _pinned}
