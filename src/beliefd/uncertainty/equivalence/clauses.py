"""Clauses of an answer, collected while its items pass once: content, denials, markers, tense, states."""

from typing import Final

from msgspec import Struct

from beliefd.uncertainty.equivalence import markers, negation, words
from beliefd.uncertainty.equivalence.forms import PAST_FORMS
from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.letters import VERBISH
from beliefd.uncertainty.equivalence.quantities import Quantity

Item = str | Quantity
_JOINS: Final = frozenset({"and", "or", ","})
_DENIALS: Final = negation.WHOLE | {"not", "never"}
_NOTHING: Final[frozenset[str]] = frozenset()
_TIMES: Final = frozenset({"time", "months"})


class Clause(Struct, frozen=True):
    """Content words of a clause and whether it is denied. `targets` stand right behind a `not`."""

    content: frozenset[str]
    denied: bool = False
    targets: frozenset[str] = _NOTHING
    struck: frozenset[str] = _NOTHING
    """Content right behind any word that denies."""
    behind: frozenset[str] = _NOTHING
    """Content behind the first word that denies."""
    marks: frozenset[str] = _NOTHING
    """How much and how sure: markers of quantifiers and modality."""
    tense: str | None = None
    ongoing: frozenset[str] = _NOTHING
    present: frozenset[str] = _NOTHING
    former: frozenset[str] = _NOTHING
    """States that are, and that were."""


class Seen:
    """Collects what a reading needs while the items pass once, clause by clause."""

    def __init__(self) -> None:
        self.clauses: list[Clause] = []
        self.stems: list[str] = []
        self.amounts: list[Quantity] = []
        self.has_verb = False
        self._open()

    def _open(self) -> None:
        self._content: list[str] = []
        self._targets: list[str] = []
        self._behind: list[str] = []
        self._struck: list[str] = []
        self._marks: frozenset[str] = _NOTHING
        self._ongoing: list[str] = []
        self._present: frozenset[str] = _NOTHING
        self._former: frozenset[str] = _NOTHING
        self._tense: str | None = None
        self._denials = 0
        self._pending: str | None = None
        self._since = 0
        self._has_verb = False
        self._quantified: str | None = None

    def pass_over(self, items: list[Item]) -> None:
        for place, item in enumerate(items):
            if item in _SILENT:
                continue
            if isinstance(item, str) and (stem := _content(item)) is not None:
                self.add(stem)
            else:
                self.take(items, place, item)
        self.end()

    def take(self, items: list[Item], place: int, item: Item) -> None:
        if isinstance(item, tuple):
            self._amount(items, place, item)
            return
        if item in markers.PRESENT_STATES:
            self._state(items, place, item)
        if item in markers.ATTRIBUTED and _is_attributed(items, place):
            self._marks |= {"SAID"}
        if item in words.BOUNDARIES:
            if self._ends(items, place, item):
                self.close()
        elif item in negation.WHOLE or item in negation.FREE:
            self._deny(item)
        elif (marker := _MARKERS.get(item)) is not None and not _is_superlative(items, place):
            self._marks |= {marker}
            if marker in _SCALE:
                self._quantified = marker
        else:
            self._word(items, place, item)

    def _state(self, items: list[Item], place: int, item: str) -> None:
        before = items[max(0, place - 2) : place]
        if _is_present(items, place):
            self._present |= {item}
        elif "was" in before or "were" in before:
            self._former |= {item}

    def _amount(self, items: list[Item], place: int, item: Quantity) -> None:
        then = items[place + 1] if place + 1 < len(items) else "."
        if item == ("", 0.0) and isinstance(then, str) and then not in words.BOUNDARIES:
            self._deny("no")  # zero errors are no errors
            return
        if then == "of" and item[0] in ("", "share"):
            self._marks |= {"SHARE"}
        if item[0] in _TIMES and items[place - 1 : place] == ["in"]:
            self._tense = self._tense or "future"
        self.amounts.append(item)
        self._note(f"{item[0]}#{item[1]}")

    def _word(self, items: list[Item], place: int, item: str) -> None:
        if item in VERBISH or item.endswith("ed"):
            self._has_verb = self.has_verb = True
            if item in markers.PAST or item in PAST_FORMS or item.endswith("ed"):
                self._tense = self._tense or "past"
        if item in markers.FUTURE:
            self._tense = "future"
        if item in words.STOP or item == "'s":
            return
        base = negation.positive(item)
        if base is not None:
            self._deny(None)
            if base in _MARKERS:
                self._marks |= {_MARKERS[base]}
            if base in _MARKERS or base in words.STOP:
                return
            self._content.append(stem := words.stem(base))
            self._targets.append(stem)
            self._behind.append(stem)
            self._struck.append(stem)
            self.stems.append(stem)
            return
        stem = words.stem(item)
        if item.endswith("ing") and _is_present(items, place):
            self._ongoing.append(stem)
        self.add(stem)

    def add(self, stem: str) -> None:
        """A word that is content."""
        self.stems.append(stem)
        self._note(stem)

    def _note(self, stem: str) -> None:
        self._since += 1
        if self._pending is not None and self._since == 1:
            self._struck.append(stem)
            if self._pending == "free":
                self._targets.append(stem)
        if self._denials:
            self._behind.append(stem)
        self._content.append(stem)

    def _deny(self, word: str | None) -> None:
        """INVARIANT: a denial of a denial is none: not unsafe, never fails to, no test failed."""
        if word == "nor" and self._denials:
            return
        near = (self._pending == "free" and not self._since) or (self._pending == "whole" and self._since < 3)
        if near:
            self._denials -= 1
            self._pending = None
            self._marks -= {"NONE"}
            return
        self._denials += 1
        if word in negation.WHOLE:
            self._marks |= {"NONE"}
        if word is not None:
            self._pending = "whole" if word in negation.WHOLE else "free"
            self._since = 0

    def _ends(self, items: list[Item], place: int, item: str) -> bool:
        """A comma, `and` and `or` only part clauses, not the members of a list."""
        if item not in _JOINS:
            return True
        if item == "," and place + 1 < len(items) and items[place + 1] in _DENIALS:
            return True
        if not self._has_verb:
            return False
        for then in items[place + 1 : place + 40]:
            if isinstance(then, tuple):
                continue
            if then in words.BOUNDARIES and then not in _JOINS:
                return False
            if then in VERBISH or then in negation.WHOLE or then.endswith("ed"):
                return True
        return False

    def close(self) -> None:
        self.end()
        self._open()

    def end(self) -> None:
        denied = self._denials > 0
        if denied and self._quantified is not None:
            # Some did not is not all did; all did not is none did.
            self._marks -= {self._quantified}
            self._marks |= {"NONE" if self._quantified == "ALL" else "NOTALL"}
            denied = self._quantified == "ALL"
        if self._content or self._marks or denied:
            self.clauses.append(self._clause(denied))

    def _clause(self, denied: bool) -> Clause:
        return Clause(
            frozenset(self._content),
            denied,
            frozenset(self._targets) if self._targets else _NOTHING,
            frozenset(self._struck) if self._struck else _NOTHING,
            frozenset(self._behind) if self._behind else _NOTHING,
            self._marks,
            self._tense,
            frozenset(self._ongoing) if self._ongoing else _NOTHING,
            self._present,
            self._former,
        )


