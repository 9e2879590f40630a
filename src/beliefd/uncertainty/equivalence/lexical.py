"""A judge without a model: the same words, in one polarity, with the same numbers, about the same names.

It reads each answer once and compares what it read. It errs towards "different": two answers that it merges
say the same thing in nearly the same words, two that it keeps apart may still be paraphrases.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from beliefd.uncertainty.equivalence import words
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.equivalence.quantities import Quantity, quantities, split_units

SHORT: Final = 4
"""So many content words make a short answer, in which every word counts."""
COVERAGE: Final = 0.8
"""So much of a sentence's content another must have to say the same: two causes of one outage share a lot."""
MAX_LENGTH: Final = 20_000
_DROPPED: Final = words.STOP | words.NEGATIONS | words.YES | words.NO | words.MAYBE
_TOKEN = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?|°[cf]|%|[^\W_]+(?:\.[^\W_])*", re.UNICODE)


class Reading(Struct, frozen=True):
    """What the judge sees in an answer."""

    plain: str
    stance: str | None
    negated: bool
    amounts: frozenset[Quantity]
    counted: tuple[Quantity, ...]
    stems: tuple[str, ...]
    content: frozenset[str]
    names: frozenset[str]
    is_sentence: bool
    is_list: bool
    is_ordered: bool


class LexicalJudge:
    """Deterministic, free, and honest about what it is."""

    name = "lexical"
    batch = 1

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [entails(a, b) for a, b in pairs]


def entails(a: str, b: str) -> bool:
    """Whether an answer that says `a` also says `b`."""
    one, other = read(a), read(b)
    if one.plain == other.plain:
        return True
    if not one.plain or not other.plain or _contradict(one, other):
        return False
    # INVARIANT: what b counts, a must count too; a number is never a detail.
    if not other.amounts <= one.amounts:
        return False
    if not one.content or not other.content:
        return not one.content and not other.content and bool(one.amounts or one.stance)
    return _says(one, other)


def agreement(a: str, b: str) -> float:
    """How much of the shorter answer the longer one has, from 0 to 1; 0 where they contradict each other.

    Graded, so that answers of different length can be compared: `Paris` is all in `it is Paris`.
    """
    one, other = read(a), read(b)
    if one.plain == other.plain:
        return 1.0
    if not one.plain or not other.plain or _contradict(one, other):
        return 0.0
    if not (one.amounts <= other.amounts or other.amounts <= one.amounts):
        return 0.0
    if (one.names - other.content and other.names - one.content) or _turned_round(one, other):
        return 0.0
    size = min(len(one.content) + len(one.amounts), len(other.content) + len(other.amounts))
    if not size:
        return float(one.stance == other.stance and one.content == other.content)
    shared = len(one.content & other.content) + len(one.amounts & other.amounts)
    return shared / size


def clash(a: str, b: str) -> bool:
    """Whether words alone keep two answers apart: polarity, numbers, names, or who does what to whom."""
    one, other = read(a), read(b)
    if not one.plain or not other.plain or _contradict(one, other) or _turned_round(one, other):
        return True
    if one.amounts - other.amounts and other.amounts - one.amounts:
        return True
    return bool(one.names - other.content and other.names - one.content)


def _contradict(one: Reading, other: Reading) -> bool:
    if one.stance != other.stance and (one.stance is not None or other.stance is not None):
        bare = not one.content or not other.content
        if (
            bare
            or (one.stance is not None and other.stance is not None)
            or "maybe" in (one.stance, other.stance)
        ):
            return True
    if one.negated != other.negated:
        return True
    only_one, only_other = one.content - other.content, other.content - one.content
    return any(not only_other.isdisjoint(words.OPPOSITE_STEMS.get(word, frozenset())) for word in only_one)


def _says(one: Reading, other: Reading) -> bool:
    missing = other.content - one.content
    if not missing:
        return not _turned_round(one, other)
    if not one.is_sentence and not one.is_list and _is_focus(one.stems, other):
        return True
    if len(one.content) <= SHORT and not one.is_sentence:
        return False
    if missing & other.names:
        return False
    return len(one.content & other.content) / len(other.content) >= COVERAGE


