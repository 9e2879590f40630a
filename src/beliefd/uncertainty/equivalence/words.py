"""The small vocabulary of reading: what says nothing, which forms belong together, what is opposite."""

from typing import Final

from beliefd.uncertainty.equivalence import antonyms
from beliefd.uncertainty.equivalence.forms import IRREGULAR
from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.synonyms import SAME
from beliefd.uncertainty.equivalence.tables import rows, word_set

ARTICLES: Final = word_set("a an the")
STOP: Final = ARTICLES | word_set(
    "of in on at to for with by as from into onto it its he she they them him her his hers their this that "
    "these those there is are was were be been being am do does did done has have had will would can shall "
    "and or but so than then also very just about really quite rather which who whom whose what when where "
    "i we you our your my me us answer called known named located think believe say says said until during "
    "before after because while over under above below between through against within if unless since "
    "anything anybody anyone anywhere "
    "although though however whereas both either whether up down out off again still already yet even too "
    "any something somebody someone somewhere itself himself herself themselves one ones well now please "
    "approximately roughly circa around became become becomes got gets getting remains remain remained "
    "version release corp inc ltd mr mrs ms definitely certainly surely "
    "indeed actually simply currently presently such only FUTURE WOULD"
)
BE: Final = word_set("is are was were be been am being")
PRONOUNS: Final = word_set("it this that he she they")
WITH_IS: Final = PRONOUNS | word_set("there here what who where how")
VERB_FORMS: Final = BE | word_set(
    "has have had does do did will can became becomes made makes won wrote invented born died"
)
YES: Final = word_set("yes yeah yep correct true indeed right affirmative agreed")
NO: Final = word_set("no nope false incorrect wrong negative disagreed")
NON_ANSWERS: Final = frozenset(
    rows(
        "i do not know; do not know; not sure; unknown; no idea; can not say; i not sure; "
        "i am not sure; no answer; not known; can not answer; i have no idea; do not know answer; "
        "i do not know answer; not certain"
    )
)
QUALIFIERS: Final = word_set(
    "south north east west southern northern eastern western new great lower upper inner outer "
    "anti non un ex vice former"
)
PIVOTS: Final = word_set(
    "from to than before over under above below against into onto on in for with until through via at beside "
    "then INSTEAD"
)
"""Between two things they say which is which: `from a to b`."""
RELATIONS: Final = word_set(
    "called call calls named became become becomes said says say got gets think thinks believe believes know "
    "known remains remained"
)
"""They say nothing alone, but it matters who stands on which side of them."""
WHO: Final = {
    "he": "HE", "him": "HE", "his": "HE", "she": "SHE", "her": "SHE", "hers": "SHE", "i": "I", "me": "I",
    "we": "WE", "us": "WE", "they": "THEY", "them": "THEY",
}  # fmt: skip
"""Pronouns count where it matters who did what."""
BOUNDARIES: Final = word_set(
    ", . ; but although though while whereas however because if unless when before after since until then "
    "INSTEAD and or"
)
SYMMETRIC: Final = word_set(
    "married marry marries meets meet met equals equal same differs differ different border borders bordered "
    "adjacent similar sibling siblings cousins twins collided collide merged compatible incompatible between "
    "neighbour neighbours agree agrees disagree disagrees synonymous identical resembles resemble next"
)
"""Where one of them stands it does not matter who is named first."""

_ENDINGS: Final = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "e")


@kept
def stem(word: str) -> str:
    """A word without its ending; rough, and the same for every form of a word most of the time."""
    base = IRREGULAR.get(word)
    if base is not None:
        return SAME_STEMS.get(base) or SAME_STEMS.get(_cut(base), _cut(base))
    if word not in SAME_STEMS and word.endswith(("er", "est")):
        word = _positive(word)
    cut = _cut(word)
    return SAME_STEMS.get(word) or SAME_STEMS.get(cut, cut)


def _cut(word: str) -> str:
    if word.endswith("able") and len(word) > 8:
        word = word[:-4]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            cut = word[: -len(ending)]
            return cut + "y" if ending in ("ied", "ies") else _undoubled(cut, ending)
    return word


def _positive(word: str) -> str:
    """heavier and heaviest as heavy, where the plain form is known."""
    if word in _KNOWN:
        return word
    base = word[:-2] if word.endswith("er") else word[:-3]
    found = (base, base + "e", base[:-1] + "y", base[:-1])
    return next((one for one in found if one in _KNOWN and len(one) > 2), word)


def _undoubled(cut: str, ending: str) -> str:
    doubled = ending in ("ing", "ings", "ed") and cut[-1] == cut[-2:-1] and cut[-1] not in "ls"
    return cut[:-1] if doubled else cut


_KNOWN: Final = frozenset(
    word
    for table in (antonyms.COMPLEMENTS, antonyms.CONTRARIES, antonyms.CONVERSES, antonyms.EXCLUSIVE)
    for row in table
    for word in row.split()
)
SAME_STEMS: Final = {form: _cut(head) for word, head in SAME.items() for form in (word, _cut(word))}


def _opposites(*tables: tuple[str, ...]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in (row for table in tables for row in table):
        stems = [stem(word) for word in row.split()]
        for one in stems:
            found.setdefault(one, set()).update(other for other in stems if other != one)
    return {one: frozenset(others) for one, others in found.items()}


COMPLEMENTS: Final = _opposites(antonyms.COMPLEMENTS)
CONVERSES: Final = _opposites(antonyms.CONVERSES)
CONTRARIES: Final = _opposites(antonyms.CONTRARIES, antonyms.EXCLUSIVE)
PARTICLES: Final = {
    word: stem(word)
    for word in sorted(
        word_set(
            "from until in out over under above below during before after while within up down for against "
            "this next last first final now currently presently"
        )
    )
}
"""Small words that say nothing alone, and are opposites all the same."""
