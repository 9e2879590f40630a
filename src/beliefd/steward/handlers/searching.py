"""The handler that searches ledgers: by who, by tool, by time and by words, a bounded piece at a time."""

import asyncio
from collections.abc import AsyncIterator
from difflib import get_close_matches
from typing import Final

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.errors import invalid
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import seconds
from beliefd.ledger.envelope import UNREADABLE, LedgerBroken, Sealed
from beliefd.protocol.beliefs import BrokenLedger
from beliefd.protocol.ledger import DAY_OR_TIME
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.write.positions import session_not_found
from beliefd.stores.base import Store
from beliefd.stores.within import Within
from beliefd.wanted import tell_read

LOOKED_AT: Final = 20_000
LOOKED_AT_BYTES: Final = 32 << 20
"""So much of the ledgers is read for one answer; `next` goes on."""
SESSIONS: Final = 200
ARCHIVED: Final = 1_000
"""So many archived sessions are counted."""
BROKEN: Final = 100
"""So many sessions that do not verify are named in one answer."""
CHUNK: Final = 250
CHUNK_BYTES: Final = 4 << 20


class RawAuditFound(Struct, frozen=True):
    """What was found: the stored bytes, untouched."""

    events: list[Raw]
    next: str | None
    looked_at: int
    archived: int
    broken: list[BrokenLedger]


class _Actor(Struct):
    id: str


class _Head(Struct):
    actor: _Actor
    ts: str
    verb: str


class Wanted(Struct, frozen=True):
    """What an entry must be like."""

    actor: str
    verb: str
    since: float | None
    until: float | None
    needles: tuple[bytes, ...]

    def has(self, record: bytes) -> bool:
        lowered = record.lower() if self.needles else b""
        if not all(one in lowered for one in self.needles):
            return False
        try:
            head = _heads.decode(record)
            return (
                (not self.actor or self.actor in head.actor.id.lower())
                and (not self.verb or head.verb == self.verb)
                and (self.since is None or seconds(head.ts) >= self.since)
                and (self.until is None or seconds(head.ts) <= self.until)
            )
        except (*UNREADABLE, ValueError):
            return False


_heads = msgspec.json.Decoder(_Head)


class _Search:
    """One answer on its way: what was found, and how much was read for it."""

    def __init__(self, wanted: Wanted, limit: int) -> None:
        self._wanted, self._limit = wanted, limit
        self._found: list[Raw] = []
        self._looked_at, self._size = 0, 0
        self.broken: list[BrokenLedger] = []

    async def through(self, store: Store, session_id: str, after: int) -> int | None:
        """Look through one ledger; where to go on, if that is enough for one answer."""
        while chunk := await store.entries(session_id, after, CHUNK, CHUNK_BYTES):
            hits = await offload(is_heavy(chunk), _matching, chunk, self._wanted)
            self._looked_at += len(chunk)
            for entry in hits[: self._limit - len(self._found)]:
                self._found.append(Raw(entry.wire))
                after = entry.seq
            if len(self._found) >= self._limit:
                return after
            after = chunk[-1].seq
            self._size += sum(len(one.record) for one in chunk)
            tell_read(self._looked_at)
            await asyncio.sleep(0)  # a short piece is read here and now: others are let in between two
            if self._looked_at >= LOOKED_AT or self._size >= LOOKED_AT_BYTES:
                return after
        return None

    def answer(self, following: str | None, archived: int) -> RawAuditFound:
        return RawAuditFound(self._found, following, self._looked_at, archived, self.broken)


class SearchHandlers(Struct, frozen=True):
    """Questions over many ledgers. None of them writes."""

    store: Store

    async def search_audit(self, call: Call) -> RawAuditFound:
        wanted, limit = _wanted(call), call.query["limit"]
        archived = len(await self.store.archives(None, ARCHIVED, call.asked_spaces))
        search = _Search(wanted, limit)
        async for session_id, first in self._ledgers(call):
            try:
                last = await search.through(self.store, session_id, first)
            except LedgerBroken as error:
                search.broken.append(view_of(BrokenLedger, error, session_id=session_id))
                last = first if len(search.broken) >= BROKEN else None
            if last is not None:
                return search.answer(f"{session_id},{last}", archived)
        return search.answer(None, archived)

    async def _ledgers(self, call: Call) -> AsyncIterator[tuple[str, int]]:
        """The sessions to look at, each with the `seq` after which that begins."""
        name, _, seq = (call.query["cursor"] or "").rpartition(",")
        within, one = call.asked_spaces, call.query["session"]
        if one is not None:
            if not await self._may_be_read(one, within):
                raise session_not_found(one)
            yield one, int(seq) if name == one else 0
            return
        # INVARIANT: a cursor opens nothing. It is a caller's word, too, and may name any session.
        if name and await self._may_be_read(name, within) and await self.store.archived(name) is None:
            yield name, int(seq)
        after: str | None = name or None
        while rows := await self.store.sessions(after, SESSIONS, within):
            for row in rows:
                if row.session_id != SYSTEM:
                    yield row.session_id, 0
            after = rows[-1].session_id

    async def _may_be_read(self, session_id: str, within: Within) -> bool:
        space = await self.store.space_of(session_id)
        return space is not None and session_id != SYSTEM and (within is None or space in within)


def _wanted(call: Call) -> Wanted:
    query = call.query
    tool = [b'"tool_id":' + msgspec.json.encode(query["tool"]).lower()] if query["tool"] else []
    text = [msgspec.json.encode(query["text"])[1:-1].lower()] if query["text"] else []
    actor = (query["actor"] or "").lower()
    return Wanted(
        actor=actor,
        verb=_verb(query["verb"]),
        since=_moment(query["since"], "since", "T00:00:00Z"),
        until=_moment(query["until"], "until", "T23:59:59.999999Z"),
        needles=(*tool, *text, *([msgspec.json.encode(actor)[1:-1].lower()] if actor else [])),
    )


def _verb(name: str | None) -> str:
    """A verb that no ledger can have is a slip of the pen, and no question to which nothing is the answer."""
    if name is None or name in COMMAND_OF:
        return name or ""
    near = get_close_matches(name.upper(), COMMAND_OF, 1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    raise invalid(f"no verb `{name}`{meant or ';'} verbs are {', '.join(sorted(COMMAND_OF))}", "verb")


def _moment(text: str | None, name: str, of_day: str) -> float | None:
    """Seconds since 1970 of a time, or of this time of a day."""
    if text is None:
        return None
    try:
        return seconds(f"{text}{of_day}" if "T" not in text else text.replace(" ", "+"))
    except ValueError:  # a thirteenth month
        raise invalid(f"`{name}` must be {DAY_OR_TIME}", name) from None


def _matching(chunk: list[Sealed], wanted: Wanted) -> list[Sealed]:
    return [one for one in chunk if wanted.has(one.record)]
