"""What is seen in an answer: clauses with their polarity, amounts, names, and the words that mark a claim."""

import re
import string
from typing import Final

from msgspec import Struct

from beliefd.uncertainty.equivalence import markers, negation, words
from beliefd.uncertainty.equivalence.forms import PAST_FORMS
from beliefd.uncertainty.equivalence.kept import count, kept
from beliefd.uncertainty.equivalence.letters import VERBISH, name_letters
from beliefd.uncertainty.equivalence.phrases import rewritten
from beliefd.uncertainty.equivalence.quantities import COUNTING, OPENING, Counter, Quantity
from beliefd.uncertainty.equivalence.synonyms import SAME
from beliefd.uncertainty.equivalence.tokens import Token, tokens

SHORT: Final = 4
"""So many content words make a short answer, in which every word counts."""
MAX_LENGTH: Final = 20_000
MAX_CLAUSES: Final = 200
"""Beyond either bound an answer is not read: it means the same as its own wording, and nothing else."""
Item = str | Quantity
_PUNCTUATION: Final = frozenset(",.;")
_UNSAID: Final = _PUNCTUATION | words.ARTICLES
_JOINS: Final = frozenset({"and", "or", ","})
_DIGIT = re.compile(r"[\d½¼¾⅓⅔]")
_LETTERS: Final = frozenset(string.ascii_letters)
_SIGNS: Final = "-−+#="
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


class Reading(Struct, frozen=True):
    """What the judges see in an answer."""

    plain: str
    items: tuple[Item, ...] = ()
    stance: str | None = None
    clauses: tuple[Clause, ...] = ()
    particles: frozenset[str] = _NOTHING
    amounts: frozenset[Quantity] = frozenset()
    stems: tuple[str, ...] = ()
    content: frozenset[str] = _NOTHING
    names: frozenset[str] = _NOTHING
    proper: frozenset[str] = _NOTHING
    """Names that a capital shows: inside a sentence, or where a verb follows."""
    exact: frozenset[str] = _NOTHING
    initials: str = ""
    is_sentence: bool = False
    is_list: bool = False
    is_unread: bool = False


@kept
def read(text: str) -> Reading:
    count(text)
    if len(text) > MAX_LENGTH:
        return _unread(text)
    found = tokens(text)
    has_digit = _DIGIT.search(text) is not None
    texts = [token.text for token in found]
    if has_digit or not text.isascii() or " A" in text or len(_LETTERS.intersection(texts)) > 1:
        name_letters(found, has_digit)
        texts = [token.text for token in found]
    plain = _plain(texts) or text.strip()
    if plain in words.NON_ANSWERS:
        return Reading("<no answer>", stance="none")
    stance = _stance(texts)
    if stance is not None:
        texts = texts[1:]
    items = _counted(rewritten(texts), has_digit)
    seen = _Seen()
    for place, item in enumerate(items):
        if item in _SILENT:
            continue
        if isinstance(item, str) and (stem := _content(item)) is not None:
            seen.add(stem)
        else:
            seen.take(items, place, item)
    seen.end()
    if len(seen.clauses) > MAX_CLAUSES:
        return _unread(text)
    return _reading(plain, stance, found, texts, items, seen)


def _plain(texts: list[str]) -> str:
    """An answer without case, punctuation and articles, unless there is nothing else in it."""
    said = " ".join([text for text in texts if text not in _UNSAID])
    return said or " ".join([text for text in texts if text not in _PUNCTUATION])


def _unread(text: str) -> Reading:
    return Reading(" ".join(text.casefold().split()), is_unread=True)


def _stance(texts: list[str]) -> str | None:
    """yes or no, where the answer opens with it and goes on after a stop."""
    if not texts or (len(texts) > 1 and texts[1] not in _PUNCTUATION):
        return None
    if texts[0] in words.YES:
        return "yes"
    return "no" if texts[0] in words.NO else None


def _counted(texts: list[str], has_digit: bool) -> list[Item]:
    """The tokens with numbers and their units in one piece."""
    if not has_digit and COUNTING.isdisjoint(texts):
        return list(texts)
    counter = Counter(texts)
    found: list[Item] = []
    place = 0
    while place < len(texts):
        text = texts[place]
        quantity = counter.at(place) if text in OPENING or text[0] in _SIGNS or text[0].isdigit() else None
        if quantity is None:
            found.append(text)
            place += 1
        else:
            found.append(quantity[0])
            place = quantity[1]
    return found


class _Seen:
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


def _reading(
    plain: str, stance: str | None, found: list[Token], texts: list[str], items: list[Item], seen: _Seen
) -> Reading:
    content = frozenset(seen.stems)
    pointing = len(texts) > 1 and texts[0] in words.PRONOUNS and texts[1] in words.BE
    is_sentence = (not pointing and not words.VERB_FORMS.isdisjoint(texts)) or len(seen.stems) > SHORT
    capitals = [place for place, token in enumerate(found) if token.capital]
    stems = {place: words.stem(found[place].text) for place in capitals}
    return Reading(
        plain=plain,
        items=tuple(items),
        stance=stance,
        clauses=tuple(_told(seen.clauses) if stance == "no" else seen.clauses),
        particles=frozenset(map(words.PARTICLES.__getitem__, _small_words(items, texts))),
        amounts=frozenset(seen.amounts),
        stems=tuple(seen.stems),
        content=content,
        proper=_proper(found, stems, is_sentence or seen.has_verb) & content,
        names=content.intersection(stems.values()) if is_sentence else content,
        exact=frozenset([stem for place, stem in stems.items() if found[place].exact]),
        initials="".join([found[place].text[0] for place in capitals]),
        is_sentence=is_sentence,
        is_list=not is_sentence and ("and" in texts or "or" in texts or "," in texts[:-1]),
    )


def _told(clauses: list[Clause]) -> list[Clause]:
    """`No, it did not` says no once: what only denies is the stance."""
    return [clause for clause in clauses if clause.content or clause.marks]


def _small_words(items: list[Item], texts: list[str]) -> frozenset[str]:
    """`first` is a number among the items, and yet the opposite of `last`."""
    found = _PARTICLES.intersection(items)
    return found | {"first"} if "first" in texts else found


_PARTICLES: Final = frozenset(words.PARTICLES)


def _proper(found: list[Token], stems: dict[int, str], has_verb: bool) -> frozenset[str]:
    """The first word of a sentence has a capital anyway; it may be a name if it does not look like a noun."""
    return frozenset(
        [
            stem
            for place, stem in stems.items()
            if _is_inside(found, place) or (has_verb and not _is_common(found[place].text))
        ]
    )


def _is_inside(found: list[Token], place: int) -> bool:
    return place > 0 and found[place - 1].text not in _PUNCTUATION


def _is_common(word: str) -> bool:
    plural = word.endswith("s") and not word.endswith("ss") and len(word) > 4
    return plural or word.endswith(_NOUNS) or word in SAME


_NOUNS: Final = ("tion", "ment", "ness", "ity", "ing", "ency", "ancy", "ism", "age", "ance", "ence", "ware")
