"""Context drawn for people: who told what, without its text."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, page, view
from beliefd.cli.views.observations import LABEL_STYLE
from beliefd.protocol.context import ContextAnswer, ContextPage, ContextView, JoinAnswer

DIGITS = 16


@view.register
def told(answer: ContextAnswer) -> RenderableType:
    return Text.assemble((answer.context_id, "bold"), f"  event {answer.seq}")


@view.register
def join(answer: JoinAnswer) -> RenderableType:
    return Text(visible(answer.session_id))


@view.register
def context(found: ContextPage) -> RenderableType:
    return page([_line(one) for one in found.items], found.next, "nothing was told")


def _line(one: ContextView) -> Text:
    gone = () if one.kept else ("  erased: it counts as untrusted", "bold red")
    where = "in the ledger" if one.content is None else f"{one.size} bytes {one.content[:DIGITS]}"
    return Text.assemble(
        (f"{one.number}", "bold"),
        f"  {_named(one.kind, one.tool_id)}  ",
        (one.label, LABEL_STYLE[one.label]),
        f"  by {visible(one.told_by)}  {where}",
        gone or "",
    )


def _named(kind: str, tool_id: str | None) -> str:
    return kind if tool_id is None else f"{kind} of {visible(tool_id)}"


def _added(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    item = delta["item"]
    if item["kind"] == "announcement":
        return Text(f"a call is announced: {visible(item['join_key'])}")
    return Text.assemble(
        f"{_named(item['kind'], item['tool_id'])}, {item['size']} bytes  ",
        (item["label"], LABEL_STYLE[item["label"]]),
    )


EVENTS: dict[str, EventWords] = {"context_added": _added}
