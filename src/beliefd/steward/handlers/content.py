"""Handlers of content: kept under its hash, given back as it was brought."""

import re
from typing import Final

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.content import ContentView, Sha256, StoredContent
from beliefd.protocol.operation import File
from beliefd.steward.call import Call, space_of
from beliefd.steward.environment import Environment
from beliefd.steward.facts.hashing import HASH_IN_PLACE, sha256_of
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.keeping import content_erased, keep
from beliefd.steward.offload import offload
from beliefd.steward.policies import PolicyInForce
from beliefd.stores.base import Store

_NO_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but for tab and newline; a carriage return may overwrite what was read before it."""


class ContentHandlers(Struct, frozen=True):
    """Content, which is whatever its bytes are: no caller says how it is to be shown."""

    store: Store
    in_force: PolicyInForce
    environment: Environment

    async def store_content(self, call: Call) -> StoredContent:
        limits = self.in_force.policy.content
        if not call.body:
            raise invalid("the body is empty; send the evidence itself", "$")
        if len(call.body) > limits.max_item_bytes:
            told = f"content may hold {limits.max_item_bytes} bytes at most"
            raise BeliefdError(Code.PAYLOAD_TOO_LARGE, told, {"path": "$", "limit": limits.max_item_bytes})
        name = await sha256_of(call.body)
        now = self.environment.now()
        await keep(self.store, limits, now, call.principal, name, call.body, space_of(call))
        return StoredContent(sha256=name, size=len(call.body))

    async def read_content(self, call: Call) -> File:
        name = _named(call)
        content = await self.store.content(name, call.readable)
        # INVARIANT: what was erased is not given out, even if somebody put it back past the server.
        if content is None or await self.store.erased([name]):
            raise await self._gone(name)
        # INVARIANT: what is given back is what was brought. Whoever changed the store gives nothing out.
        if await sha256_of(content) != name:
            told = f"what is stored under `{name}` has another hash; restore it from a backup"
            raise BeliefdError(Code.CONTENT_DAMAGED, told, {"path": "sha256"})
        showable = await offload(len(content) > HASH_IN_PLACE, is_text, content, kind="parse")
        return File(content=content, name=name, is_text=showable)

    async def show_content(self, call: Call) -> ContentView:
        name = _named(call)
        about = await self.store.about_content(name, call.readable)
        if about is None:
            raise await self._gone(name)
        brought = list(await self.store.bringers(name, call.readable))
        return view_of(ContentView, about, brought=brought)

    async def _gone(self, name: str) -> BeliefdError:
        """INVARIANT: that something was erased is known to whoever has its digest, and to nobody else."""
        if await self.store.erased([name]):
            return content_erased(name)
        return not_found(Code.CONTENT_NOT_FOUND, "content", name)


def is_text(content: bytes) -> bool:
    """May it be shown as it is? UTF-8 without control characters does nothing to whoever looks at it."""
    try:
        return not _NO_TEXT.search(content.decode())
    except UnicodeDecodeError:
        return False


def _named(call: Call) -> str:
    try:
        return msgspec.convert(call.path["sha256"], Sha256).lower()
    except msgspec.ValidationError:
        raise invalid("content is named by its SHA-256, 64 hex digits", "sha256") from None
