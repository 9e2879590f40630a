"""The handler of the one feed over all sessions: what changes in the inbox, and which ledgers grow."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from msgspec import Struct

from beliefd.steward.call import Call
from beliefd.steward.environment import Environment
from beliefd.steward.feeds import GO_ELSEWHERE, Feeds
from beliefd.steward.inbox_feed import Change, InboxChange, InboxFeed
from beliefd.steward.write.positions import Positions
from beliefd.stores.base import Store


class FollowHandlers(Struct, frozen=True):
    """What changes over all sessions that a listener may see."""

    store: Store
    positions: Positions
    feeds: Feeds
    environment: Environment

    async def follow_inbox(self, call: Call) -> AsyncGenerator[bytes, None]:
        yield b": beliefd\n\n"
        now, everything = self.environment.new_id(), call.query["changes"] == "all"
        feed = InboxFeed(self.store, self.feeds, call.asked_spaces, now, sessions=everything)
        async with aclosing(feed.follow()) as changes:
            async for told in changes:
                if told is None:
                    yield b": still here\n\n"
                for one in told or ():
                    event, data = await self._told(one)
                    yield b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data))
        if self.feeds.ended:
            yield GO_ELSEWHERE

    async def _told(self, one: Change) -> tuple[str, dict[str, object]]:
        if not isinstance(one, InboxChange):
            told = {"session_id": one.session_id, "seq": one.head.seq, "event_id": one.head.event_id}
            return "session.changed", told
        row = one.row
        told = {"approval_id": row.approval_id, "session_id": row.session_id, "status": row.status}
        if one.change == "approval.decided":
            session = (await self.positions.existing(row.session_id)).session
            call_id = session.approvals.by_id[row.approval_id].led_to
            told |= {"call_id": call_id} if call_id else {}
        return one.change, told
