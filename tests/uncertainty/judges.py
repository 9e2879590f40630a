"""Judges for tests: by a table, failing, slow, or of two minds."""

from collections.abc import Sequence

from beliefd.uncertainty.equivalence.port import Pair


class Same:
    """Answers mean the same if they begin with the same letter."""

    name, batch = "same", 1

    def __init__(self, batch: int = 1) -> None:
        self.batch = batch
        self.asked: list[Pair] = []

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        self.asked += pairs
        return [a[:1] == b[:1] for a, b in pairs]


class Fails:
    name, batch = "fails", 4

    def __init__(self, error: Exception) -> None:
        self.error = error

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        raise self.error


class TwoMinded:
    """Says of each pair yes when first asked, and no when asked again."""

    name, batch = "two-minded", 4

    def __init__(self) -> None:
        self.asked: set[Pair] = set()

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        said = [pair not in self.asked for pair in pairs]
        self.asked.update(pairs)
        return said


class Short:
    """Forgets to answer."""

    name, batch = "short", 4

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return []


class Longer:
    """What begins with another answer entails it; the other way round it does not."""

    name, batch = "longer", 1

    def __init__(self, batch: int = 1) -> None:
        self.batch = batch

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [a.startswith(b) for a, b in pairs]
