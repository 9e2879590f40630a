"""Facts that rules derive, as they are recorded and kept."""

from typing import Any

from beliefd.kernel.values import Value


class Source(Value, frozen=True):
    """What a derived fact comes from: the rule, and the keys that it read and found."""

    rule: str
    inputs: tuple[str, ...] = ()


class DerivedFact(Value, frozen=True):
    """A derived fact with what it comes from."""

    rule: str
    inputs: tuple[str, ...]
    value: Any


class Derivation(Value, frozen=True):
    """What rules changed in F_sparse: what they derive now, and what fell.

    `under` names the rules that it follows, `size` is how many bytes all derived facts take up after it.
    """

    set: dict[str, DerivedFact]
    fell: tuple[str, ...]
    under: str
    size: int

    @property
    def values(self) -> dict[str, Any]:
        return {key: fact.value for key, fact in self.set.items()}
