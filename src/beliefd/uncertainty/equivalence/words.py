"""The small vocabulary of the lexical judge: what says nothing, what turns round, what is the same."""

from functools import lru_cache
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP: Final = _set(
    "a an the of in on at to for with by as from into it its he she they them him her his their this that "
    "these those there is are was were be been being am do does did has have had will would can shall "
    "and or but so than then also very just about really which who whom what when where i we you our your my "
    "me us answer called known named located think believe say says said"
)
BE: Final = _set("is are was were be been am")
PRONOUNS: Final = _set("it this that he she they")
VERB_FORMS: Final = BE | _set(
    "has have had does do did will can became becomes made makes won wrote invented born died"
)
NEGATIONS: Final = _set("not no never none neither nor without cannot nobody nothing isn aren wasn weren don "
                        "doesn didn won't can't couldn wouldn shouldn hasn haven hadn false")  # fmt: skip
YES: Final = _set("yes yeah yep correct true indeed right affirmative agreed")
NO: Final = _set("no nope false incorrect wrong negative disagreed")
MAYBE: Final = _set("maybe perhaps possibly unsure unclear uncertain depends probably might")
NON_ANSWERS: Final = (
    "i do not know", "do not know", "not sure", "unknown", "no idea", "cannot say", "i m not sure",
    "i am not sure", "no answer", "not known", "cannot answer", "can t answer", "can t say",
)  # fmt: skip
ORDERED: Final = _set("from to than before after over against beats beat defeats defeated causes caused")
QUALIFIERS: Final = _set(
    "south north east west southern northern eastern western new great lower upper inner outer "
    "anti non un ex vice former"
)

SAME: Final = {
    word: group.split()[0]
    for group in (
        "reduce lower decrease diminish cut drop lessen decline fall shrink",
        "increase raise rise grow elevate climb boost heighten",
        "begin start commence", "end finish stop cease", "big large huge great", "small little tiny",
        "quick fast rapid", "film movie", "car automobile", "doctor physician", "child kid",
        "usa us america u.s u.s.a", "uk britain u.k", "medicine drug medication", "buy purchase",
        "make produce create", "show demonstrate", "allow permit let", "forbid prohibit ban",
        "old aged ancient",
        "january jan", "february feb", "april apr", "august aug", "september sep sept", "october oct",
        "november nov", "december dec", "city town", "sick ill", "cause lead", "win victory",
        "help aid assist",
    )
    for word in group.split()
}  # fmt: skip
_PAIRS: Final = (
    "reduce increase", "begin end", "big small", "hot cold", "warm cool", "high low", "up down",
    "left right", "before after", "above below", "allow forbid", "accept reject", "approve reject",
    "safe dangerous", "legal illegal", "possible impossible", "alive dead", "true false", "win lose",
    "gain loss", "open close", "enable disable", "include exclude", "better worse", "best worst",
    "more less", "more fewer", "most least", "positive negative", "present absent", "healthy sick",
    "strong weak", "fast slow", "quick slow", "early late", "north south", "east west", "always never",
    "all none", "male female", "import export", "buy sell", "success failure", "succeed fail",
    "pass fail", "guilty innocent", "rich poor", "young old", "maximum minimum", "first last",
    "acid base", "stable unstable", "known unknown", "effective ineffective", "even odd", "on off",
    "start stop", "inside outside", "improve worsen", "harmful harmless", "same different",
    "add remove",
)  # fmt: skip
OPPOSITES: Final[dict[str, frozenset[str]]] = {}
for _pair in _PAIRS:
    _one, _other = _pair.split()
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}

_ENDINGS: Final = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "ly", "e")
_IRREGULAR: Final = {"fell": "fall", "fallen": "fall", "rose": "rise", "risen": "rise", "grew": "grow",
                     "grown": "grow", "began": "begin", "begun": "begin", "won": "win", "lost": "lose",
                     "made": "make", "bought": "buy", "sold": "sell", "children": "child", "died": "die",
                     "deadly": "dead", "fewer": "fewer", "less": "less", "led": "lead",
                     "shown": "show"}  # fmt: skip


@lru_cache(16_384)
def stem(word: str) -> str:
    """A word without its ending; rough, and the same for every form of a word most of the time."""
    if word in _IRREGULAR:
        return SAME_STEMS.get(_IRREGULAR[word], _IRREGULAR[word])
    cut = _cut(word)
    return SAME_STEMS.get(word) or SAME_STEMS.get(cut, cut)


def _cut(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            cut = word[: -len(ending)]
            return cut + "y" if ending in ("ied", "ies") else _undoubled(cut, ending)
    return word


def _undoubled(cut: str, ending: str) -> str:
    doubled = ending in ("ing", "ings", "ed") and cut[-1] == cut[-2:-1] and cut[-1] not in "ls"
    return cut[:-1] if doubled else cut


SAME_STEMS: Final = {form: _cut(head) for word, head in SAME.items() for form in (word, _cut(word))}
OPPOSITE_STEMS: Final = {
    stem(word): frozenset(stem(other) for other in others) for word, others in OPPOSITES.items()
}
