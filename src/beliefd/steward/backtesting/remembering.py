"""A session that has read the same text before: of many runs most have the same pages and prompts.

What was read is kept over runs: of a text its words, of a record its fields, and of all that one result
brings the table of its words. A run holds which tables it was told, and looks into them when it is asked.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.origin import ContextItem, Lexicon, Session, ToolInfo
from beliefd.kernel.origin.index import FORGOTTEN, MAX_PLACES, Index, Kind, Place, Reading, Wanted
from beliefd.kernel.origin.records import RecordReading
from beliefd.kernel.origin.spelling import Atom
from beliefd.kernel.origin.user import Said

MAX_CHARACTERS: Final = 16 * 1024 * 1024
"""Of the texts that are remembered."""
MAX_LEAVES: Final = 500_000
"""Of the records that are remembered."""
MAX_POSTS: Final = 1_000_000
"""Of the tables that are remembered."""

Post = tuple[int, int, int]
"""Which of the texts a token stands in, where, and in which of its sentences."""


class Table(Struct, eq=False):
    """The tokens of several texts, in the order in which they were told. The texts are kept beside, so that
    their ids are nobody else's."""

    texts: tuple[Reading, ...]
    posts: dict[str, list[Post]]
    size: int


class Remembered:
    """What was read of texts, the last ones; shared by the sessions of all runs."""

    def __init__(self) -> None:
        self._read: OrderedDict[tuple[str, Hashable], Any] = OrderedDict()
        self._size = 0
        self._records: OrderedDict[int, tuple[Any, RecordReading]] = OrderedDict()
        self._leaves = 0
        self._tables: OrderedDict[tuple[int, ...], Table] = OrderedDict()
        self._posts = 0

    def of(self, text: str, how: Hashable, read: Callable[[], Any]) -> Any:
        """What `read` makes of a text; `how` tells different readings of one text apart."""
        key = (text, how)
        if key in self._read:
            return self._read[key]
        found = self._read[key] = read()
        self._size += len(text)
        while self._size > MAX_CHARACTERS:
            (gone, _), _ = self._read.popitem(last=False)
            self._size -= len(gone)
        return found

    def record(self, value: Any, read: Callable[[Any], RecordReading]) -> RecordReading:
        """The same for a record of something parsed. It is kept beside, so its id is nobody else's."""
        held = self._records.get(id(value))
        if held is not None:
            return held[1]
        found = read(value)
        self._records[id(value)] = (value, found)
        self._leaves += len(found.leaves) + 1
        while self._leaves > MAX_LEAVES:
            _, (_, gone) = self._records.popitem(last=False)
            self._leaves -= len(gone.leaves) + 1
        return found

    def table(self, texts: tuple[Reading, ...]) -> Table:
        """The same for the words of several texts."""
        key = tuple(map(id, texts))
        held = self._tables.get(key)
        if held is not None:
            self._tables.move_to_end(key)
            return held
        made = self._tables[key] = _table(texts)
        self._posts += made.size
        while self._posts > MAX_POSTS:
            _, gone = self._tables.popitem(last=False)
            self._posts -= gone.size
        return made


def _table(texts: tuple[Reading, ...]) -> Table:
    posts: dict[str, list[Post]] = {}
    size = 1
    for number, text in enumerate(texts):
        for sentence, found in enumerate(text.posts):
            size += len(found)
            for key, at in found:
                posts.setdefault(key, []).append((number, at, sentence))
    return Table(texts, posts, size)


class RememberingIndex(Index):
    """INVARIANT: it answers what an index answers that reads every text anew, and enters every word."""

    def __init__(self, lexicon: Lexicon, remembered: Remembered) -> None:
        super().__init__(lexicon)
        self._remembered = remembered
        self._told: list[tuple[Reading, Place]] = []
        self._tables: list[tuple[Table, list[Place]]] = []
        self._asked: dict[str, tuple[int, list[tuple[Place, int]]]] = {}

    def read(self, text: str, kind: Kind, things: list[Atom] | None = None) -> Reading:
        found: Reading = self._remembered.of(
            text, kind, lambda: super(RememberingIndex, self).read(text, kind, things)
        )
        return found

    def things(self, text: str) -> list[Atom]:
        found: list[Atom] = self._remembered.of(
            text, "things", lambda: super(RememberingIndex, self).things(text)
        )
        return found

    def _enter(self, found: Reading, place: Place) -> None:
        self._told.append((found, place))

    def close(self) -> None:
        """What was told since the last time is one table: what comes together once does so again."""
        if self._told:
            table = self._remembered.table(tuple(text for text, _ in self._told))
            self._tables.append((table, [place for _, place in self._told]))
            self._told = []

    def found(self, key: str) -> Sequence[tuple[Place, int]]:
        self.close()
        seen, places = self._asked.get(key, (0, []))
        if seen == len(self._tables):
            return places
        for table, texts in self._tables[seen:]:
            for number, at, sentence in table.posts.get(key, ()):
                place = texts[number]
                if len(places) < MAX_PLACES:
                    places.append((place, at))
                elif place.kind == "text":
                    self.beyond[key] = self.beyond.get(key, 0) | place.ordered_around(sentence) | FORGOTTEN
        self._asked[key] = (len(self._tables), places)
        return places

    def uncounted(self, value: Wanted) -> int:
        for key in (value.key,) if value.single else value.parts:
            self.found(key)  # which says what is beyond
        return super().uncounted(value)


class RememberingSession(Session):
    """INVARIANT: nothing changes what was read of a text; it is shared."""

    heard: RememberingIndex

    def __init__(self, lexicon: Lexicon, remembered: Remembered) -> None:
        self._remembered = remembered
        super().__init__(lexicon)
        self.said, self.told, self.heard = (
            RememberingIndex(lexicon, remembered) for _ in ("said", "told", "heard")
        )

    def tell(self, item: ContextItem, tool: ToolInfo | None = None) -> None:
        super().tell(item, tool)
        self.heard.close()

    def _heard_of(self, text: str) -> Said:
        found: Said = self._remembered.of(
            text, "said", lambda: super(RememberingSession, self)._heard_of(text)
        )
        return found

    def _parsed(self, text: str) -> Any:
        return self._remembered.of(text, "parsed", lambda: super(RememberingSession, self)._parsed(text))

    def _read_record(self, value: Any) -> RecordReading:
        return self._remembered.record(value, super()._read_record)


def session_of(lexicon: Lexicon, remembered: Remembered) -> Session:
    """A session whose texts are read once, however many runs have them."""
    return RememberingSession(lexicon, remembered)
