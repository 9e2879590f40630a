"""Where values stand in the texts of a session: a lookup per value, whatever the session's length.

INVARIANT: what is forgotten for want of room makes no call safer. A value that is not found counts as the
model's own, or as untrusted text once something was left out; a token that stands in more places than are
kept carries with it what was ordered around the others.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.spelling import Atom, Shape, atoms, folded, host_of, joined_accounts

MAX_TEXT: Final = 200_000
"""Characters of one text that are indexed."""
MAX_TOKENS: Final = 4_000_000
"""Tokens of a session that are indexed."""
MAX_PLACES: Final = 64
"""Places per token that are kept."""
MAX_SHAPES: Final = 16
"""Addresses of one shape that are kept of a record."""
MAX_VALUE: Final = 2_048
"""Characters of a value that are looked up; longer values are texts."""

_END: Final = re.compile(r"""[.!?]+["')\]]*(?=\s|$)|\n+""")

FORGOTTEN: Final = 1 << 30
"""A bit of no class: places of this token are not kept."""

HOST: Final = "//"
"""Before the host of an address, which is looked up apart from words."""

Kind = Literal["text", "label", "field"]


class Label(Struct, frozen=True, gc=False):
    """A short field by which the user may speak of a record. `meant` are those of its words that say
    something."""

    kind: Kind
    parts: tuple[str, ...]
    meant: tuple[str, ...]


class Record(Struct, eq=False, gc=False):
    """One record of a result. `named`: the user speaks of it; `linked`: a document he follows does.

    `authored`: somebody has sent or posted it, and chose its title, too; `written`: somebody may have, since
    it holds a text beside an address; `keyed`: the user gave its key.
    """

    item: int
    tool: str
    how: Literal["own", "directory", "queried", "listed", "open", "said"]
    named: bool = False
    linked: bool = False
    authored: bool = False
    written: bool = False
    keyed: bool = False
    orders: int = 0
    labels: list[Label] = []
    addresses: list[str] = []
    shapes: dict[Shape, set[str]] = {}


class Place(Struct, eq=False, gc=False):
    """A text or field, with its words and what each of its sentences orders."""

    record: Record
    path: str
    kind: Kind
    tokens: list[str]
    starts: list[int]
    orders: list[int]
    echo: bool = False

    def ordered_at(self, position: int, around: int = 1) -> int:
        """Classes of what is ordered in the sentence there and in so many neighbours."""
        return self.ordered_around(max(0, bisect_right(self.starts, position) - 1), around)

    def ordered_around(self, at: int, around: int = 1) -> int:
        """The same, of the sentence of that number."""
        mask = 0
        for order in self.orders[max(0, at - around) : at + around + 1]:
            mask |= order
        return mask

    def words_at(self, position: int, around: int = 1) -> list[str]:
        """The words of the same sentences."""
        at = max(0, bisect_right(self.starts, position) - 1)
        last = at + around + 1
        end = self.starts[last] if last < len(self.starts) else len(self.tokens)
        return self.tokens[self.starts[max(0, at - around)] : end]


class Reading(Struct, eq=False):
    """What stands in a text: its words, where its sentences begin and what each orders, the tokens by which
    each is to be found, and addresses by their shapes. `ordered` is what all of it orders, `whole` the value
    of a field."""

    tokens: list[str] = []
    starts: list[int] = []
    orders: list[int] = []
    posts: list[list[tuple[str, int]]] = []
    shapes: list[tuple[Shape, str]] = []
    ordered: int = 0
    whole: str | None = None


class Wanted(Struct, frozen=True, gc=False):
    """A value in its one spelling: one atom, or the words of several."""

    key: str
    parts: tuple[str, ...]
    single: bool
    shape: Shape
    days: tuple[str, ...] = ()


