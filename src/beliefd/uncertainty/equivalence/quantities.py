"""Numbers with their units, brought to one scale: `1.5 km`, `1,500 metres` and `1500 m` are one quantity."""

import re
from typing import Final

WORDS: Final = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
         "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
    )
} | {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "half": 0.5, "dozen": 12,
}  # fmt: skip
SCALES: Final = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}

# unit -> (dimension, factor); temperatures have an offset and are handled apart
UNITS: Final[dict[str, tuple[str, float]]] = {}


def _names(dimension: str, table: str) -> None:
    for row in table.split(";"):
        factor, *names = row.split()
        for name in names:
            UNITS[name] = (dimension, float(factor))


_names("length", "1 m metre metres meter meters;1000 km kilometre kilometres kilometer kilometers;"
       "0.01 cm centimetre centimetres centimeter centimeters;0.001 mm millimetre millimetres millimeter "
       "millimeters;1609.344 mi mile miles;0.3048 ft foot feet;0.0254 inch inches;0.9144 yd yard "
       "yards")  # fmt: skip
_names("mass", "1 kg kilogram kilograms kilo kilos;0.001 g gram grams;0.000001 mg milligram milligrams;"
       "1000 t tonne tonnes;0.45359237 lb lbs pound pounds;0.028349523125 oz ounce ounces")  # fmt: skip
_names("time", "1 s sec secs seconds;60 min mins minute minutes;3600 h hr hrs hour hours;"
       "86400 day days;604800 week weeks;0.001 ms millisecond milliseconds")  # fmt: skip
_names(
    "years", "1 year years yr yrs;10 decade decades;100 century centuries;0.08333333333333333 month months"
)
_names("bytes", "1 byte bytes;1000 kb;1000000 mb;1000000000 gb;1000000000000 tb")
_names("share", "0.01 % percent")
_names("kelvin", "1 k kelvin")
_CELSIUS: Final = frozenset({"c", "°c", "celsius", "centigrade"})
_FAHRENHEIT: Final = frozenset({"f", "°f", "fahrenheit"})

Quantity = tuple[str, float]
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_UNIT = re.compile(r"(?<=\d)\s*(°\s?[cf]|%|[a-z]+)(?![\w])")
NUMBER_TOKEN: Final = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?$")


def number(token: str) -> float | None:
    """The value of a token that is a number, in digits or as a word."""
    if token in WORDS:
        return float(WORDS[token])
    if NUMBER_TOKEN.match(token):
        return float(token.replace(",", "").replace("−", "-"))
    return None


def split_units(text: str) -> str:
    """`10km` and `50%` as two tokens each; ordinals lose their ending."""
    if not _DIGIT.search(text):
        return text
    return _UNIT.sub(lambda found: f" {found[1].replace(' ', '')}", _ORDINAL.sub(r"\1", text))


def quantities(tokens: list[str]) -> tuple[list[str], tuple[Quantity, ...]]:
    """The tokens without numbers and their units, and the numbers as (dimension, value), in their order."""
    if WORDS.keys().isdisjoint(tokens) and not any(map(NUMBER_TOKEN.match, tokens)):
        return tokens, ()
    rest: list[str] = []
    found: list[Quantity] = []
    place = 0
    while place < len(tokens):
        value = number(tokens[place])
        if value is None:
            rest.append(tokens[place])
            place += 1
            continue
        place += 1
        while place < len(tokens) and tokens[place] in SCALES:
            value *= SCALES[tokens[place]]
            place += 1
        unit = tokens[place] if place < len(tokens) else ""
        if unit == "degrees" and place + 1 < len(tokens):
            place += 1
            unit = tokens[place]
        quantity = _scaled(value, unit)
        place += quantity[0] != ""
        found.append(quantity)
    return rest, tuple(found)


def _scaled(value: float, unit: str) -> Quantity:
    if unit in _CELSIUS:
        return "kelvin", round(value + 273.15, 6)
    if unit in _FAHRENHEIT:
        return "kelvin", round((value - 32) * 5 / 9 + 273.15, 6)
    if unit in UNITS:
        dimension, factor = UNITS[unit]
        return dimension, float(f"{value * factor:.9g}")
    return "", value
