"""Whose a credential is: one form for all spellings of an owner, so that nobody is two people by spelling.

Owners are brought into this form where somebody is recognised, before they are recorded. So what is judged
compares them as they are, and ledgers that were recorded with other spellings are decided as they were.
"""

import unicodedata
from typing import Final

from beliefd.kernel.errors import invalid
from beliefd.kernel.values import MAX_ID_LENGTH, quoted

WEB: Final = ("http://", "https://")
"""Owners that an identity provider names by an address are no ids of this server."""
BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Printable by their category, and yet nothing is seen of them; variation selectors are others."""


def owner_form(text: str) -> str:
    """INVARIANT: owners that differ by letter case, by blanks around them or by characters that are not seen
    or only look otherwise are one owner.

    An owner that is written as an id stays as it is: ids are told apart by every character.
    """
    if is_id(text):
        return text
    folded = _normal(_plain(text).casefold()).strip()
    return folded[:MAX_ID_LENGTH] or text


def refuse_disguised(text: str, path: str) -> None:
    """A name or an owner of a new token is written as it is read."""
    plain = _plain(text)
    if plain != text:
        fits = f"; {quoted(plain)} would fit" if plain and plain.isprintable() else ""
        what = f"a token's {path} has no blanks around it, and no invisible or compatibility characters"
        raise invalid(f"{what}{fits}", path)


def is_id(text: str) -> bool:
    return "://" in text and not text.casefold().startswith(WEB)


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
