"""Content drawn for people: what is known of it, never what is in it."""

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import view
from beliefd.kernel.values import shown_time
from beliefd.protocol.content import ContentView, StoredContent


@view.register
def stored(answer: StoredContent) -> RenderableType:
    return Text.assemble((answer.sha256, "bold"), f"  {answer.size} bytes")


@view.register
def content(answer: ContentView) -> RenderableType:
    brought = [Text(f"  brought by {visible(one.id)} ({one.role}) at {one.at}") for one in answer.brought]
    return Group(
        Text.assemble((answer.sha256, "bold"), f"  {answer.size} bytes"),
        *(brought or [Text("  nobody is known to have brought it", "dim")]),
        Text(f"  last brought at {shown_time(answer.touched_at)}", "dim"),
    )
