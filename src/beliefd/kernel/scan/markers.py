"""The scan for speculation in disguise: the second line behind labels and minted evidence (guard 1).

A marker is found in any spelling, in keys and values, in every container, in bytes, and in JSON inside of
texts, however often encoded; also in base64, in percent escapes, and in fields that are written as lines,
pairs or XML. Its path says where: `$.a[3].b` as usual, `[*]` in a set, `~` in a key itself, `{}` inside the
JSON that a text is, `{@17}` inside JSON after 17 characters of prose, `{?}` inside JSON that does not parse
or a field that is no JSON, `{base64}` and `{%}` inside what a text encodes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, time, timedelta
from enum import Enum
from typing import Any, Final, Literal

import msgspec
import orjson

from beliefd.kernel.scan.encodings import SHORTEST, is_coded, is_coded_json, pairs, unwrapped, without_digests
from beliefd.kernel.scan.paths import IN_BROKEN_JSON, IN_JSON, IN_KEY, IN_SET, ROOT, PathStep, Place, written
from beliefd.kernel.scan.spelling import plain
from beliefd.kernel.scan.texts import Pairs, Tangled, fields, parsed
from beliefd.kernel.scan.words import MEANINGS, Meaning, WordList, could_mark, says_speculative

MAX_DEPTH: Final = 64
"""Containers in containers; each layer of JSON in a text counts as one."""
MAX_VALUES: Final = 1_000_000
MAX_TEXT: Final = 16 * 1024 * 1024
"""Characters that may have to be read as JSON, all layers together."""

Kind = Literal["status", "label", "flag", "context", "shape", "residue", "too_deep", "too_large", "opaque"]
UNREADABLE: Final = frozenset({"too_deep", "too_large", "opaque"})
_SAYING: Final[dict[Meaning | None, Kind]] = {Meaning.STATUS: "status", Meaning.LABEL: "label"}
_NAME, _VALUE = Meaning.NAME, Meaning.VALUE
_SIMPLE: Final = frozenset({int, float, bool, type(None)})
_ATOMS: Final = (int, float, complex, type(None), date, time, timedelta, msgspec.UnsetType)
_SHOWN: Final = 48
_YES: Final = frozenset({"true", "yes", "1"})


class Marker(msgspec.Struct, frozen=True):
    """What was found, and where. `kind` says whether it is speculation or something that cannot be read."""

    path: str
    kind: Kind
    found: str

    @property
    def unreadable(self) -> bool:
        return self.kind in UNREADABLE


def find_marker(value: object, vocabulary: WordList = WordList.EVIDENCE) -> Marker | None:
    """The first marker of speculation in a document, or None.

    INVARIANT: what cannot be read within bounds is a marker too; what was not seen does not pass.
    """
    return None if _has_no_word(value, vocabulary) else _Scan(vocabulary).run(value)


def _has_no_word(value: object, vocabulary: WordList) -> bool:
    """Can it be written as JSON, all of it, without any word that a marker needs? Most can, and quickly."""
    dump = dumped(value)
    folded = None if dump is None else plain(dump.decode())
    return dump is not None and folded is not None and has_no_word(dump, folded, vocabulary)


def dumped(value: object) -> bytes | None:
    """A document as JSON, if it is one and all of it is ASCII."""
    try:
        dump = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return None
    return dump if dump.isascii() else None


def has_no_word(dump: bytes, folded: str, vocabulary: WordList = WordList.EVIDENCE) -> bool:
    """The same of JSON in ASCII, as it is written and as `plain` has it."""
    if len(dump) > MAX_TEXT or could_mark(folded, vocabulary):
        return False
    if not is_coded_json(dump):
        return True
    return not _codes_a_word(without_digests(dump).decode().replace("\\n", "\n"), vocabulary)


def _could_mark(text: str, vocabulary: WordList) -> bool:
    folded = plain(text)
    return folded is None or could_mark(folded, vocabulary)


def _codes_a_word(text: str, vocabulary: WordList) -> bool:
    return any(_could_mark(told, vocabulary) for _, told in unwrapped(text))


class _Leftover(str):
    """A plain text of which not everything is JSON."""

    __slots__ = ()


def _shown(text: str) -> str:
    clipped = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"`{clipped.encode('ascii', 'backslashreplace').decode()}`"


class _Scan:
    """One walk, by a stack of its own: no document can exhaust the interpreter's."""

    __slots__ = ("_banned", "_stack", "_text_left", "_texts", "_values_left", "_vocabulary")

    def __init__(self, vocabulary: WordList) -> None:
        self._vocabulary = vocabulary
        self._banned: frozenset[Meaning] = vocabulary.value
        self._stack: list[tuple[Any, Place, int, Meaning | None]] = []
        self._texts: list[tuple[str, Place, int]] = []
        self._values_left = MAX_VALUES
        self._text_left = MAX_TEXT

    def run(self, value: object) -> Marker | None:
        stack = self._stack
        stack.append((value, ROOT, 0, None))
        while stack:
            node, place, depth, saying = stack.pop()
            found = self._visit(node, place, depth, saying)
            if found is None and not stack:
                found = self._read_texts()
            if found is not None:
                return found
            if self._values_left < 0:
                return Marker(written(place), "too_large", f"more than {MAX_VALUES} values")
        return None

    def _read_texts(self) -> Marker | None:
        """The texts that could hold JSON, all at once: mostly none of them has a word that a marker needs."""
        texts, self._texts = self._texts, []
        self._text_left -= sum(len(text) for text, _, _ in texts)
        if self._text_left < 0:
            return Marker(written(texts[-1][1]), "too_large", f"text of more than {MAX_TEXT} characters")
        joined = "\n".join(text for text, _, _ in texts)
        if is_coded(joined.encode("utf-8", "replace")):
            texts += [
                (told, (place, step), depth + 1)
                for text, place, depth in texts
                for step, told in unwrapped(text)
            ]
            joined = "\n".join(text for text, _, _ in texts)
        if not _could_mark(joined, self._vocabulary):
            return None
        for text, place, depth in texts:
            if found := self._read(text, place, depth):
                return found
        return None

    def _visit(self, node: Any, place: Place, depth: int, saying: Meaning | None) -> Marker | None:
        """`saying` is the meaning of the key that this is the value of, or lies within the value of."""
        kind = type(node)
        if depth <= MAX_DEPTH:
            if kind is dict:
                return self._object(node.items(), place, depth, saying)
            if kind is list:
                return self._array(node, place, depth, saying)
        if isinstance(node, str):
            return self._string(node, place, depth, saying)
        if isinstance(node, bytes | bytearray | memoryview):
            return self._string(_decoded(bytes(node)), place, depth, saying)
        if isinstance(node, Enum):
            return self._visit(node.value, place, depth, saying)
        return None if isinstance(node, _ATOMS) else self._container(node, place, depth, saying)

    def _container(self, node: Any, place: Place, depth: int, saying: Meaning | None) -> Marker | None:
        if depth > MAX_DEPTH:
            return Marker(written(place), "too_deep", f"nesting of more than {MAX_DEPTH} levels")
        if isinstance(node, Mapping | Pairs | msgspec.Struct):
            return self._object(_items(node), place, depth, saying)
        if isinstance(node, Sequence):
            return self._array(node, place, depth, saying)
        if isinstance(node, Set):
            return self._set(node, place, depth, saying)
        return Marker(written(place), "opaque", f"a value of type {_shown(type(node).__name__)}")

    def _object(
        self, items: Iterable[tuple[Any, Any]], place: Place, depth: int, saying: Meaning | None
    ) -> Marker | None:
        meanings: list[Meaning] = []
        push, note = self._stack.append, self._texts.append
        count = 0
        for key, item in items:
            count += 1
            within = saying
            meaning = MEANINGS[key] if type(key) is str else self._strange_key(key, place, depth)
            if meaning is not None:
                meanings.append(meaning)
                if meaning is not _NAME and meaning is not _VALUE:
                    found = self._key(key, item, (place, key), depth, meaning)
                    if found is not None:
                        return found
                    within = meaning if meaning in _SAYING else saying
            kind = type(item)
            if kind is str and within is None:
                if len(item) >= SHORTEST:
                    note((item, (place, key), depth))
            elif kind not in _SIMPLE:
                push((item, (place, key), depth + 1, within))
        self._values_left -= count
        return self._shape(items, meanings, place, depth) if len(meanings) > 1 else None

    def _key(self, key: Any, item: Any, place: Place, depth: int, meaning: Meaning) -> Marker | None:
        """What a key says by itself, before its value is looked into."""
        if meaning in self._banned:
            return _present(meaning, _text(key), place)
        if meaning is Meaning.TEXT:
            self._texts.append((_text(key), (place, IN_KEY), depth))
        if meaning in _SAYING and isinstance(item, str):
            return _said(meaning, item, place) if says_speculative(meaning, item) else None
        if meaning is Meaning.FLAG and _affirms(item):
            return Marker(written(place), "flag", f"the flag {_shown(_text(key))}")
        return None

    def _shape(
        self, items: Iterable[tuple[Any, Any]], meanings: list[Meaning], place: Place, depth: int
    ) -> Marker | None:
        """What several fields of one object say together."""
        if meanings.count(Meaning.HINT) >= 2 or meanings.count(Meaning.IDEA) >= 3:
            return Marker(written(place), "shape", "the fields of experiment hints")
        if _NAME in meanings and _VALUE in meanings:
            told = [(MEANINGS[key], key, item) for key, item in items if isinstance(key, str)]
            saying = next(
                (said for told_by, _, item in told if told_by is Meaning.NAME and (said := _named(item))),
                None,
            )
            if saying is not None:
                values = ((item, (place, key)) for told_by, key, item in told if told_by is Meaning.VALUE)
                self._stack.extend((item, at, depth + 1, saying) for item, at in values)
        return None

    def _array(self, node: Sequence[Any], place: Place, depth: int, saying: Meaning | None) -> Marker | None:
        if len(node) == 2 and _named(node[0]) is Meaning.STATUS:  # a field written as a pair
            saying = Meaning.STATUS
        push, note = self._stack.append, self._texts.append
        for index, item in enumerate(node):
            kind = type(item)
            if kind is str and saying is None:
                if len(item) >= SHORTEST:
                    note((item, (place, index), depth))
            elif kind not in _SIMPLE:
                push((item, (place, index), depth + 1, saying))
        self._values_left -= len(node)
        return None

    def _set(self, node: Set[Any], place: Place, depth: int, saying: Meaning | None) -> Marker | None:
        self._stack.extend((item, (place, IN_SET), depth + 1, saying) for item in node)
        self._values_left -= len(node)
        return None

    def _strange_key(self, key: Any, place: Place, depth: int) -> Meaning | None:
        """Keys that are no texts: bytes are read as text, containers are walked like values."""
        if isinstance(key, str | bytes):
            return MEANINGS[_text(key)]
        self._stack.append((key, ((place, key), IN_KEY), depth + 1, None))
        return None

    def _string(self, text: str, place: Place, depth: int, saying: Meaning | None) -> Marker | None:
        if isinstance(text, _Leftover):
            return self._broken(text, place)
        if saying is not None and says_speculative(saying, text):
            return _said(saying, text, place)
        self._texts.append((text, place, depth))
        return None

    def _read(self, text: str, place: Place, depth: int) -> Marker | None:
        """JSON in a text: pushed to be walked where it parses, looked through field by field where not."""
        folded = plain(text)
        if folded is None:
            return Marker(written(place), "too_deep", "a text that is encoded too often")
        if not could_mark(folded, self._vocabulary):
            return None
        try:
            found = list(parsed(text))
        except Tangled:
            return Marker(written(place), "too_deep", "JSON that cannot be taken apart")
        if not found or found[0][0] is not None:
            # Under what did parse, because that can say more exactly where.
            self._stack.append((_Leftover(folded), (place, IN_BROKEN_JSON), depth, None))
        for begin, value in found:
            step = IN_JSON if begin is None else PathStep(f"{{@{begin}}}")
            self._stack.append((value, (place, step), depth + 1, None))
        return None

    def _broken(self, folded: str, place: Place) -> Marker | None:
        meanings: list[Meaning] = []
        for key, value, in_object in fields(folded):
            meaning = MEANINGS[key]
            if meaning is not None and meaning in _SAYING and says_speculative(meaning, value):
                return _said(meaning, value, (place, key))
            if not in_object or meaning is None:
                continue  # a quoted word before a colon, as in prose
            meanings.append(meaning)
            if meaning in self._banned:
                return _present(meaning, key, (place, key))
            if meaning is Meaning.FLAG and value.strip() == "true":
                return Marker(written((place, key)), "flag", f"the flag {_shown(key)}")
        return self._shape((), meanings, place, 0) or self._pairs(folded, place)

    def _pairs(self, folded: str, place: Place) -> Marker | None:
        """Fields that are no JSON: lines, pairs, attributes."""
        told: dict[str, Meaning] = {}
        for key, value in pairs(folded):
            meaning = MEANINGS[key]
            if meaning is None:
                continue
            told[key] = meaning
            if meaning in _SAYING and says_speculative(meaning, value):
                return _said(meaning, value, (place, key))
            if meaning in self._banned:
                return _present(meaning, key, (place, key))
            if meaning is Meaning.FLAG and value in _YES:
                return Marker(written((place, key)), "flag", f"the flag {_shown(key)}")
        return self._shape((), list(told.values()), place, 0)