def _is_focus(bare: tuple[str, ...], other: Reading) -> bool:
    """A bare answer inside a sentence that repeats the question, or a name inside the same name in full."""
    if other.is_list:
        return False
    if other.is_sentence:
        return any(other.stems[at : at + len(bare)] == bare for at in range(len(other.stems)))
    longer = other.stems
    return (
        len(longer) <= SHORT
        and longer[-len(bare) :] == bare
        and words.QUALIFIERS.isdisjoint(longer[: -len(bare)])
        and not other.amounts
    )


def _turned_round(one: Reading, other: Reading) -> bool:
    """The same words with the ends swapped: dog bites man, man bites dog. A plain `is` may be swapped."""
    if one.content != other.content or one.is_list or other.is_list:
        return False
    if one.is_ordered and other.is_ordered and one.amounts == other.amounts and one.counted != other.counted:
        return True
    if len(one.stems) < 2 or (len(one.stems) == 2 and not (one.is_ordered and other.is_ordered)):
        return False
    if _may_swap(one) or _may_swap(other):
        return False
    return one.stems[0] == other.stems[-1] != other.stems[0] == one.stems[-1]


def _may_swap(reading: Reading) -> bool:
    return reading.is_sentence and not reading.is_ordered


@lru_cache(16_384)
def read(text: str) -> Reading:
    text = unicodedata.normalize("NFKC", text[:MAX_LENGTH]).strip()
    plainly = text.casefold().replace("’", "'").replace("n't", " not").replace("'s", "")
    lowered = split_units(plainly)
    tokens: list[str] = _TOKEN.findall(lowered)
    plain = " ".join(token for token in tokens if token not in ("a", "an", "the"))
    if plain in words.NON_ANSWERS:
        return _non_answer()
    stance = _stance(tokens)
    rest, counted = quantities([token.rstrip(",") for token in tokens])
    passive = _active(rest)
    negations = sum(token in words.NEGATIONS for token in (rest if stance != "no" else rest[1:]))
    stems = tuple(words.stem(token) for token in passive if token not in _DROPPED)
    content = frozenset(stems)
    pointing = len(tokens) > 1 and tokens[0] in words.PRONOUNS and (tokens[1] in words.BE or "'s" in text)
    is_sentence = (not pointing and any(token in words.VERB_FORMS for token in tokens)) or len(stems) > SHORT
    return Reading(
        plain=plain,
        stance=stance,
        negated=negations % 2 == 1,
        amounts=frozenset(counted),
        counted=counted,
        stems=stems,
        content=content,
        names=_names(text) & content if is_sentence else content,
        is_sentence=is_sentence,
        is_list=not is_sentence and ("and" in tokens or "or" in tokens or ", " in text or "/" in text),
        is_ordered=not words.ORDERED.isdisjoint(tokens) or not any(token in words.BE for token in passive),
    )


def _non_answer() -> Reading:
    nothing: frozenset[str] = frozenset()
    return Reading("<no answer>", "none", False, frozenset(), (), (), nothing, nothing, False, False, False)


def _stance(tokens: list[str]) -> str | None:
    """yes, no or maybe, where the answer opens with it; doubt counts wherever it stands."""
    if not words.MAYBE.isdisjoint(tokens):
        return "maybe"
    first = tokens[0] if tokens else ""
    if first in words.YES:
        return "yes"
    return "no" if first in words.NO and (len(tokens) < 3 or tokens[0] in ("no", "nope", "false")) else None


def _active(tokens: list[str]) -> list[str]:
    """`x is reduced by y` in the order of `y reduces x`."""
    if "by" in tokens:
        at = tokens.index("by")
        be = next((place for place in range(at) if tokens[place] in words.BE), None)
        if be is not None and at + 1 < len(tokens):
            return [*tokens[at + 1 :], *tokens[be + 1 : at], *tokens[:be]]
    return tokens


def _names(text: str) -> frozenset[str]:
    """Stems of words that are written with a capital, the first of a sentence too."""
    found = re.findall(r"[^\W\d_]+", text)
    return frozenset(words.stem(word.casefold()) for word in found if word[0].isupper())
