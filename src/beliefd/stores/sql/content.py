"""Content in a database: kept under its hash, counted for its bringers, removed when nobody cites it."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import DEFAULT_SPACE, Role
from beliefd.stores.citations import Uncited
from beliefd.stores.content import UNLIMITED, ContentErased, KeptContent, Quota, QuotaExceeded
from beliefd.stores.sql.database import Database, Steps, as_bytes
from beliefd.stores.sql.kept import AskedTogether
from beliefd.stores.within import Within

CHUNK: Final = 500
_TOUCH: Final = (
    "INSERT INTO content_about (sha256, size, touched_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (sha256) DO UPDATE SET touched_at = excluded.touched_at"
    " WHERE excluded.touched_at > content_about.touched_at"
)
_COUNT: Final = (
    "UPDATE content_use SET items = items + 1, bytes = bytes + $2"
    " WHERE id = $1 AND items < $3 AND bytes + $2 <= $4 RETURNING id"
)
_UNCOUNT: Final = "UPDATE content_use SET items = items - $2, bytes = bytes - $3 WHERE id = $1"
_BRING: Final = (
    "INSERT INTO content_brought (sha256, id, role, at, space) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT DO NOTHING"
)
_RECORDS: Final = (
    "SELECT record FROM audit_events WHERE session_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4"
)


class Content(Database):
    """That part of the store."""

    @cached_property
    def _kept(self) -> AskedTogether:
        return AskedTogether(self._kept_content)

    async def put_content(
        self,
        sha256: str,
        content: bytes,
        bringer: Bringer,
        quota: Quota = UNLIMITED,
        space: str = DEFAULT_SPACE,
    ) -> None:
        await self._together(_putting(sha256, content, bringer, quota, space))

    async def bringers(self, sha256: str, within: Within = None) -> list[Bringer]:
        where, spaces = self._brought_into(within, 2)
        statement = (
            f"SELECT id, role, min(at) FROM content_brought WHERE sha256 = $1{where}"  # noqa: S608
            " GROUP BY id, role ORDER BY id, role"
        )
        rows = await self._all(statement, sha256, *spaces)
        return [Bringer(id=who, role=Role(role), at=at) for who, role, at in rows]

    async def content(self, sha256: str, within: Within = None) -> bytes | None:
        where, spaces = self._kept_in(within, 2, "content")
        row = await self._one(f"SELECT bytes FROM content WHERE sha256 = $1{where}", sha256, *spaces)  # noqa: S608
        return None if row is None else as_bytes(row[0])

    async def kept_content(self, hashes: Collection[str], within: Within = None) -> set[str]:
        return await self._kept.among(hashes, within)

    async def _kept_content(self, hashes: Collection[str], within: Within) -> set[str]:
        where, spaces = self._kept_in(within, 2, "content")
        # Where no content is, as in many a store, no name has to be looked for.
        any_is = "EXISTS (SELECT 1 FROM content)"
        statement = f"SELECT sha256 FROM content WHERE {any_is} AND sha256 {self.AMONG}{where}"  # noqa: S608
        return {name for (name,) in await self._all(statement, self._list(hashes), *spaces)}

    async def erased(self, hashes: Collection[str]) -> set[str]:
        statement = f"SELECT DISTINCT sha256 FROM erased WHERE sha256 {self.AMONG}"  # noqa: S608
        return {name for (name,) in await self._all(statement, self._list(hashes))}

    async def about_content(self, sha256: str, within: Within = None) -> KeptContent | None:
        where, spaces = self._kept_in(within, 2, "content_about")
        statement = f"SELECT sha256, size, touched_at FROM content_about WHERE sha256 = $1{where}"  # noqa: S608
        row = await self._one(statement, sha256, *spaces)
        return None if row is None else KeptContent(*row)

    def _brought_into(self, within: Within, number: int) -> tuple[str, tuple[object, ...]]:
        if within is None:
            return "", ()
        return f" AND space {self.AMONG.replace('$1', f'${number}')}", (self._list(within),)

    def _kept_in(self, within: Within, number: int, table: str) -> tuple[str, tuple[object, ...]]:
        """That somebody brought it into one of these spaces; nobody, into the default one."""
        where, spaces = self._brought_into(within, number)
        if within is None:
            return "", ()
        brought = f"SELECT 1 FROM content_brought AS b WHERE b.sha256 = {table}.sha256"  # noqa: S608
        nobody = f" OR NOT EXISTS ({brought})" if DEFAULT_SPACE in within else ""
        return f" AND (EXISTS ({brought}{where}){nobody})", spaces

    async def content_before(self, before: str, after: str | None, limit: int) -> list[KeptContent]:
        rows = await self._all(
            "SELECT sha256, size, touched_at FROM content_about"
            " WHERE touched_at < $1 AND sha256 > $2 ORDER BY sha256 LIMIT $3",
            before,
            after or "",
            limit,
        )
        return [KeptContent(*row) for row in rows]

    async def remove_content(self, hashes: Sequence[str], before: str, uncited: Uncited) -> list[KeptContent]:
        return await self._together(self._removing(hashes, before, uncited))

    def _removing(self, hashes: Sequence[str], before: str, uncited: Uncited) -> Steps[list[KeptContent]]:
        # INVARIANT: what is removed is cited by no record, not even by one that came a moment ago: all are
        # read here, and no other can come before this is done.
        if self.HOLD_APPENDS:
            yield self.HOLD_APPENDS
        yield from _reading_on(uncited)
        among = self.AMONG
        wanted = self._list([name for name in hashes if name in uncited.left])
        rows = yield (
            f"DELETE FROM content_about WHERE sha256 {among} AND touched_at < $2"  # noqa: S608
            " AND NOT EXISTS (SELECT 1 FROM archived_content AS a WHERE a.sha256 = content_about.sha256)"
            " RETURNING sha256, size, touched_at",
            wanted,
            before,
        )
        removed = sorted((KeptContent(*row) for row in rows), key=lambda one: one.sha256)
        sizes = {one.sha256: one.size for one in removed}
        names = self._list(sizes)
        brought = yield f"SELECT DISTINCT id, sha256 FROM content_brought WHERE sha256 {among}", names  # noqa: S608
        items = Counter(who for who, _ in brought)
        for who in sorted(items):  # in order, so that two who remove wait for each other in one direction
            yield _UNCOUNT, who, items[who], sum(sizes[name] for one, name in brought if one == who)
        yield f"DELETE FROM content_brought WHERE sha256 {among}", names  # noqa: S608
        yield f"DELETE FROM content WHERE sha256 {among}", names  # noqa: S608
        return removed


def _putting(sha256: str, content: bytes, bringer: Bringer, quota: Quota, space: str) -> Steps[None]:
    """The first step holds whoever else puts or removes the same content until this is done."""
    size = len(content)
    yield _TOUCH, sha256, size, bringer.at
    gone = yield "SELECT 1 FROM erased WHERE sha256 = $1 LIMIT 1", sha256
    if gone:
        raise ContentErased(sha256)
    known = yield "SELECT 1 FROM content_brought WHERE sha256 = $1 AND id = $2 LIMIT 1", sha256, bringer.id
    if not known:
        yield (
            "INSERT INTO content_use (id, items, bytes) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING",
            bringer.id,
        )
        # INVARIANT: what is counted and what is asked whether it fits is one statement: of two at once, the
        # second sees what the first has counted.
        fits = yield _COUNT, bringer.id, size, quota.items, quota.bytes
        if not fits:
            ((items, total),) = yield "SELECT items, bytes FROM content_use WHERE id = $1", bringer.id
            raise QuotaExceeded(items, total, quota)
    yield _BRING, sha256, bringer.id, bringer.role.value, bringer.at, space
    yield "INSERT INTO content (sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING", sha256, content


def _reading_on(uncited: Uncited) -> Steps[None]:
    heads = yield ("SELECT session_id, head_seq FROM sessions WHERE archived = 0",)
    for session_id, known, seq in uncited.unread((row[0], row[1]) for row in heads):
        after = known
        while after < seq:
            rows = yield _RECORDS, session_id, after, seq, CHUNK
            if not rows:
                break
            uncited.take(as_bytes(record) for (record,) in rows)
            after += len(rows)
        uncited.read_upto[session_id] = seq
