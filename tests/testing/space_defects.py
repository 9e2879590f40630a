"""Stores that mix spaces up, each in one plausible way."""

from collections.abc import Sequence

from msgspec.structs import replace

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.knowledge.graph import NodeRow
from beliefd.stores.base import Append, SessionRow, SpaceRow
from beliefd.stores.memory import MemoryStore
from beliefd.stores.projections import InboxRow
from beliefd.stores.within import Within


class ForgetsTheSpace(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(replace(batch, space=DEFAULT_SPACE))


class MovesASessionToAnotherSpace(MemoryStore):
    async def append(self, batch: Append) -> None:
        await super().append(batch)
        self._space_of[batch.session_id] = batch.space


class ListsSessionsOfAllSpaces(MemoryStore):
    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        return await super().sessions(after, limit)


class LeavesGapsInThePagesOfASpace(MemoryStore):
    async def sessions(self, after: str | None, limit: int, within: Within = None) -> list[SessionRow]:
        return [row for row in await super().sessions(after, limit) if self._seen(within)(row.session_id)]


class ShowsWhatWaitsInOtherSpaces(MemoryStore):
    async def inbox(
        self, status: str | None, after: str | None, limit: int, within: Within = None
    ) -> list[InboxRow]:
        return await super().inbox(status, after, limit)


class NamesPropositionsOfOtherSpaces(MemoryStore):
    async def node_ids(
        self, kind: str, statuses: Sequence[str], after: str | None, limit: int, within: Within = None
    ) -> list[str]:
        return await super().node_ids(kind, statuses, after, limit)


class ShowsPropositionsOfOtherSpaces(MemoryStore):
    async def nodes(
        self, kind: str, claim_ids: Sequence[str], limit: int, within: Within = None
    ) -> list[NodeRow]:
        return await super().nodes(kind, claim_ids, limit)


class GivesContentToOtherSpaces(MemoryStore):
    async def content(self, sha256: str, within: Within = None) -> bytes | None:
        return await super().content(sha256)


class SaysWhoBroughtContentToOtherSpaces(MemoryStore):
    async def bringers(self, sha256: str, within: Within = None) -> list[Bringer]:
        return await super().bringers(sha256)


class MakesASpaceTwice(MemoryStore):
    async def add_space(self, row: SpaceRow) -> bool:
        self._spaces[row.name] = row
        return True
