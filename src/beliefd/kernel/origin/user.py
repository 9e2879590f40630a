"""What the user's words say: what is asked for, about which things, and where its values are to come from."""

import re
from itertools import pairwise
from typing import Final

from msgspec import Struct

from beliefd.kernel.origin.index import Record, orders, wanted
from beliefd.kernel.origin.lexicon import BIT, Lexicon
from beliefd.kernel.origin.naming import within
from beliefd.kernel.origin.spelling import SINK_SHAPES, atoms, folded, unmarked

MAX_HEARD: Final = 50_000
"""Characters of a user's text that are read for what they ask."""
_QUOTED: Final = re.compile(r"""(?<!\w)['"‘“«`]([^'"’”»`\n]{2,80})['"’”»`](?!\w)""")
_CAPITAL: Final = re.compile(r"[A-ZÀ-Þ][\w'-]+")
_BEGINS: Final = re.compile(r"(?:^|[.!?:;\n])[\s>*-]*$")
"""Before the first word of a sentence, which is written like a name whatever it is."""
_BEFORE: Final = 20
_NEXT: Final = re.compile(r" ([a-z]+)")
_SHAPED: Final = {
    "email": ("mail",),
    "url": ("web",),
    "host": ("web",),
    "iban": ("money",),
    "path": ("file",),
}


class Said(Struct, frozen=True):
    """One text of the user, read."""

    mask: int
    mentions: dict[str, int]
    words: frozenset[str]
    groups: frozenset[str]
    phrases: frozenset[str]
    names: frozenset[str]
    quoted: tuple[tuple[str, ...], ...]
    secrets: frozenset[str]
    numbers: frozenset[str] = frozenset()
    addresses: dict[str, frozenset[str]] = {}


def read_said(text: str, lexicon: Lexicon) -> Said:
    text = text[:MAX_HEARD]
    plain = folded(text)
    found = list(atoms(plain, lexicon.month_of))
    words = [part for atom in found for part in (atom.parts if atom.shape == "word" else (atom.key,))]
    spoken = frozenset(words)
    # What is asked for is read without marks, which people leave out.
    words, plain = [unmarked(word) for word in words], unmarked(plain)
    spoken |= frozenset(words)
    pairs = [f"{left} {right}" for left, right in pairwise(words)]
    groups = {group for word in [*words, *pairs] for group in lexicon.groups.get(word, ())}
    groups |= {group for atom in found for group in _SHAPED.get(atom.shape, ())}
    if re.search(r"\w\.(?:txt|docx?|xlsx?|pptx?|pdf|md|csv|json|ya?ml|py|js|png|jpe?g)\b", plain):
        groups.add("file")
    if re.search(r"(?<!\w)#[a-z]", plain):
        groups.add("chat")
    quoted = [wanted(found[1], lexicon.month_of) for found in _QUOTED.finditer(text)]
    mask = orders(words, lexicon.asked)
    for name, pattern in lexicon.speaks.items():
        mask |= BIT[name] if pattern.search(plain) else 0
    return Said(
        mask=mask,
        mentions=_mentions(words, lexicon),
        words=spoken,
        groups=frozenset(groups),
        phrases=frozenset(kind for kind, pattern in lexicon.says.items() if pattern.search(plain)),
        names=frozenset(_names(text, lexicon)),
        quoted=tuple(one.parts for one in quoted if one and any(len(part) > 2 for part in one.parts)),
        secrets=lexicon.secrets_in(plain),
        numbers=frozenset(atom.key for atom in found if atom.shape == "number"),
        addresses={
            shape: frozenset(atom.key for atom in found if atom.shape == shape) for shape in SINK_SHAPES
        },
    )


def _mentions(words: list[str], lexicon: Lexicon) -> dict[str, int]:
    counts = dict.fromkeys(BIT, 0)
    for at, word in enumerate(words):
        mask = lexicon.asked.get(word, 0)
        if at + 1 < len(words):
            mask |= lexicon.asked.get(f"{word} {words[at + 1]}", 0)
        for name, bit in BIT.items():
            counts[name] += bool(mask & bit)
    return counts


def _names(text: str, lexicon: Lexicon) -> set[str]:
    """Words written like names that are no words of the language the lexicon knows."""
    found = set()
    for match in _CAPITAL.finditer(text):
        plain = folded(match[0]).removesuffix("'s")
        known = (
            plain in lexicon.stops
            or plain in lexicon.ordered
            or plain in lexicon.month_of
            or plain in lexicon.weekdays
            or plain in lexicon.groups
        )
        if len(plain) > 2 and not known and not _only_begins(match, text, lexicon):
            found.add(plain)
    return found


def _only_begins(match: "re.Match[str]", text: str, lexicon: Lexicon) -> bool:
    """Is a word written like a name because a sentence begins with it? But who does something is somebody."""
    if not match[0][1:].islower() or match[0].endswith("'s"):
        return False
    if not _BEGINS.search(text[max(0, match.start() - _BEFORE) : match.start()]):
        return False
    following = _NEXT.match(text, match.end())
    return following is None or not (following[1].endswith("ed") or following[1] in lexicon.subject_of)


def together(said: list[Said]) -> Said:
    """Several texts as one."""
    if len(said) == 1:
        return said[0]
    nothing: frozenset[str] = frozenset()
    mask = 0
    for one in said:
        mask |= one.mask
    return Said(
        mask=mask,
        mentions={name: sum(one.mentions[name] for one in said) for name in BIT},
        words=nothing.union(*(one.words for one in said)),
        groups=nothing.union(*(one.groups for one in said)),
        phrases=nothing.union(*(one.phrases for one in said)),
        names=nothing.union(*(one.names for one in said)),
        quoted=tuple(quote for one in said for quote in one.quoted),
        secrets=nothing.union(*(one.secrets for one in said)),
        numbers=nothing.union(*(one.numbers for one in said)),
        addresses={shape: nothing.union(*(one.addresses[shape] for one in said)) for shape in SINK_SHAPES},
    )


def speaks_of(speech: Said, record: Record, lexicon: Lexicon) -> bool:
    """Does the user speak of it? By a short field, a quoted phrase or a name in one."""
    words = speech.words
    if not words.isdisjoint(record.addresses):
        return True
    for label in record.labels:
        kind, meant = label.kind, label.meant
        if not meant:
            continue
        if not speech.names.isdisjoint(meant):
            return True
        if any(within(quote, label.parts) for quote in speech.quoted):
            return True
        known = sum(part in words for part in meant)
        if kind == "label" and known > 1 and known >= len(meant) - 1:
            return True
        if known == len(meant) and (
            len(meant) > 1
            or kind == "label"
            or (meant[0] not in lexicon.groups and meant[0] not in lexicon.ordered and not meant[0].isdigit())
        ):
            return True
    return False
