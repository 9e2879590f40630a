"""Content in memory: kept under its hash, and counted for whoever brought it."""

from collections import Counter
from collections.abc import Collection, Iterable

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.stores.content import ContentErased, KeptContent, Quota, QuotaExceeded
from beliefd.stores.projections import ErasedRow
from beliefd.stores.within import Within


class MemoryContent:
    """What one store keeps."""

    def __init__(self) -> None:
        self.by_hash: dict[str, bytes] = {}
        self._touched: dict[str, str] = {}
        self._brought: dict[str, dict[tuple[str, str, str], Bringer]] = {}
        """By hash, then by who brought it as what into which space."""
        self._items: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self.erased = MemoryErased(self)

    def put(self, sha256: str, content: bytes, bringer: Bringer, quota: Quota, space: str) -> None:
        if self.erased.among([sha256]):
            raise ContentErased(sha256)
        who, size, brought = bringer.id, len(content), self._brought.get(sha256, {})
        if who not in {known for known, _, _ in brought}:
            if self._items[who] >= quota.items or self._bytes[who] + size > quota.bytes:
                raise QuotaExceeded(self._items[who], self._bytes[who], quota)
            self._items[who] += 1
            self._bytes[who] += size
        self.by_hash.setdefault(sha256, content)
        self._touched[sha256] = max(bringer.at, self._touched.get(sha256, ""))
        self._brought[sha256] = {(who, bringer.role, space): bringer, **brought}

    def bringers(self, sha256: str, within: Within) -> list[Bringer]:
        first: dict[tuple[str, str], Bringer] = {}
        for (who, role, space), one in self._brought.get(sha256, {}).items():
            if (within is None or space in within) and one.at <= first.get((who, role), one).at:
                first[who, role] = one
        return [first[key] for key in sorted(first)]

    def content(self, sha256: str, within: Within) -> bytes | None:
        # What nobody is known of is in the default space.
        spaces = {space for _, _, space in self._brought.get(sha256, {})} or {DEFAULT_SPACE}
        return None if within is not None and spaces.isdisjoint(within) else self.by_hash.get(sha256)

    def about(self, sha256: str, within: Within) -> KeptContent | None:
        content = self.content(sha256, within)
        return None if content is None else KeptContent(sha256, len(content), self._touched[sha256])

    def before(self, before: str, after: str) -> list[KeptContent]:
        names = sorted(name for name, at in self._touched.items() if at < before and name > after)
        return [KeptContent(name, len(self.by_hash[name]), self._touched[name]) for name in names]

    def remove(self, hashes: Collection[str], before: str) -> list[KeptContent]:
        removed = [one for one in self.before(before, "") if one.sha256 in hashes]
        self._drop(removed)
        return removed

    def drop(self, sha256: str) -> None:
        """Remove it, whoever cites it."""
        if (one := self.about(sha256, None)) is not None:
            self._drop([one])

    def _drop(self, removed: Iterable[KeptContent]) -> None:
        for one in removed:
            for who in {known for known, _, _ in self._brought.pop(one.sha256)}:
                self._items[who] -= 1
                self._bytes[who] -= one.size
            del self.by_hash[one.sha256], self._touched[one.sha256]


class MemoryErased:
    """The rows of what was erased. To put one removes the content."""

    def __init__(self, content: MemoryContent) -> None:
        self._content = content
        self._by_key: dict[tuple[str, str], ErasedRow] = {}

    def check(self, rows: Iterable[ErasedRow]) -> None:
        """There is nothing to refuse."""

    def put(self, rows: Iterable[ErasedRow]) -> None:
        for row in rows:
            self._by_key[row.key] = row
            self._content.drop(row.sha256)

    def replace(self, session_id: str, rows: Iterable[ErasedRow]) -> None:
        self._by_key = {key: row for key, row in self._by_key.items() if row.session_id != session_id}
        self.put(rows)

    def among(self, hashes: Collection[str]) -> set[str]:
        return {row.sha256 for row in self._by_key.values() if row.sha256 in hashes}

    @property
    def rows(self) -> Iterable[ErasedRow]:
        return self._by_key.values()
