"""Numbers with their units, brought to one scale: `1.5 km`, `1,500 metres` and `1500 m` are one quantity."""

import re
from collections.abc import Sequence
from typing import Final

from beliefd.uncertainty.equivalence.markers import COMPARED
from beliefd.uncertainty.equivalence.numbers import (
    AS_SHARES,
    FRACTIONS,
    ORDINALS,
    SCALES,
    SUFFIXES,
    TIMES,
    WORDS,
)
from beliefd.uncertainty.equivalence.units import CELSIUS, DEGREES, FAHRENHEIT, UNITS, WHOLE

Quantity = tuple[str, float]
"""A dimension (with a comparison before it: `≥time`) and a value in it."""
NUMBER: Final = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?$")
CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?$")
FRACTION: Final = "="
"""Before the value of `2/3`."""
ORDINAL: Final = "#"
"""Before the digits of `18th`: what is counted behind it is no unit."""
MOST_IN: Final = 1000
"""Beyond it, what stands behind `in` is a year."""
_ARTICLES: Final = ("a", "an")
BE: Final = frozenset({"is", "was", "are", "were", "for", "in", "of", "by", "to"})
_MEASURES: Final = UNITS.keys() | SCALES.keys()
_PER: Final = frozenset({"per"})
_HALF_DAYS: Final = {"am": 0, "pm": 12}
OPENING: Final = (
    WORDS.keys() | SCALES.keys() | FRACTIONS.keys() | TIMES.keys() | COMPARED.keys() | {"a", "an", "per"}
)
"""Words that a quantity can begin with."""
COUNTING: Final = WORDS.keys() | SCALES.keys() | FRACTIONS.keys() | TIMES.keys() | WHOLE | COMPARED.keys()


def number(token: str) -> float | None:
    """The value of a token that is a number, in digits or as a word."""
    if token in WORDS:
        return WORDS[token]
    if token[:1] == ORDINAL:
        token = token[1:]
    if NUMBER.match(token):
        return float(token.replace(",", "").replace("−", "-"))
    return None


