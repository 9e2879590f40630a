"""Single letters and versions: whether an `a` is an article or a name."""

from typing import Final

from beliefd.uncertainty.equivalence import words
from beliefd.uncertainty.equivalence.forms import PAST_FORMS
from beliefd.uncertainty.equivalence.quantities import NUMBER
from beliefd.uncertainty.equivalence.tokens import Token

VERBISH: Final = words.VERB_FORMS | PAST_FORMS | {"not", "never", "must", "may", "might", "should", "could"}
_PUNCTUATION: Final = frozenset(",.;")


def name_letters(found: list[Token], has_digit: bool) -> None:
    """Single letters are names where there are two of them: in `A causes B` the A is no article."""
    alone = [
        place
        for place, token in enumerate(found)
        if len(token.text) == 1
        and token.text.isalpha()
        and token.text != "i"
        and (token.capital or not has_digit)
    ]
    several = len({found[place].text for place in alone}) > 1
    for place in alone:
        token = found[place]
        if several and (token.text != "a" or token.capital or _stands_alone(found, place)):
            found[place] = Token(f"{token.text}°", True, True)
        elif token.capital and place and found[place - 1].capital and _stands_alone(found, place):
            found[place] = Token(f"{token.text}°", True, True)  # Hospital A
    for place in range(len(found) - 1):
        if found[place].text in ("version", "release") and NUMBER.match(found[place + 1].text):
            found[place + 1] = Token("v" + found[place + 1].text, True, True)


def _stands_alone(found: list[Token], place: int) -> bool:
    """An article has a noun behind it; what has a verb, a small word or nothing behind it is a name."""
    then = found[place + 1].text if place + 1 < len(found) else "."
    return then in _PUNCTUATION or then in words.STOP or then in VERBISH or then.endswith(("s", "ed"))
