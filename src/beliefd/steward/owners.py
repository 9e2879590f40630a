"""Whose a credential is: one form for all spellings of an owner, so that nobody is two people by spelling.

Owners are brought into this form where somebody is recognised, before they are recorded. So what is judged
compares them as they are, and ledgers that were recorded with other spellings are decided as they were.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from beliefd.kernel.errors import invalid
from beliefd.kernel.scan.spelling import LOOK_ALIKES
from beliefd.kernel.scan.whole_words import folded
from beliefd.kernel.values import MAX_ID_LENGTH, quoted

WEB: Final = ("http://", "https://")
"""Owners that an identity provider names by an address are no ids of this server."""
BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Printable by their category, and yet nothing is seen of them; variation selectors are others."""

LATIN: Final = "LATIN"
ALPHABETS: Final = frozenset({LATIN, "CYRILLIC", "GREEK", "ARMENIAN", "COPTIC", "CHEROKEE"})
"""Their letters look alike; nobody's name is written in two of them."""


def owner_form(text: str) -> str:
    """INVARIANT: owners that differ by letter case, by blanks around them, by characters that are not seen or
    only look otherwise, or by letters of another script that look Latin are one owner.

    An owner that is written as an id stays as it is: ids are told apart by every character.
    """
    if is_id(text):
        return text
    plain = _latin(_normal(_plain(text).casefold()).strip())
    return plain[:MAX_ID_LENGTH] or text


def refuse_mixed(text: str, path: str) -> None:
    """INVARIANT: nobody is made who reads as somebody else: each word is written in one alphabet."""
    for word in re.findall(r"\w+", text):
        if len(found := sorted({_script(char) for char in word} & ALPHABETS)) > 1:
            names = " and ".join(one.capitalize() for one in found)
            text = f"each word of a token's {path} is written in one alphabet; {quoted(word)} mixes {names}"
            raise invalid(text, path)


def refuse_look_alike(owner: str, others: Iterable[str]) -> None:
    """An owner that is not another's, and looks like it."""
    look = folded(owner)
    for other in others:
        if other != owner and not is_id(other) and folded(other) == look:
            text = f"{quoted(owner)} looks like the owner {quoted(other)}: name that one, or one that differs"
            raise invalid(text, "owner")


def refuse_disguised(text: str, path: str) -> None:
    """A name or an owner of a new token is written as it is read."""
    plain = _plain(text)
    if plain != text:
        fits = f"; {quoted(plain)} would fit" if plain and plain.isprintable() else ""
        what = f"a token's {path} has no blanks around it, and no invisible or compatibility characters"
        raise invalid(f"{what}{fits}", path)


def is_id(text: str) -> bool:
    return "://" in text and not text.casefold().startswith(WEB)


def _latin(text: str) -> str:
    """The text in Latin letters, if it can be read as a word of those alone."""
    if text.isascii():
        return text
    read = "".join(char if _script(char) == LATIN else LOOK_ALIKES.get(char, char) for char in text)
    return read if all(_script(char) == LATIN for char in read if char.isalpha()) else text


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def _plain(text: str) -> str:
    return _normal("".join(char for char in text if not _is_unseen(char))).strip()


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _is_unseen(char: str) -> bool:
    return (
        char in BLANK
        or unicodedata.category(char) in ("Cc", "Cf", "Cs")
        or unicodedata.name(char, "").startswith(("VARIATION SELECTOR", "MONGOLIAN FREE VARIATION"))
    )
