"""Handlers of questions about ledgers, and their live feed. None of them writes."""

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec
from msgspec import UNSET, Raw, Struct

from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.values import Head
from beliefd.ledger.envelope import UNREADABLE, Sealed
from beliefd.ledger.verify import Verification, Verifying
from beliefd.ledger.withheld import digests_in
from beliefd.protocol.ledger import (
    FirstBad,
    Verified,
)
from beliefd.steward.call import Call
from beliefd.steward.feeds import GO_ELSEWHERE, Feeds
from beliefd.steward.handlers.shared import PAGE_BYTES, view_of
from beliefd.steward.log import Log
from beliefd.steward.offload import in_pool, is_heavy, offload
from beliefd.steward.write.positions import Positions, existing_head
from beliefd.stores.base import Store
from beliefd.stores.within import Within
from beliefd.wanted import tell_read


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
        head = await existing_head(self.store, call.session_id)
        if since is not None and call.query["after"] is not None:
            raise invalid("give either `since_event_id` or `after`", "after")
        after = call.query["after"] or 0
        if since is not None:
            after = await self.store.seq_of(call.session_id, since)
        if after is None:
            # Returning everything here would make a typing error look like a full history.
            raise invalid(f"no event `{since[:64]}` in this session", "since_event_id")
        shown = await self.store.entries(call.session_id, after, limit, PAGE_BYTES)
        following = shown[-1].event_id if shown and shown[-1].seq < head.seq else None
        return RawAuditPage([Raw(entry.wire) for entry in shown], following)

    async def verify(self, call: Call) -> Verified:
        # It names what is wrong, so it must see it.
        return await verify_session(self.positions.chains.store, call.session_id, tell_read)

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        head = await existing_head(self.store, call.session_id)
        after = _last_event(call.last_event, head.seq)
        # What is wrong with the ledger can be said as an error only as long as nothing else was said.
        await self.positions.chains.entries(call.session_id, after, 1)
        yield b": beliefd\n\n"
        async with aclosing(self.feeds.follow(call.session_id, after, call.principal.id)) as chunks:
            async for chunk in chunks:
                yield b": still here\n\n" if chunk is None else _told(chunk)
        if self.feeds.ended:
            yield GO_ELSEWHERE


def _told(chunk: list[Sealed]) -> bytes:
    """A page as a feed tells it. It is emptied: who does not read would have it in memory twice."""
    pieces: list[bytes | memoryview] = []
    for entry in chunk:
        pieces += (b"id: %d\nevent: audit\ndata: " % entry.seq, *entry.wire_pieces, b"\n\n")
    chunk.clear()
    return b"".join(pieces)


def _last_event(text: str | None, head: int) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= head):
        raise invalid(f"Last-Event-ID must be the `seq` of an entry, at most {head}", "Last-Event-ID")
    return int(text)


class DecidedUnder:
    """The policies that a ledger was decided under, by hash: known as far as its entries were handed over."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sought: set[str | None] = {None}
        self.missing: set[str] = set()
        self.documents: dict[str, bytes] = {}
        """As they were written then; a stored document that does not hash to its name is not one."""
        self.policies: dict[str, Policy] = {}

    async def take(self, entries: list[Sealed]) -> None:
        new = await offload(is_heavy(entries), _policy_hashes, entries, kind="question") - self._sought
        self._sought |= new
        for name in sorted(filter(None, new)):
            document = await self.store.policy(name)
            if document is not None and hashlib.sha256(document).hexdigest() == name:
                self.documents[name] = document
                self.policies[name] = recorded(msgspec.json.decode(document))
            else:
                self.missing.add(name)


def _policy_hashes(entries: list[Sealed]) -> set[str | None]:
    return {read_policy_hash(entry.record) for entry in entries}


class _PolicyHash(Struct):
    policy_hash: str


_policy_hash_decoder = msgspec.json.Decoder(_PolicyHash)


def read_policy_hash(record: bytes) -> str | None:
    try:
        return _policy_hash_decoder.decode(record).policy_hash
    except UNREADABLE:
        return None


async def verify_session(
    store: Store, session_id: str, progress: Callable[[int], None] | None = None
) -> Verified:
    """Verify what is stored now, up to the head that the sessions table promises, and that it is what the
    log of the store has leaves of."""
    promised = await existing_head(store, session_id)
    tree = Log(store)
    under = DecidedUnder(store)
    contents: dict[str, bytes] = {}
    verifying = Verifying(session_id, under.policies, progress, contents)
    async for entries in _all_entries(store, session_id, promised):
        await under.take(entries)
        contents |= await kept_parts(under, entries)
        await in_pool("question", verifying.take, entries)
        if verifying.bad is None:
            verifying.refuse(await tree.contradicted(session_id, entries))
        if verifying.bad is not None:
            break
    result = verifying.result(promised)[0]
    cut = await tree.cut_off(session_id, promised.seq + 1) if result.ok else None
    # Unless it has been appended, and has got its leaf, since the head was read.
    if cut is not None and await existing_head(store, session_id) == promised:
        verifying.refuse(cut)
        result = verifying.result(promised)[0]
    return verified(result)


async def kept_parts(under: DecidedUnder, entries: list[Sealed], within: Within = None) -> dict[str, bytes]:
    """What is kept of what these entries withhold, by digest."""
    found: dict[str, bytes] = {}
    if all(policy.erasable is UNSET for policy in under.policies.values()):
        return found
    digests = await offload(is_heavy(entries), digests_in, entries, under.policies, kind="question")
    for digest in sorted(digests):
        if (content := await under.store.content(digest, within)) is not None:
            found[digest] = content
    return found


async def _all_entries(store: Store, session_id: str, promised: Head) -> AsyncGenerator[list[Sealed], None]:
    """Everything up to the head; and what stands past it, unless that has been appended since."""
    async for chunk in store.stream(session_id):
        within = [entry for entry in chunk if entry.seq <= promised.seq]
        if within:
            yield within
        if len(within) < len(chunk) or within[-1].seq == promised.seq:
            break
    past = await store.entries(session_id, promised.seq, 1)
    if past and await existing_head(store, session_id) == promised:
        yield past


def verified(result: Verification) -> Verified:
    bad = result.first_bad
    return view_of(Verified, result, first_bad=None if bad is None else view_of(FirstBad, bad))
