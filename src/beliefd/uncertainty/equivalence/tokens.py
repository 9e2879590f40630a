"""An answer as a list of tokens, read once, chunk by chunk: words, numbers, units, names, punctuation.

A chunk is what stands between two spaces. What it becomes depends on nothing else, so it is remembered.
"""

import re
import unicodedata
from typing import Final, NamedTuple

from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.numbers import SUFFIXES
from beliefd.uncertainty.equivalence.quantities import CLOCK, FRACTION, NUMBER, ORDINAL
from beliefd.uncertainty.equivalence.tables import listed
from beliefd.uncertainty.equivalence.units import CELSIUS, FAHRENHEIT, MONEY, UNITS
from beliefd.uncertainty.equivalence.words import WITH_IS

MONTHS: Final = listed(
    "january february march april maymonth june july august september october november december"
)
COMPARISONS: Final = {
    ">": "ABOVE",
    "<": "BELOW",
    "≥": "LEAST",
    "≤": "MOST_OF",
    ">=": "LEAST",
    "<=": "MOST_OF",
}
_CURRENCIES: Final = "$€£¥₹"
_CODES: Final = frozenset(
    name for name, (dimension, _) in UNITS.items() if len(name) == 3 and dimension in MONEY and name.isalpha()
)
"""They may stand before the amount: EUR 20."""
_SIGNS: Final = str.maketrans({"’": "'", "‘": "'", "′": "'", "⁄": "/"})
_WHOLE: Final[dict[str, tuple[str, ...]]] = {
    "cannot": ("can", "not"), "cant": ("can", "not"), "wont": ("will", "not"), "dont": ("do", "not"),
    "didnt": ("did", "not"), "isnt": ("is", "not"), "doesnt": ("does", "not"), "wasnt": ("was", "not"),
    "o'clock": (), "&": ("and",), "=": ("is",), "≠": ("is", "not"), "-": (",",), "–": (",",), "—": (",",),
    "nobody's": ("nobody", "'s"), "noon": ("12:00",), "midnight": ("0:00",), "vs": ("against",),
    "can't": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"), "ain't": ("is", "not"),
}  # fmt: skip
_SHORT_UNITS: Final = {"s": "second", "sec": "second", "min": "minute", "h": "hour", "hr": "hour"}
_ENDINGS: Final = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "'d": "would"}
_OPENING: Final = "([{\"'“”‘«*`_"
_CLOSING: Final = ".,;:!?)]}\"'“”’»*`…_"
_QUOTES: Final = frozenset("'\"*`”’»_")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:t.*)?$")
_COUNTED = re.compile(r"([-−+]?\d[\d,]*(?:\.\d+)?)(°?[^\W\d_]+|[%‰°])$")
_RANGE = re.compile(r"(\d[\d,]*(?:\.\d+)?)[-–](\d[\d,]*(?:\.\d+)?)(°?[^\W\d_]+|%)?$")
_FRACTION = re.compile(r"(\d{1,2})/(\d{1,3})$")
_JOINED = re.compile(r"(\d[\d,.]*)[-–]([^\W\d_]+(?:-[^\W\d_]+)*)$")
_DECADE = re.compile(r"(\d{2,4})'?s$")
_VERSION = re.compile(r"v(\d+(?:\.\d+)*)$")
_RATE = re.compile(r"(.*[^\W\d_])/(s|sec|second|min|minute|h|hr|hour|day|month|year)$")
_NUMERO = re.compile(r"(?:\b[Nn]os?\.|(?<=\S )No) (?=\d)")
_SPACED = re.compile(r"\b[A-Z]\.?(?:\s?[A-Z]\b\.?)+(?=\s+[A-Z])")
_SIGNED = re.compile(r"[^\W\d_]{1,4}(?:\+{1,2}|#)$")
"""C++, C#, O+: the sign is part of the name."""
_LETTERS = re.compile(r"[^\W_]+")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]$|(?:[^\W\d_]\.){2,}$")


_SUFFIXES: Final = frozenset(
    listed("dev dbg rc beta alpha nightly lts lite utils cli tmp bak doc src bin lib")
)
"""Behind a hyphen they make another name."""
_MOST_MARKS: Final = 4
_SHOUTED: Final = 3
"""So many words in capitals are no name."""
_BEFORE_MONTH: Final = frozenset(listed("in of since by until late early last next this mid during from"))


