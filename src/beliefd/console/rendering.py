"""Templates and what they call. INVARIANT: what others said is escaped, and what is invisible is shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context, select_autoescape
from jinja2.runtime import Context
from markupsafe import Markup, escape

from beliefd.kernel.values import seconds
from beliefd.protocol.headlines import GATE_WORDS, NOT_COMPARED, way_out, why_it_waits
from beliefd.protocol.visible import visible, visible_json, visible_lines

T = TypeVar("T")
SHOWN: Final = 20_000
"""Characters of one text on a page. What is longer is cut, and the page says so."""
ROOM: Final = 100_000
"""Bytes that long texts of others take on one page, all together: it has to stay under 200 KB. What finds no
room is cut likewise."""
SHORT: Final = 160
"""Characters. INVARIANT: what is short finds room always: no long text hides what a gate says."""
HEADLINE: Final = 160
FIRST: Final = 48
"""So much of a headline is there on a page that is full."""
BRIEF: Final = 20
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
    filters = (text, coded, headline, brief, data, few, age, moment, size, plain)
    made.filters |= {one.__name__: one for one in filters}
    made.globals["not_compared"] = NOT_COMPARED
    made.filters |= {"gate_words": GATE_WORDS.__getitem__, "way_out": way_out, "why_it_waits": why_it_waits}
    return made


class Room:
    """How much is left of a page for what others said."""

    def __init__(self, left: int) -> None:
        self.left = left

    def takes(self, written: str) -> bool:
        """Is there room for all of it?"""
        size = _size(escape(written))
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits

    def fit(self, written: str) -> tuple[Markup, bool]:
        """As much as there is room for, escaped, and whether that is less than all."""
        shown = escape(written)
        whole = True
        while (size := _size(shown)) > self.left and len(written) > SHORT:
            written, whole = written[: max(len(written) * self.left // (size + 1), SHORT)], False
            shown = escape(written)
        self.left = max(self.left - size, 0)
        return shown, whole


def _size(shown: Markup) -> int:
    """In bytes; every line of a text ends with a tag."""
    return len(shown.encode()) + 3 * shown.count("\n")


_room: ContextVar[Room | None] = ContextVar("room", default=None)


def page(name: str, values: Mapping[str, Any]) -> bytes:
    before = _room.set(Room(values.get("room", ROOM)))
    try:
        return templates().get_template(name).render(**values).encode()
    finally:
        _room.reset(before)


def _fitted(context: Context, written: str, *, whole: bool) -> Markup:
    """What there is room for; the page says so if that is not all."""
    shown, fits = (_room.get() or Room(ROOM)).fit(written)
    return shown if whole and fits else shown + _cut(context)


@pass_context
def text(context: Context, value: object) -> Markup:
    """Text of others, on lines of its own; every invisible sign in it is written out."""
    whole = str(value)
    lines = "\n".join(visible(line) for line in whole[:SHOWN].split("\n"))
    shown = _fitted(context, lines, whole=len(whole) <= SHOWN)
    return shown.replace("\n", Markup("<br>"))


@pass_context
def coded(context: Context, value: object) -> Markup:
    """Text in which words stand in backticks: those are shown as code."""
    parts = str(value)[:SHOWN].split("`")
    if len(parts) % 2 == 0:
        return text(context, value)
    shown = (_fitted(context, visible(one), whole=True) for one in parts)
    tag = Markup("<code>{}</code>")
    return Markup("").join(tag.format(one) if at % 2 else one for at, one in enumerate(shown))


def headline(value: object) -> str:
    """The beginning of a text, on one line."""
    begins = visible(" ".join(str(value)[: 4 * HEADLINE].split()))
    room, most = _room.get(), HEADLINE
    if room is not None and len(begins) > FIRST:
        most = HEADLINE if room.takes(begins[:HEADLINE]) else FIRST
    whole = len(begins) <= most and len(str(value)) <= 4 * HEADLINE
    return begins if whole else f"{begins[: most - 1]}…"


def brief(name: str) -> str:
    """A long id by its beginning and its end: two that were made at the same time begin alike."""
    shown = visible(name)
    return shown if len(shown) <= BRIEF else f"{shown[:8]}…{shown[-6:]}"


def plain(value: str) -> str:
    """What somebody edits: what they see is all there is in it."""
    return visible_lines(value)


@pass_context
def data(context: Context, value: object, most: int = SHOWN) -> Markup:
    """A value as JSON that a person reads, up to so many characters of it."""
    budget = Budget(most)
    # What is long is cut before it is written out: a page costs what it shows.
    written = written_out(budget.clipped(msgspec.to_builtins(value, str_keys=True)))
    return _fitted(context, written[:most], whole=budget.left >= 0 and len(written) <= most)


@pass_context
def few(context: Context, items: Sequence[T], most: int) -> Sequence[T]:
    """The first so many; if there are more, the page says so."""
    if len(items) > most:
        _cut(context)
    return items[:most]


def written_out(value: object) -> str:
    """All of it, with what is invisible written by its number."""
    return msgspec.json.format(visible_json(value), indent=2).decode()


class Budget:
    """So many characters of a value; what is past them is left out, and `left` is below zero then."""

    def __init__(self, left: int) -> None:
        self.left = left

    def clipped(self, value: Any) -> Any:
        if isinstance(value, str):
            shown = value[: max(self.left, 0)]
            self.left -= len(value) + 1
            return shown
        if isinstance(value, dict):
            return {self.clipped(key): self.clipped(one) for key, one in self._while_any(value.items())}
        if isinstance(value, list | tuple):
            return [self.clipped(one) for one in self._while_any(value)]
        self.left -= 1
        return value

    def _while_any(self, values: Iterable[T]) -> Iterator[T]:
        for one in values:
            if self.left < 0:
                return
            self.left -= 1
            yield one


def _cut(context: Context) -> Markup:
    """Says that something is missing here, and lets the page say so elsewhere (`cuts`)."""
    cuts = context.get("cuts")
    if cuts is not None:
        cuts.append(True)
    return Markup(" <em>… cut here</em>")


def age(then: str, now: str) -> str:
    """How long ago, or how long until."""
    passed = int(seconds(now) - seconds(then))
    for step, word in STEPS:
        if abs(passed) >= step:
            return f"{abs(passed) // step} {word}"
    return f"{abs(passed)} s"


def moment(when: str) -> Markup:
    shown = when.replace("T", " ").partition(".")[0]
    return Markup('<time datetime="{}">{} UTC</time>').format(when, shown.removesuffix("Z"))


def size(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
