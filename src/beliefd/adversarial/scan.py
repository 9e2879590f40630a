"""Finding the phrases: a cheap first look at words and shapes, then rules only where they can apply."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from beliefd.adversarial import views
from beliefd.adversarial.phrases import ONE_WORD, OTHER_SCRIPTS, RAW, WORDS, Rule

_Needs = tuple[frozenset[bytes], ...]


def _index() -> dict[bytes, tuple[tuple[Rule, _Needs], ...]]:
    """Each rule under the words of its longest-worded set, beside the other sets that must be met too."""
    index: dict[bytes, list[tuple[Rule, _Needs]]] = {}
    for rule in WORDS:
        needs = [frozenset(word.encode() for word in need) for need in rule.needs]
        first = max(needs, key=lambda need: min(map(len, need)))
        for word in first:
            index.setdefault(word, []).append((rule, tuple(need for need in needs if need is not first)))
    return {word: tuple(entries) for word, entries in index.items()}


_BY_WORD: Final = _index()
# Letters that stand alone, and common letters in hexadecimal: several of either hint at a spelt-out phrase.
_LETTERS: Final = frozenset(bytes([c]) for c in b"bcdefghjklmnopqruvwxyz")
_PAIRS: Final = frozenset(f"{c:02x}".encode() for c in b"etaoinrs")
_ROLES: Final = frozenset({b"system", b"assistant", b"developer", b"human"})
_KNOWN: Final = frozenset(_BY_WORD).union(
    *(need for entries in _BY_WORD.values() for _, needs in entries for need in needs),
    _LETTERS,
    _PAIRS,
    _ROLES,
)


def _any_need(rules: tuple[Rule, ...]) -> str:
    return "|".join(re.escape(need) for rule in rules for need in sorted(rule.needs[0]))


_TO_WORDS: Final = views.table(kept=views.LETTERS + views.DIGITS).lower()
_TO_LETTERS: Final = views.table(a=views.LETTERS)
_FROM_LEET: Final = tuple(
    bytes.maketrans(views.LEET_SIGNS.encode(), letters.encode()) for letters in views.LEET_LETTERS
)
_TO_LEET: Final = views.table(a=views.LETTERS, zero=views.LEET_SIGNS)
_PROSE: Final = (views.LETTERS + views.DIGITS + " \t\n\r.,;:!?()'-/+*=_~^@$>}%&\\").encode()
_MARKUP: Final = re.compile(_any_need(RAW).encode())
_ONE_WORD: Final = re.compile(_any_need(ONE_WORD))
_OTHER_WORDS: Final = re.compile(_any_need(OTHER_SCRIPTS))
_ENCODED: Final = (
    (b"%", re.compile(rb"%[0-9a-fA-F]{2}")),
    (b"&", re.compile(rb"&(?:#|[a-zA-Z]{2})")),
    (b"\\", re.compile(rb"\\[xu]")),
)

# A sentence that reports hostile wording is not an order: who says so stands before it.
_REPORTED = re.compile(
    r" (?:attack(?:s|er|ers)?|payloads?|phrases?|strings?|wording|injections?|injected|jailbreaks?|attempts?|"
    r"attempted|tried|tries|detects?|detected|detector|flags|flagged|blocks|blocked|rejects|rejected|"
    r"classifier|quarantined?|samples?|examples?|benchmark|such as|advisory|warns|forbids|policy|token|"
    r"tokenizer|whether|papers?|stud(?:y|ies)|surveys?|measures|measured|how often) "
)
_NOT_AN_ORDER = re.compile(
    r" (?:not|never|cannot|can t|that|which|who|(?<! you )(?:may|might|can|could|would|will|did|does)|"
    r"(?:ask|tell|told|urg|instruct)[a-z]{0,4} (?!you )(?:[^ .]{1,32} ){1,3}to) $"
)


class Look(NamedTuple):
    """What a closer reading has to consider: word rules, with the words they were found by, and disguises."""

    rules: tuple[Rule, ...]
    words: tuple[str, ...]
    markup: bool
    respelt: bool
    encoded: bool

    def concerns(self, low: str) -> bool:
        """Whether a text that was part of this look has to be read at all."""
        return self.markup or self.respelt or self.encoded or any(word in low for word in self.words)


EVERYTHING: Final = Look(WORDS, (), True, True, True)


def look(text: str, wider: Look = EVERYTHING) -> Look:
    """The first look, some 15 ns a character. What a wider look ruled out is not looked for again.

    Characters outside ASCII count as spaces here.
    """
    data = text.encode("ascii", "replace")
    found = _known(data)
    possible = list(_possible(found)) if wider.rules else []
    runs = views.long_runs(text, data) if wider.respelt or wider.encoded else []
    # No phrase goes on from one run to the next: to look through all of them at once is as good.
    one_word = runs and wider.respelt and _ONE_WORD.search("\n".join(runs).lower()) is not None
    return Look(
        tuple([rule for _, rule in possible]),
        tuple([word.decode() for word, _ in possible]),
        wider.markup and _has_markup(data, found),
        wider.respelt and (bool(one_word) or _is_respelt(data, found)),
        wider.encoded and (_is_encoded(data, found) or any(views.decoded_run(run) != run for run in runs)),
    )


def _known(data: bytes) -> frozenset[bytes]:
    found = _KNOWN.intersection(data.translate(_TO_WORDS).split())
    return found | {b"@"} if b"@" in data else found


def _possible(found: frozenset[bytes]) -> Iterator[tuple[bytes, Rule]]:
    for word in found & _BY_WORD.keys():
        for rule, needs in _BY_WORD[word]:
            for need in needs:
                if need.isdisjoint(found):
                    break
            else:
                yield word, rule


def _has_markup(data: bytes, found: frozenset[bytes]) -> bool:
    if b":" in data and not _ROLES.isdisjoint(found):
        return True
    return bool(data.translate(None, _PROSE)) and bool(_MARKUP.search(data.lower()))


def _is_respelt(data: bytes, found: frozenset[bytes]) -> bool:
    if b"a0a" in data.translate(_TO_LEET) and any(
        any(_possible(_known(data.translate(spelling)))) for spelling in _FROM_LEET
    ):
        return True
    if len(found & _LETTERS) < 3:
        return False
    shape = data.translate(_TO_LETTERS)
    if not any(pair in shape for pair in (b" a a ", b" a  a ", b" a   a ")):
        return False
    return b"a a a a a" in shape.replace(b"  ", b" ").replace(b"  ", b" ")


def _is_encoded(data: bytes, found: frozenset[bytes]) -> bool:
    if len(found & _PAIRS) >= 3 and b"aa aa aa aa aa aa aa aa" in data.translate(views.TO_RUNS):
        return True
    return any(sign in data and code.search(data) for sign, code in _ENCODED)


class Hit(NamedTuple):
    rule: Rule
    text: str
    reported: bool


def hits(low: str, here: Look, *, may_report: bool) -> Iterator[Hit]:
    """Rules that match a lower-case text, each once. A hit is `reported` if the text only talks about it."""
    if here.rules:
        words = views.squeeze(low)
        for rule in dict.fromkeys(here.rules):
            yield from _match(rule, words, may_report)
    raw: tuple[Rule, ...] = RAW if here.markup else ()
    if here.respelt and not may_report:
        raw += ONE_WORD
    if not low.isascii() and _OTHER_WORDS.search(low):
        raw += OTHER_SCRIPTS
    for rule in raw:
        if any(need in low for need in rule.needs[0]):
            yield from _match(rule, low, may_report)


def _match(rule: Rule, text: str, may_report: bool) -> Iterator[Hit]:
    reported = None
    for match in rule.pattern.finditer(text):
        hit = Hit(
            rule, text[match.start() : match.start() + 120], may_report and _is_report(text, match.start())
        )
        if not hit.reported:
            yield hit
            return
        reported = reported or hit
    if reported:
        yield reported


def _is_report(text: str, start: int) -> bool:
    before = views.squeeze(text[max(0, start - 160) : start + 1])
    sentence = " " + before.rpartition(" . ")[2]
    return bool(_REPORTED.search(sentence) or _NOT_AN_ORDER.search(sentence))
