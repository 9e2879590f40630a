"""F_sparse: a persistent map of namespaced keys to versioned JSON objects, with its rules' truths at hand."""

from collections.abc import Iterator, Mapping
from typing import Any

from rpds import HashTrieMap

from beliefd.kernel.substrate.constraint_index import ConstraintIndex, Truths


class SymbolicState(Mapping[str, Any]):
    """The symbolic state. Immutable: `patched` gives a new value and leaves this one as it is."""

    __slots__ = ("_truths", "_values")

    def __init__(self, values: "HashTrieMap[str, Any] | Mapping[str, Any] | None" = None) -> None:
        self._values: HashTrieMap[str, Any] = (
            values if isinstance(values, HashTrieMap) else HashTrieMap(values or {})
        )
        # A cache of what can be worked out from the values: one entry, for the rules asked last.
        self._truths: Truths | None = None

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def patched(self, sets: Mapping[str, Any], removes: "tuple[str, ...]" = ()) -> "SymbolicState":
        values = self._values
        for key in removes:
            values = values.discard(key)
        for key, value in sets.items():
            values = values.insert(key, value)
        after = SymbolicState(values)
        if self._truths is not None:
            after._truths = self._truths.after(values, (*removes, *sets))
        return after

    @property
    def mapped(self) -> "HashTrieMap[str, Any]":
        return self._values

    def over(self, rules: ConstraintIndex, key: str, value: Any) -> "SymbolicState":
        """The state with something under it that is no part of it, for as long as a decision takes."""
        self.truths(rules)  # kept here: what follows only looks at what reads that key
        return self.patched({key: value})

    def truths(self, rules: ConstraintIndex) -> Truths:
        if self._truths is None or self._truths.rules is not rules:
            self._truths = rules.truths(self._values)
        return self._truths
