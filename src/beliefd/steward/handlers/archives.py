"""Handlers of archived sessions: a sealed ledger out of the store, and back."""

from io import BytesIO

from msgspec import Struct

from beliefd.protocol.archives import ArchiveSession, BroughtBack
from beliefd.protocol.beliefs import ArchivedSession
from beliefd.protocol.snapshots import snapshot_of
from beliefd.protocol.wire import convert
from beliefd.steward.archiving import Archiving
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import archived_view


class ArchiveHandlers(Struct, frozen=True):
    """Ledgers that are put away."""

    archiving: Archiving

    async def archive_session(self, call: Call) -> ArchivedSession:
        asked = convert(call.body, ArchiveSession)
        return archived_view(
            await self.archiving.archive(call.session_id, asked.place, asked.sha256, call.principal)
        )

    async def unarchive_session(self, call: Call) -> BroughtBack:
        lines = BytesIO(call.body)
        place = call.query["place"] or ""
        stub = await self.archiving.bring_back(call.session_id, lines, call.principal, place)
        back = await self.archiving.positions.existing(call.session_id)
        snapshot = snapshot_of(back.session, back.head, due=back.due)
        return BroughtBack(session_id=call.session_id, events=stub.head.seq, snapshot=snapshot)