class Token(NamedTuple):
    text: str
    capital: bool = False
    exact: bool = False
    """An identifier, a host, a path, a version: every character counts."""


def _with_few_marks(text: str) -> str:
    """INVARIANT: reading takes linear time. A normal form takes quadratic time on runs of marks, and no
    spelling has so many on one letter."""
    kept, run = [], 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        if run <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)


def tokens(text: str) -> list[Token]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _with_few_marks(text)).translate(_SIGNS)
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    if "(" in text:
        text = text.replace("(", " (").replace(")", ") ")
    if ". " in text:
        text = _NUMERO.sub("", text)
    if text.isupper():
        text = _lowered(text)
    chunks = text.split()
    if len([1 for chunk in chunks if len(chunk) < 3 and chunk[0].isupper()]) > 1:
        chunks = _SPACED.sub(lambda run: "".join(filter(str.isalpha, run[0])), text).split()
    found: list[Token] = []
    for chunk in chunks:
        found += _chunk(chunk)
    if not _CODES.isdisjoint([token.text for token in found]):
        found = _behind_amounts(found)
    return _months(found) if "may" in text.lower() else found


def _lowered(text: str) -> str:
    """In a text of capitals they say nothing; a few of them alone are a name."""
    chunks = text.split()
    if len([1 for chunk in chunks if chunk[0].isalpha()]) < _SHOUTED:
        return text
    return " ".join(chunk if any(c.isdigit() for c in chunk) else chunk.lower() for chunk in chunks)


def _behind_amounts(found: list[Token]) -> list[Token]:
    """`EUR 20` as `20 EUR`."""
    found = list(found)
    for place, token in enumerate(found[:-1]):
        counted = place > 0 and NUMBER.match(found[place - 1].text)
        if token.text in _CODES and not counted and NUMBER.match(found[place + 1].text):
            found[place : place + 2] = found[place + 1], token
    return found


def _months(found: list[Token]) -> list[Token]:
    """`in may` is the month, with or without its capital."""
    return [
        Token("maymonth", True)
        if token.text == "may" and place and found[place - 1].text in _BEFORE_MONTH
        else token
        for place, token in enumerate(found)
    ]


@kept
def _chunk(chunk: str) -> tuple[Token, ...]:
    for sign, marker in COMPARISONS.items():
        if chunk.startswith(sign) and not chunk.startswith(sign + "="):
            return (Token(marker), *_chunk(chunk[len(sign) :])) if chunk != sign else (Token(marker),)
    before, core, behind = _edges(chunk)
    found = [Token(";")] if "(" in before or "[" in before else []
    if core:
        found += _core(core)
    if behind:
        end = "." if not {".", "!", "?"}.isdisjoint(behind) else "," if behind[-1] == "," else ";"
        found.append(Token(end))
    return tuple(token for token in found if token.text)


def _edges(chunk: str) -> tuple[str, str, str]:
    if chunk.casefold() in _WHOLE:
        return "", chunk, ""
    if _INITIALS.match(chunk):
        return "", chunk.replace(".", ""), ""
    core = chunk.lstrip(_OPENING)
    before = chunk[: len(chunk) - len(core)]
    bare = core.rstrip(_CLOSING)
    behind = core[len(bare) :]
    return before, bare, "" if set(behind) <= _QUOTES else behind


def _core(core: str) -> list[Token]:
    low = core.casefold()
    if not low.isascii():
        low = "".join(c for c in unicodedata.normalize("NFKD", low) if not unicodedata.combining(c))
    if not low:
        return []
    capital = core[0].isupper()
    if low in _WHOLE:
        return [Token(word) for word in _WHOLE[low]]
    if any(character.isdigit() for character in core):
        return _numeric(core, low.replace("−", "-"), capital)
    if _SIGNED.match(low):
        return [Token(low, True, True)]
    if low.isalpha():
        return [Token("maymonth" if core == "May" else low, capital)]
    if "'" in low:
        return _contracted(low, capital)
    if "-" in low and all(part.isalpha() for part in low.split("-")):
        parts = low.split("-")
        if parts[-1] in _SUFFIXES:
            return [Token(low, True, True)]
        if parts[0] == "non" and len(parts) > 1:
            parts[:2] = ["non" + parts[1]]
        return [Token(part, capital) for part in parts]
    return _others(core, low, capital)