class Index:
    """Tokens of texts and the places they stand in; values of whole fields apart."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        # Most tokens stand in one place only: a list for each would be the larger part of all memory.
        self._first: dict[str, tuple[Place, int]] = {}
        self._more: dict[str, list[tuple[Place, int]]] = {}
        self.beyond: dict[str, int] = {}
        self.whole: dict[str, list[Place]] = {}
        self.tokens = 0
        self.left_out = False
        self.touched = 0
        """Places looked at so far, for tests of what a lookup costs."""

    def things(self, text: str) -> list[Atom]:
        """What stands in a short text."""
        return list(self._atoms(joined_accounts(folded(text[:MAX_TEXT]))))

    def add(
        self,
        text: str,
        record: Record,
        path: str,
        kind: Kind,
        *,
        echo: bool = False,
        things: list[Atom] | None = None,
    ) -> Place:
        """`things` are those of a field, if they are known already."""
        if len(text) > MAX_TEXT:
            text, self.left_out = text[:MAX_TEXT], True
        if self.tokens > MAX_TOKENS:
            self.left_out = True
            return Place(record, path, kind, [], [], [], echo)
        found = self.read(text, kind, things)
        place = Place(record, path, kind, found.tokens, found.starts, found.orders, echo)
        record.orders |= found.ordered
        for shape, key in found.shapes:
            known = record.shapes.setdefault(shape, set())
            if len(known) < MAX_SHAPES:
                known.add(key)
        self.tokens += len(found.tokens)
        if found.whole is not None:
            self._keep(found.whole, place)
        self._enter(found, place)
        return place

    def _enter(self, found: Reading, place: Place) -> None:
        """Make the tokens of a text known, each with where it stands."""
        for at, posts in enumerate(found.posts):
            self._post(posts, place, at)

    def read(self, text: str, kind: Kind, things: list[Atom] | None = None) -> Reading:
        """What stands in a text. The same for the same text, whoever has it."""
        found = Reading()
        if kind == "text":
            for one in sentences(joined_accounts(folded(text))):
                self._read_sentence(list(self._atoms(one)), found, self._lexicon.orders_of)
            return found
        # A field is one sentence, and orders nothing.
        known = self.things(text) if things is None else things
        self._read_sentence(known, found, None)
        if len(text) <= MAX_VALUE and (wanted := joined(known)):
            found.whole = wanted.key
        return found

    def _atoms(self, plain: str) -> Iterator[Atom]:
        return atoms(plain, self._lexicon.month_of)

    def _read_sentence(
        self, atoms_: list[Atom], found: Reading, orders_of: Callable[[list[str]], int] | None
    ) -> None:
        """Adds a sentence, and the tokens by which it is to be found, with where they stand."""
        tokens = found.tokens
        at = first = len(tokens)
        seen: list[tuple[str, int]] = []
        for atom in atoms_:
            key, parts = atom.key, atom.parts
            seen.append((key, at))
            if atom.shape != "word" or len(parts) != 1 or parts[0] != key:
                _take_apart(atom, at, seen, found)
            tokens += parts
            at += len(parts)
        found.starts.append(first)
        order = 0 if orders_of is None else orders_of(tokens[first:])
        found.orders.append(order)
        found.ordered |= order
        found.posts.append(seen)

    def _post(self, posts: list[tuple[str, int]], place: Place, sentence: int) -> None:
        first, more = self._first, self._more
        for key, at in posts:
            if key not in first:
                first[key] = (place, at)
            elif (places := more.get(key)) is None:
                more[key] = [first[key], (place, at)]
            elif len(places) < MAX_PLACES:
                places.append((place, at))
            elif place.kind == "text":
                self.beyond[key] = self.beyond.get(key, 0) | place.ordered_around(sentence) | FORGOTTEN

    def found(self, key: str) -> Sequence[tuple[Place, int]]:
        """Where a token stands, as far as that is kept."""
        if (places := self._more.get(key)) is not None:
            return places
        return (self._first[key],) if key in self._first else ()

    def _keep(self, key: str, place: Place) -> None:
        places = self.whole.setdefault(key, [])
        if len(places) < MAX_PLACES:
            places.append(place)
        elif place.record.named or place.record.how != "listed":
            worse = next((at for at, old in enumerate(places) if not old.record.named), None)
            if worse is not None:
                places[worse] = place

    def wanted(self, value: str) -> Wanted | None:
        if len(value) > MAX_VALUE:
            return None
        return wanted(value, self._lexicon.month_of)

    def places(self, value: Wanted) -> Iterator[tuple[Place, int]]:
        """Where the whole value stands, at token boundaries."""
        if value.single:
            found = self.found(value.key)
            self.touched += len(found)
            yield from found
            return
        rarest = min(range(len(value.parts)), key=lambda at: len(self.found(value.parts[at])))
        wanted = list(value.parts)
        for place, at in self.found(value.parts[rarest]):
            self.touched += 1
            start = at - rarest
            if start >= 0 and place.tokens[start : start + len(wanted)] == wanted:
                yield place, start

    def uncounted(self, value: Wanted) -> int:
        """What was ordered around places that are not kept; 0 if all are."""
        if value.single:
            return self.beyond.get(value.key, 0)
        mask = -1
        for part in value.parts:
            mask &= self.beyond.get(part, 0)
        return max(mask, 0)

    def has(self, value: Wanted) -> bool:
        return next(self.places(value), None) is not None


def _take_apart(atom: Atom, at: int, seen: list[tuple[str, int]], found: Reading) -> None:
    seen += [(part, at + step) for step, part in enumerate(atom.parts) if part != atom.key]
    if atom.shape in ("url", "host"):
        seen.append((f"{HOST}{host_of(atom.key)}", at))
    if atom.shape in ("email", "url", "iban", "host"):
        found.shapes.append((atom.shape, atom.key))


def wanted(value: str, months: dict[str, int]) -> Wanted | None:
    """None for what has no word in it."""
    return joined(atoms(joined_accounts(folded(value)), months))


def joined(atoms_: Iterable[Atom]) -> Wanted | None:
    """The things of a value as one; None if there are none."""
    found = [atom for atom in atoms_ if atom.parts]
    if not found:
        return None
    days = tuple(atom.parts[0] for atom in found if atom.shape == "day")
    if len(found) == 1:
        return Wanted(found[0].key, found[0].parts, True, found[0].shape, days)
    parts = tuple(part for atom in found for part in atom.parts)
    return Wanted(" ".join(parts), parts, False, "word", days)


def sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    if start < len(text):
        yield text[start:]


def orders(tokens: list[str], verbs: dict[str, int]) -> int:
    """Classes that the words of a sentence ask for."""
    mask = 0
    for at, token in enumerate(tokens):
        mask |= verbs.get(token, 0)
        if at + 1 < len(tokens):
            mask |= verbs.get(f"{token} {tokens[at + 1]}", 0)
    return mask
