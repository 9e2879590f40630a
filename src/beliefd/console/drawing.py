"""Pictures, drawn by the server: a browser needs no script for them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape
from msgspec import Struct

from beliefd.protocol.experiments import DataPicture

WIDTH: Final = 960
HEIGHT: Final = 200
LEFT: Final = 44
PAD: Final = 14
DOTS: Final = 100
"""More steps than this are a line without dots."""
BARS: Final = 120


class Step(Struct, frozen=True):
    """An event after which fewer hypotheses were left. `place` is where it can be looked at."""

    seq: int
    verb: str
    actor: str
    gone: int
    place: str = ""


def collapse(universe: int, taken: Sequence[Step], stood: int) -> Markup:
    """How many hypotheses were left after each event, of those that `stood` before them; every step says who
    caused it."""
    if universe <= 1 or not taken:
        return Markup("")
    left, counts = stood, [stood]
    for step in taken:
        left -= step.gone
        counts.append(left)
    across = (WIDTH - LEFT - PAD) / (len(counts) - 1)
    down = (HEIGHT - 2 * PAD) / universe
    points = [(LEFT + at * across, PAD + (universe - count) * down) for at, count in enumerate(counts)]
    stairs = [points[0]]
    for (_, before), (x, y) in pairwise(points):
        stairs += [(x, before), (x, y)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in stairs)
    floor = HEIGHT - PAD
    dots = Markup("").join(map(_dot, taken, points[1:], counts[1:])) if len(taken) <= DOTS else Markup("")
    return Markup(
        '<svg class="collapse" viewBox="0 0 {w} {h}" role="group" aria-label="{label}">'
        '<polygon class="area" points="{line} {right:.1f},{floor} {left},{floor}"/>'
        '<line class="axis" x1="{left}" x2="{w}" y1="{floor}" y2="{floor}"/>'
        '<text x="{end}" y="{top}" text-anchor="end">{universe}</text>'
        '<text x="{end}" y="{floor}" text-anchor="end">0</text>'
        '<polyline points="{line}"/>{dots}</svg>'
    ).format(
        w=WIDTH,
        h=HEIGHT,
        label=f"{universe} hypotheses, {counts[-1]} left",
        line=line,
        right=points[-1][0],
        floor=floor,
        left=LEFT,
        end=LEFT - 8,
        top=PAD + 4,
        universe=universe,
        dots=dots,
    )


def _dot(step: Step, point: tuple[float, float], left: int) -> Markup:
    words = f"#{step.seq} {step.verb} by {step.actor}: {step.gone} gone, {left} left"
    made = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>').format(
        *point, escape(words)
    )
    if not step.place:
        return made
    return Markup('<a href="{}" aria-label="{}">{}</a>').format(step.place, words, made)


def histogram(picture: DataPicture) -> Markup:
    """Data against what is predicted of them: bars, the region that would bear it out, and the mean."""
    counts = picture.counts[:BARS]
    ends = [one for one in (picture.region_low, picture.region_high) if one is not None]
    low, high = min([picture.low, *ends]), max([picture.high, *ends])
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return LEFT + (value - low) / span * (WIDTH - LEFT - PAD)

    floor, tallest = HEIGHT - 24, max([*counts, 1])
    wide = (x(picture.high) - x(picture.low)) / max(len(counts), 1)
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>').format(
            x(picture.low) + at * wide,
            floor - (tall := count / tallest * (floor - PAD)),
            max(wide - 1, 1),
            tall,
            count,
        )
        for at, count in enumerate(counts)
    )
    first = x(low if picture.region_low is None else picture.region_low)
    last = x(high if picture.region_high is None else picture.region_high)
    return Markup(
        '<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<rect class="region" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>{}'
        '<line class="mean" x1="{:.1f}" x2="{:.1f}" y1="0" y2="{}"/>'
        '<text x="{}" y="{}">{:.6g}</text><text x="{}" y="{}" text-anchor="end">{:.6g}</text></svg>'
    ).format(
        WIDTH,
        HEIGHT,
        f"data from {picture.low:.6g} to {picture.high:.6g}, mean {picture.mean:.6g}, against the prediction",
        first,
        max(last - first, 2),
        floor,
        bars,
        x(picture.mean),
        x(picture.mean),
        floor,
        LEFT,
        HEIGHT - 6,
        low,
        WIDTH - PAD,
        HEIGHT - 6,
        high,
    )
