"""An index that has read the same text before: of many runs most have the same pages and prompts."""

from collections import OrderedDict
from typing import Final

from beliefd.kernel.origin import Lexicon, Session
from beliefd.kernel.origin.index import Index, Kind, Reading
from beliefd.kernel.origin.spelling import Atom

MAX_CHARACTERS: Final = 16 * 1024 * 1024
"""Of the texts that are remembered."""


class Remembered:
    """Texts that were read, the last ones; shared by the indices of all runs."""

    def __init__(self) -> None:
        self._read: OrderedDict[tuple[str, Kind], Reading] = OrderedDict()
        self._size = 0

    def get(self, text: str, kind: Kind) -> Reading | None:
        return self._read.get((text, kind))

    def keep(self, text: str, kind: Kind, found: Reading) -> None:
        self._read[text, kind] = found
        self._size += len(text)
        while self._size > MAX_CHARACTERS:
            (gone, _), _ = self._read.popitem(last=False)
            self._size -= len(gone)


class RememberingIndex(Index):
    """INVARIANT: it holds what an index holds that reads every text anew."""

    def __init__(self, lexicon: Lexicon, remembered: Remembered) -> None:
        super().__init__(lexicon)
        self._remembered = remembered

    def read(self, text: str, kind: Kind, things: list[Atom] | None = None) -> Reading:
        found = self._remembered.get(text, kind)
        if found is None:
            found = super().read(text, kind, things)
            self._remembered.keep(text, kind, found)
        return found


def session_of(lexicon: Lexicon, remembered: Remembered) -> Session:
    """A session whose texts are read once, however many runs have them."""
    session = Session(lexicon)
    session.said, session.told, session.heard = (
        RememberingIndex(lexicon, remembered) for _ in ("said", "told", "heard")
    )
    return session
