"""What is seen in an answer: clauses with their polarity, amounts, names, and the words that mark a claim."""

import re
import string
from typing import Final

from msgspec import Struct

from beliefd.uncertainty.equivalence import words
from beliefd.uncertainty.equivalence.clauses import Clause, Item, Seen
from beliefd.uncertainty.equivalence.kept import count, kept
from beliefd.uncertainty.equivalence.letters import name_letters
from beliefd.uncertainty.equivalence.phrases import rewritten
from beliefd.uncertainty.equivalence.quantities import COUNTING, OPENING, Counter, Quantity
from beliefd.uncertainty.equivalence.synonyms import SAME
from beliefd.uncertainty.equivalence.tokens import Token, tokens

SHORT: Final = 4
"""So many content words make a short answer, in which every word counts."""
MAX_LENGTH: Final = 20_000
MAX_CLAUSES: Final = 200
"""Beyond either bound an answer is not read: it means the same as its own wording, and nothing else."""
_PUNCTUATION: Final = frozenset(",.;")
_UNSAID: Final = _PUNCTUATION | words.ARTICLES
_DIGIT = re.compile(r"[\d½¼¾⅓⅔]")
_LETTERS: Final = frozenset(string.ascii_letters)
_SIGNS: Final = "-−+#="
_NOTHING: Final[frozenset[str]] = frozenset()


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
    seen = Seen()
    seen.pass_over(items)
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


def _reading(
    plain: str, stance: str | None, found: list[Token], texts: list[str], items: list[Item], seen: Seen
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
