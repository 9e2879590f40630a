"""What turns a statement into its opposite."""

from typing import Final

from beliefd.uncertainty.equivalence.kept import kept
from beliefd.uncertainty.equivalence.synonyms import SAME
from beliefd.uncertainty.equivalence.tables import word_set

FREE: Final = word_set(
    "not never without hardly barely scarcely lack lacks lacked lacking nor sans avoid avoids avoided "
    "avoiding avert averts averted averting"
)
"""They turn round what comes behind them in the clause."""
WHOLE: Final = frozenset(["no", "none", "nobody", "nothing", "nowhere", "neither", "NOT_SO"])
"""They turn round the clause, wherever in it they stand: `no data was lost` is `data was not lost`."""

UNITS: Final = {
    form: base
    for base, forms in {
        "pass": "fail fails failed failing",
        "true": "false untrue",
        "correct": "wrong incorrect mistaken erroneous",
        "open": "closed shut",
        "alive": "dead deceased",
        "present": "absent missing",
        "online": "offline",
        "safe": "dangerous hazardous",
        "work": "broken malfunctions malfunctioned malfunctioning",
        "guilty": "innocent",
        "possible": "impossible",
        "valid": "expired expires expire expiring lapsed lapses lapse",
        "report": "deny denies denying",
    }.items()
    for form in forms.split()
}
"""Words that are another word with a `not` in them."""
_NO_PREFIX: Final = (
    "under", "uni", "unt", "uncles", "unless", "unanim", "until", "ungu", "unct", "undul",
)  # fmt: skip
_MORE: Final = ("in", "im", "il", "ir", "dis")
_NOT_THESE: Final = word_set("close able place port part cover charge play form side stance")
PREFIXES: Final = ("un", "in", "im", "il", "ir", "dis", "non", "de", "mis", "dys", "counter", "anti", "a")


@kept
def positive(word: str) -> str | None:
    """The word without the `not` that is in it: safe for unsafe. None for a word that has none.

    `un` and `non` are cut from any word, other prefixes from words that are known. From others they are cut
    only beside the word that they stand before (`opposed`): no rule tells `invalid` from `invoice`.
    """
    if word in UNITS:
        return UNITS[word]
    if word.startswith("un") and len(word) > 5 and not word.startswith(_NO_PREFIX):
        return word[2:]
    if word.startswith("non") and len(word) > 5:
        return word[3:].lstrip("-")
    for prefix in _MORE:
        base = word[len(prefix) :]
        if word.startswith(prefix) and base in SAME and base not in _NOT_THESE and word not in SAME:
            return base
    return None


_FACING: Final = (
    ("over", "under"), ("out", "under"), ("up", "down"), ("in", "out"), ("in", "ex"), ("pre", "post"),
    ("hyper", "hypo"), ("macro", "micro"), ("super", "sub"), ("pro", "anti"), ("inter", "intra"),
    ("tachy", "brady"), ("en", "dis"), ("max", "min"), ("for", "back"), ("hetero", "homo"), ("mono", "poly"),
)  # fmt: skip


def facing(stem: str, others: frozenset[str]) -> bool:
    """Whether one of `others` has the opposite prefix: overvalued, undervalued."""
    return not others.isdisjoint(_opposite_forms(stem))


@kept
def _opposite_forms(stem: str) -> tuple[str, ...]:
    return tuple(
        other + stem[len(one) :]
        for pair in _FACING
        for one, other in (pair, pair[::-1])
        if stem.startswith(one) and len(stem) - len(one) > 2
    )


def opposed(stem: str, others: frozenset[str]) -> str | None:
    """The one of `others` that differs from a stem by a prefix that means `not`: valid, invalid."""
    return next((form for form in _denying_forms(stem) if form in others), None)


@kept
def _denying_forms(stem: str) -> tuple[str, ...]:
    cut = (stem[len(prefix) :] for prefix in PREFIXES if stem.startswith(prefix))
    found = (*(prefix + stem for prefix in PREFIXES), *(rest for rest in cut if len(rest) > 2))
    # `asleep` is not `not sleep`: a single letter means `not` before long words only, as in `asymptomatic`.
    return tuple(form for form in found if abs(len(form) - len(stem)) > 1 or len(stem) > 6)