def _said(meaning: Meaning, value: str, place: Place) -> Marker:
    kind = _SAYING[meaning]
    return Marker(written(place), kind, f"a {kind} of {_shown(value)}")


def _present(meaning: Meaning | None, key: str, place: Place) -> Marker:
    kind: Kind = "context" if meaning is Meaning.CONTEXT else "residue"
    return Marker(written(place), kind, f"a field {_shown(key)}")


def _items(node: Any) -> Iterable[tuple[Any, Any]]:
    """The fields of an object, to be gone through more than once."""
    if isinstance(node, Mapping):
        return node.items()
    if isinstance(node, Pairs):
        return node
    config, kind = node.__struct_config__, type(node)
    found = [(config.tag_field, config.tag)] if config.tag_field else []
    for name, on_the_wire in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        found.append((name, getattr(node, name)))
        if on_the_wire != name:
            found.append((on_the_wire, getattr(node, name)))
    return found


def _decoded(data: bytes) -> str:
    return data.decode(json.detect_encoding(data), "ignore")


def _text(key: Any) -> str:
    return _decoded(key) if isinstance(key, bytes) else str(key)


def _named(item: Any) -> Meaning | None:
    """The meaning of a text that names a field which says something."""
    if not isinstance(item, str | bytes):
        return None
    meaning = MEANINGS[_text(item)]
    return meaning if meaning in _SAYING else None


def _affirms(item: Any) -> bool:
    if isinstance(item, str | bytes):
        return says_speculative(Meaning.FLAG, _text(item))
    return bool(item)
