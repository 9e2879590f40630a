"""Content taken in for somebody, as far as policy has room for it."""

from collections import Counter
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.labels import Bringer
from beliefd.kernel.policy import ContentPolicy
from beliefd.kernel.values import Principal
from beliefd.stores.base import Store
from beliefd.stores.content import ContentErased, Quota, QuotaExceeded

CONTENT: Final = "content"
refused: Final = Counter({CONTENT: 0})
"""How often there was no room, in this process."""


async def keep(
    store: Store, limits: ContentPolicy, now: str, who: Principal, name: str, content: bytes, space: str
) -> None:
    """Keep what somebody brings under its hash, as far as policy has room for it."""
    bringer = Bringer(id=who.id, role=who.role, at=now)
    quota = Quota(items=limits.max_items_per_principal, bytes=limits.max_bytes_per_principal)
    try:
        await store.put_content(name, content, bringer, quota, space)
    except QuotaExceeded as error:
        refused[CONTENT] += 1
        raise _too_much(error, who) from None
    except ContentErased:
        raise content_erased(name) from None


def content_erased(name: str) -> BeliefdError:
    told = f"content `{name}` was erased"
    return BeliefdError(Code.CONTENT_ERASED, told, {"path": "sha256"})


def _too_much(error: QuotaExceeded, who: Principal) -> BeliefdError:
    quota = error.quota
    told = (
        f"`{who.id}` has brought {error.items} items with {error.size} bytes of content;"
        f" with this it would be more than {quota.items} items or {quota.bytes} bytes"
    )
    details = {
        "path": "$",
        "reason": CONTENT,
        "items": error.items,
        "bytes": error.size,
        "max_items": quota.items,
        "max_bytes": quota.bytes,
    }
    return BeliefdError(Code.QUOTA_EXCEEDED, told, details)
