"""How often a schema looks at one and the same part of a value, when everything it refers to is written out.

References that lead to references double with every step: sixty lines can look at one value more often than
any machine gets to. A loop is counted once: the library remembers what it has answered about a value.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from beliefd.kernel.substrate.text_bounds import PATTERNS, PLAIN, REFERENCES, refers

MOST_LOOKS: Final = 4_096
"""So many schemas may be held against one part of a value: as many alternatives as anybody writes."""
LONGEST: Final = 100
"""So many references may lead to one another before one leads back."""
PROPERTIES: Final = "properties"
IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
"""Keywords whose schemas are held against the value itself, and not against parts of it."""
BY_NAME: Final = frozenset({PATTERNS, "dependentSchemas", "dependencies"})
"""Keywords that have their schemas by name."""
Place = tuple[int, str]
"""A schema by its identity, and the address that its references start from."""


class TooManyLooks(ValueError):
    """The schema would be held against one value too often."""

    def __init__(self) -> None:
        super().__init__(f"its references lead to more than {MOST_LOOKS} schemas for one part of a value")


def looks_of(schema: Any) -> int:
    """How many schemas are held against the part of a value that most are held against; 1 without references.

    INVARIANT: what judging by a schema takes is bounded by its size and that of the value.
    """
    return _Unfolding(schema).looks() if refers(schema) else 1


class _Unfolding:
    """The schemas of a document, and what each leads to."""

    def __init__(self, root: Any) -> None:
        self._by_address: dict[str, tuple[Any, str]] = {}
        self._known: dict[int, Any] = {}
        self._closures: dict[Place, Counter[Place]] = {}
        self._looks: dict[Place, int] = {}
        self._name(root, "")
        self._root = root

    def looks(self) -> int:
        """Raises `TooManyLooks`, whichever part of a value that is."""
        return self._deepest(self._place(self._root, ""), frozenset())

    def _place(self, schema: Any, base: str) -> Place:
        self._known[id(schema)] = schema
        return id(schema), base

    def _name(self, schema: Any, base: str) -> None:
        """Every schema that has an address of its own."""
        if isinstance(schema, dict):
            base = _base_of(schema, base)
            if isinstance(schema.get("$id", schema.get("id")), str) or not self._by_address:
                self._by_address.setdefault(base, (schema, base))
            for anchor in (schema.get("$anchor"), schema.get("$dynamicAnchor")):
                if isinstance(anchor, str):
                    self._by_address[f"{base}#{anchor}"] = (schema, base)
        for inner in _items(schema):
            self._name(inner, base)

    def _deepest(self, place: Place, within: frozenset[Place]) -> int:
        """How often the part of a value is looked at that is looked at most, beginning here."""
        if place in within:
            return 1
        if (known := self._looks.get(place)) is not None:
            return known
        within = _one_more(place, within)
        here = self._closure(place, frozenset())
        most = here.total()
        for children in self._below(here):
            most = max(most, sum(times * self._deepest(one, within) for one, times in children.items()))
            if most > MOST_LOOKS:
                raise TooManyLooks
        self._looks[place] = most
        return most

    def _closure(self, place: Place, within: frozenset[Place]) -> Counter[Place]:
        """All schemas that are held against the same value, with how often."""
        if place in within:
            return Counter()
        if (known := self._closures.get(place)) is not None:
            return known
        within = _one_more(place, within)
        found = Counter([place])
        for other in self._beside(place):
            found.update(self._closure(other, within))
            if found.total() > MOST_LOOKS:
                raise TooManyLooks
        self._closures[place] = found
        return found

    def _beside(self, place: Place) -> Iterator[Place]:
        schema = self._known[place[0]]
        if not isinstance(schema, dict):
            return
        base = _base_of(schema, place[1])
        for keyword, inner in schema.items():
            if keyword in REFERENCES and isinstance(inner, str):
                if (found := self._referred(inner, base)) is not None:
                    yield found
            elif keyword in IN_PLACE:
                for one in _schemas(keyword, inner):
                    yield self._place(one, base)

    def _below(self, here: Counter[Place]) -> Iterator[Counter[Place]]:
        """What is held against one part of the value, for each part that is told apart."""
        named: dict[str, Counter[Place]] = {}
        anywhere = Counter[Place]()
        for (which, outer), times in here.items():
            schema = self._known[which]
            if not isinstance(schema, dict):
                continue
            base = _base_of(schema, outer)
            for keyword, inner in schema.items():
                if keyword == PROPERTIES and isinstance(inner, dict):
                    for name, one in inner.items():
                        named.setdefault(name, Counter())[self._place(one, base)] += times
                elif keyword not in PLAIN | REFERENCES | IN_PLACE:
                    for one in _schemas(keyword, inner):
                        anywhere[self._place(one, base)] += times
        yield anywhere
        for found in named.values():
            yield found + anywhere

    def _referred(self, reference: str, base: str) -> Place | None:
        """What a reference leads to; None is what the library knows by itself."""
        address, fragment = urldefrag(urljoin(base, reference))
        if (known := self._by_address.get(f"{address}#{fragment}")) is not None:
            return self._place(*known)
        if (resource := self._by_address.get(address)) is None:
            return None
        schema, inside = resource
        for written in unquote(fragment).split("/")[1:]:
            step = written.replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and step.isdecimal() and int(step) < len(schema):
                schema = schema[int(step)]
            elif isinstance(schema, dict) and step in schema:
                inside = _base_of(schema, inside) if schema is not resource[0] else inside
                schema = schema[step]
            else:
                return None
        return self._place(schema, inside)


def _base_of(schema: dict[str, Any], base: str) -> str:
    own = schema.get("$id", schema.get("id"))
    return urldefrag(urljoin(base, own))[0] if isinstance(own, str) else base


def _one_more(place: Place, within: frozenset[Place]) -> frozenset[Place]:
    if len(within) >= LONGEST:
        raise TooManyLooks
    return within | {place}


def _schemas(keyword: str, inner: Any) -> Iterator[Any]:
    """The schemas in the value of a keyword: one, a list, or by name."""
    if isinstance(inner, list):
        yield from (one for one in inner if isinstance(one, dict))
    elif isinstance(inner, dict):
        yield from (
            one for one in (inner.values() if keyword in BY_NAME else (inner,)) if isinstance(one, dict)
        )


def _items(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        yield from schema.values()
    elif isinstance(schema, list):
        yield from schema