def _contracted(low: str, capital: bool) -> list[Token]:
    if low.endswith("n't"):
        return [Token(low[:-3], capital), Token("not")]
    base, _, ending = low.partition("'")
    if ending in ("s", "") and base:
        return [Token(base, capital), Token("is" if base in WITH_IS else "'s")]
    if "'" + ending in _ENDINGS:
        return [Token(base, capital), Token(_ENDINGS["'" + ending])]
    return [Token(low.replace("'", ""), capital)]


def _numeric(core: str, low: str, capital: bool) -> list[Token]:
    if NUMBER.match(low) or CLOCK.match(low):
        return [Token(low)]
    if low[0] == "~":
        return _core(core[1:]) if len(core) > 1 else []
    for end in (0, -1):
        if low[end] in _CURRENCIES:
            rest = slice(1, None) if end == 0 else slice(None, -1)
            return [*_numeric_rest(core[rest], low[rest]), Token(low[end])]
    if found := _RATE.match(low):
        return [*_core(core[: len(found[1])]), *_per(found[2])]
    return _shaped(low) or _numeric_rest(core, low)


def _shaped(low: str) -> list[Token]:
    """Dates, decades, ranges, fractions, `90-minute`, versions."""
    if (date := _ISO_DATE.match(low)) and 1 <= int(date[2]) <= 12:
        return [Token(str(int(date[3]))), Token(MONTHS[int(date[2]) - 1], True), Token(date[1])]
    if found := _DECADE.match(low):
        return [Token(f"{found[1]}s", True, True)]
    if found := _RANGE.match(low):
        return [Token(found[1]), Token("to"), Token(found[2]), *([Token(found[3])] if found[3] else [])]
    if (found := _FRACTION.match(low)) and 0 < int(found[1]) < int(found[2]):
        return [Token(f"{FRACTION}{int(found[1]) / int(found[2]):.10f}")]
    if found := _JOINED.match(low):
        return [Token(found[1]), *(Token(part) for part in found[2].split("-"))]
    if found := _VERSION.match(low):
        return [Token(found[1] if found[1].count(".") > 1 else "v" + found[1], True, True)]
    return []


def _per(unit: str) -> list[Token]:
    return [Token("per"), Token(_SHORT_UNITS.get(unit, unit))]


def _numeric_rest(core: str, low: str) -> list[Token]:
    """`10km`, `5M`, `3rd`; whatever else has a digit in it is an identifier."""
    if NUMBER.match(low):
        return [Token(low)]
    found = _COUNTED.match(low)
    if found is None:
        return [Token(low, True, True)]
    unit = found[2]
    if unit in ("st", "nd", "rd", "th"):
        return [Token(ORDINAL + found[1])]
    if core.endswith("M") and unit == "m":
        unit = "million"
    known = unit in UNITS or unit in SUFFIXES or unit in CELSIUS or unit in FAHRENHEIT
    if known or unit in ("million", "°", "x", "am", "pm", "fold"):
        return [Token(found[1]), Token(unit)]
    return [Token(low, True, True)]


def _others(core: str, low: str, capital: bool) -> list[Token]:
    if low in UNITS or low in CELSIUS or low in FAHRENHEIT or (len(low) == 1 and low in "%°" + _CURRENCIES):
        return [Token(low)]
    if found := _RATE.match(low):
        return [*_core(core[: len(found[1])]), *_per(found[2])]
    if low[-1] == "/" and low[:-1].isalpha():
        return [Token(low[:-1], capital), Token("or")]
    if "/" in low and all(part.isalpha() for part in low.split("/")):
        first, *parts = low.split("/")
        return [
            Token(first, capital),
            *(token for part in parts for token in (Token("or"), Token(part, capital))),
        ]
    if _INITIALS.match(low):
        return [Token(low.replace(".", ""), capital)]
    if any(mark in low for mark in "/@\\_:") or ("." in low and " " not in low and not low.endswith(".")):
        return [Token(low, True, True)]
    return [Token(part, capital) for part in _LETTERS.findall(low)]
