"""Who bears which name, as directories say, and what is called like something else."""

from collections.abc import Iterable
from typing import Any, Final

from beliefd.kernel.origin.index import MAX_VALUE, Index, Record, Wanted, wanted
from beliefd.kernel.origin.spelling import SINK_SHAPES, name_words

MAX_NAMES: Final = 100_000
MAX_BEARERS: Final = 8


class Bearers:
    """Each word of a name with the people who bear it, who are known by the first address of their record."""

    def __init__(self, bears: frozenset[str]) -> None:
        """`bears` are words of the names of fields that say how somebody is called."""
        self._bears = bears
        self._of_name: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}

    def meet(self, record: Iterable[tuple[str, str, Any]]) -> None:
        """Take in a record of a directory, as (path, name, value) of its fields."""
        names: set[str] = set()
        addresses: list[str] = []
        ids: list[str] = []
        for _, name, raw in record:
            one = wanted(str(raw), {}) if len(str(raw)) <= MAX_VALUE else None
            if one is None:
                continue
            words = name_words(name)
            if one.shape in SINK_SHAPES:
                addresses.append(one.key)
            elif not self._bears.isdisjoint(words):
                names.update(one.parts)
            elif "id" in words:
                ids.append(one.key)
        addresses = addresses or ids[:1]  # where people have no addresses, they are reached by their ids
        if not addresses or len(self._of_name) + len(names) > MAX_NAMES:
            return
        for address in addresses:
            self._names.setdefault(address, set()).update(names)
        for part in names:
            known = self._of_name.setdefault(part, set())
            if len(known) < MAX_BEARERS:
                known.add(addresses[0])

    def several(self, address: str, spoken: frozenset[str]) -> bool:
        """Is each name of whom it belongs to that is spoken of somebody else's as well?"""
        meant = self._names.get(address, set()) & spoken
        return bool(meant) and all(len(self._of_name.get(part, ())) > 1 for part in meant)


def has_namesake(record: Record, value: Wanted, heard: Index, spoken: frozenset[str]) -> bool:
    """Has the same result another one that is called the same, and is the name what is spoken of?"""
    for label in record.labels:
        parts = label.parts
        named = label.kind == "label" and bool(label.meant) and spoken.issuperset(label.meant)
        if not named or value.parts == parts:
            continue
        for place, _ in heard.places(Wanted(" ".join(parts), parts, len(parts) == 1, "word")):
            other = place.record
            if other is not record and other.item == record.item and place.tokens == list(parts):
                return all(one.record is not other for one in heard.whole.get(value.key, ()))
    return False
