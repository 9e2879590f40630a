"""Pictures, drawn by the server: a browser needs no script for them."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape
from msgspec import Struct

WIDTH: Final = 720
HEIGHT: Final = 160
PAD: Final = 8
DOTS: Final = 200
"""More steps than this are a line without dots."""


class Step(Struct, frozen=True):
    """An event after which fewer hypotheses were left."""

    seq: int
    verb: str
    actor: str
    gone: int


def collapse(universe: int, taken: Sequence[Step]) -> Markup:
    """How many hypotheses were left after each event; every step says who caused it."""
    left, steps = universe, [(universe, "the session began")]
    for step in taken:
        left -= step.gone
        steps.append((left, f"#{step.seq} {step.verb} by {step.actor}: {left} left"))
    if universe <= 1 or len(steps) < 2:
        return Markup("")
    across = (WIDTH - 2 * PAD) / (len(steps) - 1)
    down = (HEIGHT - 2 * PAD) / universe
    points = [(PAD + at * across, PAD + (universe - count) * down) for at, (count, _) in enumerate(steps)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = Markup("").join(
        Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>').format(x, y, escape(words))
        for (x, y), (_, words) in zip(points, steps, strict=True)
        if len(steps) <= DOTS
    )
    return Markup(
        '<svg class="collapse" viewBox="0 0 {} {}" role="img" aria-label="{}"><polyline points="{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, f"{universe} hypotheses, {steps[-1][0]} left", line, dots)
