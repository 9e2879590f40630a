"""Draw the panel of simulated experiments: `python -m scripts.panel_picture < panel.json > panel.svg`."""

import sys
from typing import Final

import msgspec

from beliefd.experiments.panel.results import Line, Panel

LEFT, WIDTH, GAP, TOP, ROW = 170, 330, 60, 64, 30
SHADES: Final = ("#9ecae1", "#6baed6", "#3182bd", "#08519c", "#08306b")
FONT: Final = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
MOST: Final = 0.05
"""The right end of the scale of false support."""
SHOWN: Final = 2.0
"""The distance of true claims that is drawn, in standard deviations."""


def picture(found: Panel) -> str:
    names = list(dict.fromkeys(line.template for line in found.lines))
    sizes = sorted({line.n for line in found.lines})
    bottom = TOP + ROW * len(names)
    right = LEFT + WIDTH + GAP
    parts = [
        _text(LEFT, 24, f"false support, the worst of {found.families} families (alpha {found.alpha:g})"),
        _text(right, 24, f"support of what is true by {SHOWN:g} sd"),
        *_scale(LEFT, bottom, [0, found.alpha, MOST], MOST),
        *_scale(right, bottom, [0, 0.5, 1], 1.0),
        _line(LEFT + WIDTH * found.alpha / MOST, TOP - 14, bottom, "#cb181d"),
        *_legend(sizes),
    ]
    for place, name in enumerate(names):
        middle = TOP + ROW * place
        parts.append(_text(LEFT - 12, middle + 4, name, "end"))
        parts += [_line_across(start, middle) for start in (LEFT, right)]
        for line in (one for one in found.lines if one.template == name):
            parts += _dots(line, found, middle, right, sizes)
    height = bottom + 60
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + WIDTH + 30} {height}" role="img" '
        f'font-family="{FONT}" font-size="12">'
    )
    return "\n".join([head, "<title>False support and power of every template</title>", *parts, "</svg>", ""])


def _dots(line: Line, found: Panel, middle: float, right: float, sizes: list[int]) -> list[str]:
    power = dict(zip(found.distances, line.power, strict=True))[SHOWN]
    shade = SHADES[sizes.index(line.n) % len(SHADES)]
    wrong = min(line.false_support, MOST) / MOST
    told = f"{line.template}, n = {line.n}: false support {line.false_support:.3f}, power {power:.2f}"
    places = (LEFT + WIDTH * wrong, right + WIDTH * power)
    about = f'r="5" fill="{shade}"><title>{told}</title></circle>'
    return [f'<circle cx="{x:.1f}" cy="{middle}" {about}' for x in places]


def _scale(start: float, bottom: float, marks: list[float], most: float) -> list[str]:
    return [_text(start + WIDTH * mark / most, bottom + 12, f"{mark:g}", "middle") for mark in marks]


def _legend(sizes: list[int]) -> list[str]:
    return [
        part
        for place, n in enumerate(sizes)
        for part in (
            f'<circle cx="{LEFT + 5 + 80 * place}" cy="40" r="5" fill="{SHADES[place % len(SHADES)]}"/>',
            _text(LEFT + 16 + 80 * place, 44, f"n = {n}"),
        )
    ]


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222">{words}</text>'


def _line(x: float, top: float, bottom: float, colour: str) -> str:
    return f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom - 12:.1f}" stroke="{colour}"/>'


def _line_across(start: float, y: float) -> str:
    return f'<line x1="{start}" y1="{y}" x2="{start + WIDTH}" y2="{y}" stroke="#ddd"/>'


if __name__ == "__main__":
    sys.stdout.write(picture(msgspec.json.decode(sys.stdin.buffer.read(), type=Panel)))