_SILENT: Final[frozenset[Item]] = frozenset(
    (words.STOP | {"'s"})
    - VERBISH
    - words.BOUNDARIES
    - markers.FUTURE
    - markers.PAST
    - negation.FREE
    - negation.WHOLE
    - markers.QUANTIFIERS.keys()
    - markers.MODALS.keys()
    - markers.ATTRIBUTED
)
"""Most words of a sentence: nothing is to be done about them."""
_TOLD: Final = frozenset(
    {
        "'s",
        *markers.PRESENT_STATES,
        *markers.ATTRIBUTED,
        *markers.FUTURE,
        *markers.PAST,
        *words.BOUNDARIES,
        *words.STOP,
        *negation.WHOLE,
        *negation.FREE,
        *VERBISH,
    }
)
"""Words that say more than what they name."""


@kept
def _content(word: str) -> str | None:
    """The stem of a word that is content and nothing else; None if more is to be seen in it."""
    told = word in _TOLD or word in _MARKERS or word.endswith(("ed", "ing"))
    return None if told or negation.positive(word) is not None else words.stem(word)


_SCALE: Final = frozenset({"ALL", "SOME", "PART"})
_MARKERS: Final = {
    **markers.QUANTIFIERS,
    **markers.MODALS,
    **{marker: marker for marker in ("SAID", "NOTALL", "PART", "POSSIBLE", "OPTIONAL", "UP", "ON")},
}


def _is_superlative(items: list[Item], place: int) -> bool:
    """`Brazil's most widely spoken language`, and not `most users`."""
    if items[place] != "most" or place + 1 >= len(items):
        return False
    then = items[place + 1]
    return items[place - 1 : place] == ["'s"] or (isinstance(then, str) and then.endswith(_ADJECTIVES))


_ADJECTIVES: Final = ("ly", "ous", "ful", "ive", "ant", "ent", "able", "ible", "ed", "ic", "ar", "ing")


def _is_attributed(items: list[Item], place: int) -> bool:
    """A clause follows, and the speaker is somebody else."""
    then = items[place + 1] if place + 1 < len(items) else "."
    before = items[place - 1] if place else "."
    return then in _OPENING_A_CLAUSE and before not in _SELF and before not in words.ARTICLES


_SELF: Final = words.BE | {"i", "we", ".", ",", "have", "had", "has"}
_OPENING_A_CLAUSE: Final = (
    words.ARTICLES | words.PRONOUNS | {"there", "no", "nobody", "all", "every", "we", "i"}
)


def _is_present(items: list[Item], place: int) -> bool:
    return any(before >= 0 and items[before] in ("is", "are", "am") for before in (place - 1, place - 2))
