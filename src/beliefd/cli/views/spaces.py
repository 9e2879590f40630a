"""Spaces drawn for people."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import view
from beliefd.protocol.spaces import SpaceList, SpaceView


@view.register
def space_made(answer: SpaceView) -> RenderableType:
    return Text(f"made space {visible(answer.name)}")


@view.register
def spaces_listed(answer: SpaceList) -> RenderableType:
    table = Table("space", "you may", "created", "by", box=None, pad_edge=False)
    for one in answer.spaces:
        cells = (one.name, ", ".join(one.rights), one.created_at or "-", one.created_by or "-")
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table