class Counter:
    """Reads one list of tokens from left to right, and says at each place what is counted there."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens

    def _at(self, place: int) -> str:
        return self._tokens[place] if 0 <= place < len(self._tokens) else ""

    def at(self, place: int) -> tuple[Quantity, int] | None:
        """The quantity that begins at a place, and the place behind it."""
        token = self._at(place)
        if token in COMPARED:
            found = None if self._at(place + 1) in COMPARED else self.at(place + 1)
            return None if found is None else ((COMPARED[token] + found[0][0], found[0][1]), found[1])
        if token in TIMES:
            return ("times", TIMES[token]), place + 1
        if token in _ARTICLES:
            return self._article(place)
        if token in _PER and self._at(place + 1) in WHOLE:
            dimension, factor = UNITS[self._at(place + 1)]
            return (f"per {dimension}", factor), place + 2
        return self._clock(place) or self._counted(place)

    def _clock(self, place: int) -> tuple[Quantity, int] | None:
        """Minutes since midnight: 14:30, 2:30 pm, 9 am."""
        token, half = self._at(place), _HALF_DAYS.get(self._at(place + 1))
        face = CLOCK.match(token)
        if face is None and (half is None or not token.isdigit() or int(token) > 12):
            return None
        hours, minutes = (int(face[1]), int(face[2])) if face else (int(token), 0)
        if half is not None:
            hours = hours % 12 + half
        return ("clock", 60.0 * hours + minutes), place + (1 if half is None else 2)

    def _article(self, place: int) -> tuple[Quantity, int] | None:
        """`a minute` is one minute, `a third of` is a third; behind a number `a second` is `per second`."""
        then = self._at(place + 1)
        if then in AS_SHARES and (self._at(place + 2) == "of" or self._at(place - 1) == "by"):
            return ("share", _tidy(AS_SHARES[then])), place + 2
        if then in FRACTIONS or then in SCALES:
            return self._counted(place + 1)
        if then not in WHOLE or then in ("mile", "stone", "pound", "foot"):
            return None
        dimension, factor = UNITS[then]
        if self._is_rate(place):
            return (f"per {dimension}", factor), place + 2
        if self._at(place + 2) == "and" and self._at(place + 3) == "a" and self._at(place + 4) == "half":
            return (dimension, _tidy(1.5 * factor)), place + 5
        return (dimension, factor), place + 2

    def _is_rate(self, place: int) -> bool:
        """`10 requests a second`: a number, what is counted, and a unit."""
        if place < 2 or self._at(place - 1) in BE:
            return False
        return any(self._number(before)[0] is not None for before in (place - 2, place - 3) if before >= 0)

    def _counted(self, place: int) -> tuple[Quantity, int] | None:
        value, behind = self._number(place)
        if value is None:
            return None
        if self._at(behind) == "and" and self._at(behind + 1) == "a" and self._at(behind + 2) in FRACTIONS:
            value, behind = value + FRACTIONS[self._at(behind + 2)], behind + 3
        if (share := self._one_in(value, behind)) is not None:
            return share
        if self._is_part(place, behind):
            then = behind + (self._at(behind) in _ARTICLES and self._at(behind + 1) in _MEASURES)
            if self._at(then) in SCALES:
                return ("", _tidy(value * SCALES[self._at(then)])), then + 1
            if self._at(then) not in UNITS:
                return ("share", _tidy(value)), then
            behind = then
        first = self._at(place)
        return self._with_unit(value, behind, first in ORDINALS or first[:1] == ORDINAL)

    def _one_in(self, value: float, behind: int) -> tuple[Quantity, int] | None:
        """`One in four users` is a quarter of them; `one in 2019` and `one in two hours` are not shares."""
        if self._at(behind) != "in" or value < 1 or value % 1:
            return None
        whole, after = self._number(behind + 1)
        if whole is None or whole % 1 or not value < whole <= MOST_IN or self._at(after) in UNITS:
            return None
        return ("share", _tidy(value / whole)), after

    def _is_part(self, place: int, behind: int) -> bool:
        first, last = self._at(place), self._at(behind - 1)
        if first in FRACTIONS or last in FRACTIONS or first[:1] == FRACTION:
            return True
        return behind - 1 > place and last in AS_SHARES

    def _with_unit(self, value: float, behind: int, ordinal: bool) -> tuple[Quantity, int]:
        if self._at(behind) in ("times", "time") and not ordinal:
            return ("", value), behind + 1
        if self._at(behind) in ("x", "fold") and not ordinal:
            return ("times", value), behind + 1
        unit = self._at(behind)
        if unit in DEGREES:
            behind, unit = behind + 1, self._at(behind + 1)
        if unit in CELSIUS:
            return ("kelvin", _tidy(value + 273.15)), behind + 1
        if unit in FAHRENHEIT:
            return ("kelvin", _tidy((value - 32) * 5 / 9 + 273.15)), behind + 1
        if unit not in UNITS or ordinal:
            return ("", value), behind
        dimension, factor = UNITS[unit]
        if self._at(behind + 1) in SCALES:  # $2 million
            return (dimension, _tidy(value * factor * SCALES[self._at(behind + 1)])), behind + 2
        return self._joined((dimension, _tidy(value * factor)), factor, behind + 1)

    def _joined(self, found: Quantity, factor: float, behind: int) -> tuple[Quantity, int]:
        """`1 h 30 min` is one quantity: a smaller unit of the same dimension follows."""
        at = behind + (self._at(behind) == "and")
        value, then = self._number(at)
        unit = UNITS.get(self._at(then))
        if value is None or unit is None or unit[0] != found[0] or unit[1] >= factor:
            return found, behind
        return self._joined((found[0], _tidy(found[1] + value * unit[1])), unit[1], then + 1)

    def _number(self, place: int) -> tuple[float | None, int]:
        """A number in digits or words: forty-two, two hundred and fifty thousand, nineteen eighty-four."""
        token = self._at(place)
        if token in FRACTIONS:
            return FRACTIONS[token], place + 1
        if token[:1] == FRACTION and NUMBER.match(token[1:]):
            return float(token[1:].replace(",", "")), place + 1
        value = SCALES[token] if token in SCALES else number(token)
        if value is None:
            return None, place
        place += 1
        if token in WORDS:
            value, place = self._words(value, place)
        is_share = self._at(place + 1) == "of" or self._at(place - 2) == "by"
        if self._at(place) in FRACTIONS or (self._at(place) in AS_SHARES and is_share):
            part = self._at(place)
            return value * (FRACTIONS.get(part) or AS_SHARES[part]), place + 1
        while self._at(place) in SCALES or self._at(place) in SUFFIXES:
            scale = SCALES.get(self._at(place)) or SUFFIXES[self._at(place)]
            value, place = value * scale, place + 1
            less, behind = self._below(scale, place)
            value, place = value + less, behind
        return value, place

    def _words(self, value: float, place: int) -> tuple[float, int]:
        then = WORDS.get(self._at(place))
        if then is None:
            return value, place
        if value >= 20 and value % 10 == 0 and 0 < then < 10:
            return value + then, place + 1
        if 10 <= value < 100 and then >= 10:  # a year: nineteen eighty-four
            last = WORDS.get(self._at(place + 1), 0.0) if then >= 20 and then % 10 == 0 else 0.0
            return value * 100 + then + (last if last < 10 else 0), place + (2 if 0 < last < 10 else 1)
        return value, place

    def _below(self, scale: float, place: int) -> tuple[float, int]:
        """What is added behind a scale: two hundred *and fifty*."""
        at = place + (self._at(place) == "and")
        if self._at(at) not in WORDS:
            return 0.0, place
        more, behind = self._words(WORDS[self._at(at)], at + 1)
        while self._at(behind) in SCALES and more * SCALES[self._at(behind)] < scale:
            more, behind = more * SCALES[self._at(behind)], behind + 1
            less, behind = self._below(SCALES[self._at(behind - 1)], behind)
            more += less
        return (more, behind) if more < scale else (0.0, place)


def _tidy(value: float) -> float:
    return float(f"{value:.10g}")
