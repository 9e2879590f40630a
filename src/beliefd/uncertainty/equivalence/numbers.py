"""Number words: what `forty`, `third`, `dozen`, `half` and `k` are worth."""

from typing import Final

from beliefd.uncertainty.equivalence.tables import listed

_SMALL: Final = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS: Final = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS: Final = listed(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)

WORDS: Final[dict[str, float]] = {
    **{word: float(value) for value, word in enumerate(_SMALL)},
    **{word: 10.0 * value for value, word in enumerate(_TENS, 2)},
    **{word: float(value) for value, word in enumerate(_ORDINALS)},
    **{word[:-1] + "ieth": 10.0 * value for value, word in enumerate(_TENS, 2)},
    "nil": 0.0,
    "twice": 2.0,
    "thrice": 3.0,
}
ORDINALS: Final = frozenset(_ORDINALS) | {word[:-1] + "ieth" for word in _TENS}
SCALES: Final = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0,
}  # fmt: skip
SUFFIXES: Final = {"k": 1e3, "mn": 1e6, "mio": 1e6, "bn": 1e9, "tn": 1e12}
"""Written behind digits without a space: `1.5k`. A capital M is a million too, a small one a metre."""
FRACTIONS: Final = {
    "half": 0.5, "halves": 0.5, "quarter": 0.25, "quarters": 0.25, "thirds": 1 / 3, "fourths": 0.25,
    "fifths": 0.2, "sixths": 1 / 6, "eighths": 0.125, "tenths": 0.1, "hundredths": 0.01,
}  # fmt: skip
AS_SHARES: Final = {
    "third": 1 / 3,
    "fourth": 0.25,
    "fifth": 0.2,
    "sixth": 1 / 6,
    "eighth": 0.125,
    "tenth": 0.1,
}
"""Ordinals that are fractions behind `a` or `one` and before `of`: `a third of the seats`."""
TIMES: Final = {
    "double": 2.0, "doubled": 2.0, "doubles": 2.0, "doubling": 2.0,
    "triple": 3.0, "tripled": 3.0, "triples": 3.0, "tripling": 3.0, "treble": 3.0, "trebled": 3.0,
    "twofold": 2.0, "threefold": 3.0, "fourfold": 4.0, "fivefold": 5.0, "tenfold": 10.0, "halved": 0.5,
    "quadruple": 4.0, "quadrupled": 4.0,
}  # fmt: skip
