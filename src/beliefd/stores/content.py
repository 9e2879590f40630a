"""What a store keeps of content: bytes under their hash, who brought them, and how much one may bring."""

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from msgspec import Struct

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.stores.citations import Uncited
from beliefd.stores.within import Within


class Quota(Struct, frozen=True):
    """How much content one principal may have brought, in items and in bytes."""

    items: int = MAX_SAFE_INTEGER
    bytes: int = MAX_SAFE_INTEGER


UNLIMITED: Final = Quota()


class QuotaExceeded(Exception):
    """Nothing was kept: with it, its bringer would have more than `quota`; so much is there already."""

    def __init__(self, items: int, size: int, quota: Quota) -> None:
        super().__init__(f"{items} items, {size} bytes")
        self.items = items
        self.size = size
        self.quota = quota


class ContentErased(Exception):
    """Somebody had it erased: it is not taken in again. The text is its hash."""


class KeptContent(Struct, frozen=True):
    """What is known of content without reading it. `touched_at` is when it was last brought."""

    sha256: str
    size: int
    touched_at: str


class ContentStore(Protocol):
    """The content of a store: kept once under its hash, and removed when nothing cites it or it is erased."""

    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        """Keep evidence under its hash, and who brought it first when into which space; the same content is
        kept once, and counts once for each who brought it. If that would be more than `quota`, raise
        QuotaExceeded; if it was erased, raise ContentErased. Content of which nobody is known is in the
        default space."""
        ...

    async def erased(self, hashes: Collection[str]) -> set[str]:
        """Those of `hashes` that a session had erased."""
        ...

    async def sweep(self) -> bool:
        """Take what was erased out of files that the store writes beside its data, and say whether nobody
        kept it from that."""
        ...

    async def bringers(self, sha256: str, within: Within = None) -> list[Bringer]:
        """Everybody who brought this content, in order of their ids, each since when."""
        ...

    async def content(self, sha256: str, within: Within = None) -> bytes | None: ...

    async def kept_content(self, hashes: Collection[str], within: Within = None) -> set[str]:
        """Those of `hashes` under which evidence is kept."""
        ...

    async def about_content(self, sha256: str, within: Within = None) -> KeptContent | None: ...

    async def content_before(self, before: str, after: str | None, limit: int) -> list[KeptContent]:
        """Content that was last brought before a time, ordered by its hash, past `after`."""
        ...

    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        """In one transaction that no append can overtake, hand `uncited` all records that it has not read,
        then remove those of `hashes` that are left in it and were last brought before a time; they count for
        nobody any more. Say what was removed, in order."""
        ...
