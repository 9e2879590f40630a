"""A picture of what a status rests on: columns from the status on the left to the bytes on the right."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup
from msgspec import Struct

from beliefd.protocol.visible import visible

COLUMN: Final = 190
ROW: Final = 58
WIDE: Final = 164
TALL: Final = 44
LETTERS: Final = 24
MOST: Final = 120


class Node(Struct, frozen=True):
    """A box: in which column, what it is, what it says, what rests on it, and where it leads."""

    name: str
    column: int
    kind: str
    words: str
    below: str
    place: str = ""
    mark: str = ""


def lineage(nodes: Sequence[Node]) -> Markup:
    """Every box is joined to the one that rests on it."""
    nodes = nodes[:MOST]
    if len(nodes) < 2:
        return Markup("")
    spots: dict[str, tuple[int, int]] = {}
    rows: dict[int, int] = {}
    for one in nodes:
        # A box stands no higher than the one that rests on it, so that lines do not run back; and below all
        # that stand between the two, so that it does not seem to rest on them.
        column, least = spots.get(one.below, (one.column - 1, 0))
        row = max([least, *(rows.get(at, 0) for at in range(column + 1, one.column + 1))])
        spots[one.name] = (one.column, row)
        rows |= dict.fromkeys(range(column + 1, one.column + 1), row + 1)
    wide = COLUMN * (max(column for column, _ in spots.values()) + 1)
    tall = ROW * max(rows.values())
    lines = Markup("").join(_line(spots[one.below], spots[one.name]) for one in nodes if one.below in spots)
    boxes = Markup("").join(_box(one, spots[one.name]) for one in nodes)
    label = "; ".join(f"{one.kind}: {one.words}" for one in nodes[:20])
    return Markup('<svg class="lineage" viewBox="0 0 {} {}" role="group" aria-label="{}">{}{}</svg>').format(
        wide, tall, visible(label), lines, boxes
    )


def _line(start: tuple[int, int], end: tuple[int, int]) -> Markup:
    x, y = start[0] * COLUMN + WIDE, start[1] * ROW + TALL // 2
    to_x, to_y = end[0] * COLUMN, end[1] * ROW + TALL // 2
    middle = (x + to_x) // 2
    return Markup('<path d="M{} {}C{} {} {} {} {} {}"/>').format(x, y, middle, y, middle, to_y, to_x, to_y)


def _box(one: Node, spot: tuple[int, int]) -> Markup:
    x, y = spot[0] * COLUMN, spot[1] * ROW
    made = Markup(
        '<g class="{}"><title>{}</title><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<text class="kind" x="{}" y="{}">{}</text><text x="{}" y="{}">{}</text></g>'
    ).format(
        one.mark,
        visible(one.words),
        x + 1,
        y + 1,
        WIDE - 2,
        TALL - 2,
        x + 10,
        y + 18,
        _cut(one.kind),
        x + 10,
        y + 34,
        _cut(one.words),
    )
    return Markup('<a href="{}">{}</a>').format(one.place, made) if one.place else made


def _cut(words: str) -> str:
    shown = visible(words)
    return shown if len(shown) <= LETTERS else f"{shown[: LETTERS - 1]}…"
