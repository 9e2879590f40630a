"""Handlers of questions about ledgers, and their live feed. None of them writes."""

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy, recorded
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.verify import Verification, verify
from beliefd.protocol.ledger import (
    FirstBad,
    Verified,
)
from beliefd.steward.call import Call
from beliefd.steward.feeds import Feeds
from beliefd.steward.handlers.shared import cut, view_of
from beliefd.steward.offload import in_pool, is_heavy, offload
from beliefd.steward.write.positions import Positions, existing_head
from beliefd.stores.base import Store


class RawAuditPage(Struct, frozen=True):
    """An audit page whose entries are the stored bytes, untouched."""

    events: list[Raw]
    next: str | None


class LedgerHandlers(Struct, frozen=True):
    """Questions about ledgers. None of them writes."""

    store: Store
    positions: Positions
    feeds: Feeds

    async def audit_trace(self, call: Call) -> RawAuditPage:
        since, limit = call.query["since_event_id"], call.query["limit"]
        await existing_head(self.store, call.session_id)
        after = 0 if since is None else await self.store.seq_of(call.session_id, since)
        if after is None:
            # Returning everything here would make a typing error look like a full history.
            raise invalid(f"no event `{since[:64]}` in this session", "since_event_id")
        entries = await self.store.entries(call.session_id, after, limit + 1)
        shown, following = cut(entries, limit, lambda entry: entry.event_id)
        return RawAuditPage([Raw(entry.wire) for entry in shown], following)

    async def verify(self, call: Call) -> Verified:
        return await verify_session(self.store, call.session_id)

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        head = await existing_head(self.store, call.session_id)
        after = _last_event(call.last_event, head.seq)
        yield b": beliefd\n\n"
        async with aclosing(self.feeds.follow(call.session_id, after)) as chunks:
            async for chunk in chunks:
                if chunk is None:
                    yield b": still here\n\n"
                else:
                    yield b"".join(
                        [b"id: %d\nevent: audit\ndata: %s\n\n" % (entry.seq, entry.wire) for entry in chunk]
                    )


def _last_event(text: str | None, head: int) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= head):
        raise invalid(f"Last-Event-ID must be the `seq` of an entry, at most {head}", "Last-Event-ID")
    return int(text)


async def policies_of(store: Store, entries: list[Sealed]) -> dict[str, Policy]:
    """The policies that a ledger was decided under, by hash."""
    documents = await policy_documents(store, entries)
    return {name: recorded(msgspec.json.decode(document)) for name, document in documents.items()}


async def policy_documents(store: Store, entries: list[Sealed]) -> dict[str, bytes]:
    """The same as they were written then; a stored document that does not hash to its name is not one."""
    found: dict[str, bytes] = {}
    for name in await offload(is_heavy(entries), _policy_hashes, entries, kind="question"):
        document = None if name is None else await store.policy(name)
        if name is not None and document is not None and hashlib.sha256(document).hexdigest() == name:
            found[name] = document
    return found


def _policy_hashes(entries: list[Sealed]) -> set[str | None]:
    return {read_policy_hash(entry.record) for entry in entries}


class _PolicyHash(Struct):
    policy_hash: str


_policy_hash_decoder = msgspec.json.Decoder(_PolicyHash)


def read_policy_hash(record: bytes) -> str | None:
    try:
        return _policy_hash_decoder.decode(record).policy_hash
    except msgspec.MsgspecError:
        return None


async def verify_session(
    store: Store, session_id: str, progress: Callable[[int], None] | None = None
) -> Verified:
    """Verify what is stored now, up to the head that the sessions table promises."""
    entries = await store.entries(session_id)
    promised = await existing_head(store, session_id)
    # What was appended since the first read is inside the head; what that read found past it is forged.
    newer = await store.entries(session_id, entries[-1].seq if entries else 0)
    entries += [entry for entry in newer if entry.seq <= promised.seq]
    policies = await policies_of(store, entries)
    result, _ = await in_pool("question", verify, entries, session_id, policies, promised, progress)
    return verified(result)


def verified(result: Verification) -> Verified:
    bad = result.first_bad
    return view_of(Verified, result, first_bad=None if bad is None else view_of(FirstBad, bad))
