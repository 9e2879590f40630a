"""What a key says about the thing it stands in: the words that mark speculation, in every spelling."""

import re
from enum import Enum, StrEnum
from typing import Final

from beliefd.kernel.scan.spelling import letters, plain


class Meaning(StrEnum):
    """What a key is for, as far as the firewall is concerned."""

    STATUS = "status"
    """Says how well something is known; a marker if it says speculative."""
    LABEL = "label"
    """Says where something comes from; a marker if it is exactly the speculative lane."""
    FLAG = "flag"
    """Speculative itself as a key; a marker unless it says no."""
    CONTEXT = "context"
    """Holds what the speculative lane made; always a marker."""
    HINT = "hint"
    """A field of experiment hints; two of them in one object are hints without their status."""
    IDEA = "idea"
    """A field of a brainstorm; three of them in one object are one."""
    NAME = "name"
    """Holds the name of a field whose value stands beside it, as in `{"name": ..., "value": ...}`."""
    VALUE = "value"
    """Holds the value of such a field."""
    TEXT = "text"
    """A text used as a key, which must be read like any other."""


class WordList(Enum):
    """What is a marker by merely being there."""

    EVIDENCE = frozenset({Meaning.CONTEXT})
    RESIDUE = frozenset({Meaning.CONTEXT, Meaning.STATUS, Meaning.HINT, Meaning.IDEA})


_WORDS: Final = {
    Meaning.STATUS: "epistemicstatus epistemicstate",
    Meaning.LABEL: "lane label lanelabel lanename epistemiclane epistemiclabel sourcelane originlane",
    Meaning.FLAG: "speculative isspeculative speculation speculations",
    Meaning.CONTEXT: "speculativecontext speculativehypothesis speculativehypotheses experimenthint"
    " experimenthints",
    Meaning.HINT: "candidatemechanisms discriminativepredictions sensitivityaxes priorsuggestions"
    " falsificationcriteria",
    Meaning.IDEA: "alternatives analogies edgecases",
    Meaning.NAME: "key name field property attribute",
    Meaning.VALUE: "value val content",
}
NAMES: Final = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}

_STEMS: Final = (
    "speculat", "experimenthint", "analogies",
    "candidatemechanism", "discriminativeprediction", "sensitivityax", "priorsuggestion",
)  # fmt: skip
STEMS: Final = {
    WordList.EVIDENCE: _STEMS,
    WordList.RESIDUE: (*_STEMS, "falsificationcriteri", "alternatives", "edgecase", "epistemic"),
}
"""A text in which none of these occurs holds no marker, however it is wrapped.

Any two of the five hints include one of the four above, and every brainstorm has its analogies.
"""

_CONTROLS: Final = (r"\b", r"\f", r"\n", r"\r", r"\t")
_CONTROL: Final = re.compile(r"(?<!\\)\\++[bfnrt]")
_LAST: Final = re.compile(r"[./:#|]([^./:#|]+)$")
_NO: Final = frozenset({"", "0", "false", "no", "none", "null", "grounded"})
_LANE: Final = frozenset({"speculative", "speculation", "speculativelane"})


class _Meanings(dict[str, Meaning | None]):
    """What keys mean, worked out when first met. It forgets before it grows large."""

    def __missing__(self, key: str) -> Meaning | None:
        meaning = _worked_out(key)
        if len(key) <= 64:
            if len(self) >= 8_192:
                self.clear()
            self[key] = meaning
        return meaning


def _worked_out(key: str) -> Meaning | None:
    folded = plain(key)
    if folded is None:
        return Meaning.TEXT
    meaning = NAMES.get(letters(folded))
    if meaning is None and ('"' in folded or "'" in folded):
        return Meaning.TEXT
    if meaning is None and (last := _LAST.search(folded)):  # a path that was made a key
        return NAMES.get(letters(last[1]))
    return meaning


MEANINGS: Final = _Meanings()


def says_speculative(meaning: Meaning, value: str) -> bool:
    """Does a text in the place of a value mark what it stands in?"""
    word = letters(plain(value) or "")
    if meaning is Meaning.STATUS:
        return "speculat" in word
    if meaning is Meaning.LABEL:
        return word in _LANE
    return meaning is Meaning.FLAG and word not in _NO


def could_mark(folded: str, vocabulary: WordList) -> bool:
    """Is there any word in a plain text that a marker would need?

    Read twice, because `\\n` may be an escaped line break within a word or a backslash before one.
    """
    stems = STEMS[vocabulary]
    if _has_any(stems, letters(folded)):
        return True
    # Most backslashes stand before quotes. To look for each escape among those would take longest of all.
    if "\\" not in folded or "\\" not in folded.replace('\\"', ""):
        return False
    if not _has_any(_CONTROLS, folded):
        return False
    return _has_any(stems, letters(_CONTROL.sub("", folded)))


def _has_any(words: tuple[str, ...], text: str) -> bool:
    for word in words:  # noqa: SIM110 - a generator costs as much as the search
        if word in text:
            return True
    return False
