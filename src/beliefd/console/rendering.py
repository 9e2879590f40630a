"""Templates and what they call. INVARIANT: what others said is escaped, and what is invisible is shown."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from beliefd.kernel.values import Tier, seconds
from beliefd.protocol.visible import visible, visible_json, visible_lines

SHOWN: Final = 20_000
"""Characters of one text on a page. What is longer is cut, and the page says so."""
STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


@cache
def templates() -> Environment:
    made = Environment(
        loader=PackageLoader("beliefd.console"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"text": text, "data": data, "age": age, "moment": moment, "size": size, "plain": plain}
    return made


def page(name: str, values: Mapping[str, Any]) -> bytes:
    return templates().get_template(name).render(**values).encode()


def text(value: object) -> Markup:
    """Text of others, on lines of its own; every invisible sign in it is written out."""
    lines = str(value)[:SHOWN].split("\n")
    cut = Markup(" <em>… cut here</em>") if len(str(value)) > SHOWN else Markup("")
    return Markup("<br>").join(escape(visible(line)) for line in lines) + cut


def plain(value: str) -> str:
    """What somebody edits: what they see is all there is in it."""
    return visible_lines(value)


def data(value: object) -> Markup:
    """A value as JSON that a person reads."""
    written = msgspec.json.format(visible_json(value), indent=2).decode()
    cut = Markup("\n<em>… cut here</em>") if len(written) > SHOWN else Markup("")
    return escape(written[:SHOWN]) + cut


def age(then: str, now: str) -> str:
    """How long ago, or how long until."""
    passed = int(seconds(now) - seconds(then))
    for step, word in STEPS:
        if abs(passed) >= step:
            return f"{abs(passed) // step} {word}"
    return f"{abs(passed)} s"


def moment(when: str) -> Markup:
    shown = when.replace("T", " ").partition(".")[0]
    return Markup('<time datetime="{}">{}</time>').format(when, shown.removesuffix("Z"))


def size(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def risk(tier: str) -> int:
    return int(Tier[tier])
