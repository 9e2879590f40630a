"""An index that has taken the same text in before: of many runs most read the same pages and prompts."""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from beliefd.kernel.origin import Lexicon, Session
from beliefd.kernel.origin.index import MAX_TEXT, MAX_TOKENS, Index, Kind, Place, Record

MAX_CHARACTERS: Final = 16 * 1024 * 1024
"""Of the texts that are remembered."""


class Taken(Struct, frozen=True):
    """What came of taking a text in, but for whose it was."""

    place: Place
    posts: list[tuple[str, int]]
    record: Record
    tokens: int


class Remembered:
    """Texts that were taken in, the last ones; shared by the indices of all runs."""

    def __init__(self) -> None:
        self._taken: OrderedDict[tuple[str, Kind], Taken] = OrderedDict()
        self._size = 0

    def get(self, text: str, kind: Kind) -> Taken | None:
        return self._taken.get((text, kind))

    def keep(self, text: str, kind: Kind, taken: Taken) -> None:
        self._taken[text, kind] = taken
        self._size += len(text)
        while self._size > MAX_CHARACTERS:
            (gone, _), _ = self._taken.popitem(last=False)
            self._size -= len(gone)


class RememberingIndex(Index):
    """INVARIANT: it holds what an index holds that reads every text anew."""

    def __init__(self, lexicon: Lexicon, remembered: Remembered) -> None:
        super().__init__(lexicon)
        self._remembered = remembered
        self._posted: list[tuple[str, int]] | None = None

    def add(self, text: str, record: Record, path: str, kind: Kind, *, echo: bool = False) -> Place:
        if len(text) > MAX_TEXT or self.tokens > MAX_TOKENS - len(text):
            return super().add(text, record, path, kind, echo=echo)
        taken = self._remembered.get(text, kind)
        if taken is None:
            taken = self._read(text, kind)
        found = taken.place
        place = Place(record, path, kind, found.tokens, found.starts, found.orders, echo)
        record.orders |= taken.record.orders
        for shape, keys in taken.record.shapes.items():
            known = record.shapes.setdefault(shape, set())
            for key in keys:
                if len(known) < MOST_SHAPES:
                    known.add(key)
        self.tokens += taken.tokens
        for key, at in taken.posts:
            self._post(key, place, at)
        if kind != "text" and (wanted := self.wanted(text)):
            self._keep(wanted.key, place)
        return place

    def _read(self, text: str, kind: Kind) -> Taken:
        """Take a text in apart from all others, and write down what of it would go where."""
        apart = _Apart(self._lexicon)
        record = Record(0, "", "said", shapes={})
        place = Index.add(apart, text, record, "", kind)
        taken = Taken(place, apart.posts, record, apart.tokens)
        self._remembered.keep(text, kind, taken)
        return taken


class _Apart(Index):
    def __init__(self, lexicon: Lexicon) -> None:
        super().__init__(lexicon)
        self.posts: list[tuple[str, int]] = []

    def _post(self, key: str, place: Place, at: int) -> None:
        self.posts.append((key, at))


MOST_SHAPES: Final = 16


def session_of(lexicon: Lexicon, remembered: Remembered) -> Session:
    """A session whose texts are read once, however many runs have them."""
    session = Session(lexicon)
    session.said, session.told, session.heard = (
        RememberingIndex(lexicon, remembered) for _ in ("said", "told", "heard")
    )
    return session
