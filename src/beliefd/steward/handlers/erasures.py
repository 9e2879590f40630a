"""Handlers of erasures: what is to go is named by digest, the ledger says so, and the store lets go of it."""

from typing import Final

from msgspec import Struct

from beliefd.kernel.erasures.commands import MAX_ERASED, Erase
from beliefd.kernel.erasures.events import Erased
from beliefd.kernel.erasures.withholding import WithheldPart, opened_part
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.ledger.envelope import Entry
from beliefd.ledger.withheld import digests_in, parts_of, withholding
from beliefd.protocol.erasures import ErasureAnswer, ErasureRequest, PartPage, PartView
from beliefd.protocol.rights import Right
from beliefd.steward.call import Call
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.ledger import DecidedUnder
from beliefd.steward.handlers.shared import Room, read_as
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, expected, submit_on_behalf
from beliefd.stores.base import Store

LOOKED_AT: Final = 10_000
"""So many entries one answer looks at."""
CHUNK: Final = 1_000
DIGITS: Final = 15


class ErasureHandlers(Struct, frozen=True):
    """What stands beside ledgers, shown and erased."""

    store: Store
    positions: Positions
    submit: Submit

    async def erase(self, call: Call) -> ErasureAnswer:
        asked = await read_as(call, ErasureRequest)
        held = (await self.positions.existing(call.session_id)).session.erasures.erased
        wanted = [name for name in await self._named(call, asked) if name not in held]
        await self._refuse_foreign(call, wanted)
        events: list[str] = []
        for start in range(0, len(wanted), MAX_ERASED):
            command = Erase(digests=tuple(wanted[start : start + MAX_ERASED]), reason=asked.reason)
            outcome = await submit_on_behalf(call, self.submit, call.session_id, command)
            events.append(expected(outcome, Erased).event_id)
        return ErasureAnswer(events=events, erased=wanted, swept=await self.store.sweep())

    async def _named(self, call: Call, asked: ErasureRequest) -> list[str]:
        """All digests that are asked for, each once."""
        if not (asked.digests or asked.events or asked.context):
            raise invalid("say what to erase: `digests`, `events` or `context`", "$")
        found = dict.fromkeys(asked.digests)
        for number, event_id in enumerate(asked.events):
            seq = await self.positions.chains.seq_of(call.session_id, event_id)
            if seq is None:
                raise not_found(Code.NOT_FOUND, "event", event_id)
            found_there = await self.positions.chains.entries(call.session_id, seq - 1, 1)
            under = DecidedUnder(self.store)
            await under.take(found_there)
            digests = digests_in(found_there, under.policies)
            if not digests:
                # INVARIANT: nobody is told that something is gone which stands in the chain.
                text = f"event `{event_id}` withholds nothing: what it says is in the chain, and stays"
                raise BeliefdError(Code.CONTENT_NOT_FOUND, text, {"path": f"$.events[{number}]"})
            found |= dict.fromkeys(sorted(digests))
        if asked.context:
            items = (await self.positions.existing(call.session_id)).session.context.items
            told = (items[str(number)].content for number in range(1, len(items) + 1))
            found |= dict.fromkeys(name for name in told if name is not None)
        return list(found)

    async def _refuse_foreign(self, call: Call, digests: list[str]) -> None:
        """INVARIANT: what others keep in a space where one is no administrator, or may want to keep there, is
        not one's own to erase. Nobody learns by this what is kept there alone."""
        if call.rights.everywhere(Right.ADMIN):
            return
        spaces = {DEFAULT_SPACE, *(row.name for row in await self.store.spaces())}
        foreign = {name for name in spaces if not call.rights.may(Right.ADMIN, name)}
        known = await self.store.kept_content(digests, spaces - foreign) | await self.store.erased(digests)
        if absent := [name for name in digests if name not in known]:
            text = f"`{absent[0]}` is not kept here; to bar it takes the right to `admin` in every space"
            raise BeliefdError(Code.CONTENT_NOT_FOUND, text, {"path": "$.digests"})
        if kept := sorted(await self.store.kept_content(digests, foreign)):
            text = f"`{kept[0]}` is not of this space alone; it takes the right to `admin` in every space"
            raise BeliefdError(Code.FORBIDDEN, text, {"path": "$.digests"})

    async def list_parts(self, call: Call) -> PartPage:
        position = await self.positions.existing(call.session_id)
        after = _number(call.query["cursor"])
        upto = min(after + LOOKED_AT, position.head.seq)
        views: list[PartView] = []
        room, under, held = Room(), DecidedUnder(self.store), position.session.erasures.erased
        while after < upto:
            chunk = await self.positions.chains.entries(call.session_id, after, min(upto - after, CHUNK))
            await under.take(chunk)
            after = chunk[-1].seq
            for entry in withholding(chunk):
                parts = parts_of(entry, under.policies.get(entry.policy_hash))
                made = [await self._view(call, entry, part, held.get(part.digest)) for part in parts]
                views += made
                filled = [room.is_filled_by(one) for one in made]
                if len(views) >= call.query["limit"] or any(filled):
                    after = upto = entry.seq
                    break
        return PartPage(items=views, next=str(after) if after < position.head.seq else None)

    async def _view(self, call: Call, entry: Entry, part: WithheldPart, erased_by: str | None) -> PartView:
        content = None if erased_by is not None else await self.store.content(part.digest, call.readable)
        value = None if content is None else opened_part(content, part.digest)
        return PartView(
            seq=entry.seq,
            event_id=entry.event_id,
            verb=entry.verb,
            path=part.path,
            digest=part.digest,
            state="erased" if erased_by is not None else "absent" if value is None else "kept",
            value=value,
            erased_by=erased_by,
        )


def _number(cursor: str | None) -> int:
    """Where to go on; nothing comes after a cursor that no page ended with."""
    if cursor is None:
        return 0
    return int(cursor) if cursor.isdecimal() and len(cursor) <= DIGITS else 10**DIGITS
