"""How much room each value has that rules copy: what one writer fills leaves enough for all others."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.rule_graph import Order
from beliefd.kernel.substrate.rule_reading import MAX_BYTES, MAX_NESTED, Clause, Copy, TooLarge, is_deeper


class _Size(Struct, frozen=True):
    """What a derived fact takes up: bytes that the policy says, how many copied values, and how deep the
    deepest of them stands in it."""

    literal: int
    copies: int
    depth: int


class Room:
    """What every copied value may take up: `bytes`, and `nested` levels.

    INVARIANT: if all rules fire at once, and all that they copy is as large as it may be, nothing that is
    derived is too large. So nobody can keep out what another writes by filling up what is derived.
    """

    __slots__ = ("bytes", "copied", "nested")

    def __init__(self, order: Order, by_key: Mapping[str, list[Clause]]) -> None:
        sizes: dict[str, _Size] = {}
        self.copied: dict[str, list[tuple[str, Clause]]] = {}
        # Units come after all that they read, so what a fact copies of others has its size already.
        for key in (key for unit in order.units for key in unit.keys):
            sizes[key] = self._size(by_key[key][0], sizes)
        literal, copies = (
            sum(one.literal for one in sizes.values()),
            sum(one.copies for one in sizes.values()),
        )
        self.bytes = max(0, MAX_BYTES - literal) // max(1, copies)
        self.nested = max(0, MAX_NESTED - max((one.depth for one in sizes.values()), default=0))

    def _size(self, clause: Clause, sizes: Mapping[str, _Size]) -> _Size:
        literal, copies, depth = len(clause.key) + len(canonical(_without_copies(clause.value))), 0, 0
        for path, at in _copied(clause.value, 0):
            source = next((sizes[one] for one in keys_of(path) if one in sizes), None)
            if source is None:
                source = _Size(0, 1, 0)
                for one in keys_of(path):
                    self.copied.setdefault(one, []).append((path, clause))
            literal, copies = literal + source.literal, copies + source.copies
            depth = max(depth, at + source.depth)
        return _Size(literal, copies, depth)

    def check(self, values: Any, changed: Iterable[str]) -> None:
        """Whether or not a rule fires now: when it does, it is too late to refuse who has filled it up."""
        read = {path: clause for key in changed for path, clause in self.copied.get(key, ())}
        for path, clause in sorted(read.items(), key=lambda item: item[0]):
            found = look_up(values, path)
            if found is not ABSENT and (len(canonical(found)) > self.bytes or is_deeper(found, self.nested)):
                raise TooLarge(clause.rule, clause.key, path, self.bytes, self.nested)


def _copied(template: Any, depth: int) -> list[tuple[str, int]]:
    """Each path that is copied, and how deep the copy stands."""
    if isinstance(template, Copy):
        return [(template.path, depth)]
    inner = (
        template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    )
    return [found for item in inner for found in _copied(item, depth + 1)]


def _without_copies(template: Any) -> Any:
    if isinstance(template, Copy):
        return 0
    if isinstance(template, dict):
        return {name: _without_copies(item) for name, item in template.items()}
    return [_without_copies(item) for item in template] if isinstance(template, list) else template
