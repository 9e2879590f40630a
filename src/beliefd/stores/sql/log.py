"""The log in a database. Leaves are given in transactions of their own, beside those that append entries."""

import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from msgspec.structs import astuple

from beliefd.ledger.merkle import Place, edge, grown, leaf_hash
from beliefd.stores.log import KeptCheckpoint, Leaf, Run, runs_of
from beliefd.stores.sql.database import Database, Steps, as_bytes

_SIZE: Final = "SELECT first_leaf + length FROM log_runs ORDER BY first_leaf DESC LIMIT 1"
_COVERED: Final = """coalesce((
        SELECT first_seq + length - 1 FROM log_runs WHERE log_runs.session_id = sessions.session_id
        ORDER BY first_seq DESC LIMIT 1
    ), 0)"""
_UNLOGGED: Final = f"""
    SELECT session_id FROM sessions WHERE session_id > $1 AND head_seq > {_COVERED}
    ORDER BY session_id LIMIT $2
"""  # noqa: S608 - made of constants
# The databases follow the list of sessions, each from where it is covered: a long ledger is not read again.
_ENTRIES: Final = f"""
    WITH wanted AS MATERIALIZED (
        SELECT session_id, {_COVERED} AS covered FROM sessions WHERE session_id {{among}}
    )
    SELECT e.session_id, e.seq, e.hash FROM wanted CROSS JOIN audit_events AS e
    WHERE e.session_id = wanted.session_id AND e.seq > wanted.covered
    ORDER BY e.session_id, e.seq LIMIT $2
"""  # noqa: S608 - made of constants
_PUT_TILE: Final = (
    "INSERT INTO log_tiles (place, hashes) VALUES ($1, $2)"
    " ON CONFLICT (place) DO UPDATE SET hashes = excluded.hashes"
)
_RUN: Final = "SELECT first_leaf, session_id, first_seq, length FROM log_runs"
_SESSION_RUNS: Final = f"""{_RUN} WHERE session_id = $1 AND first_seq >= COALESCE(
        (SELECT MAX(first_seq) FROM log_runs WHERE session_id = $1 AND first_seq <= $2), 0
    ) ORDER BY first_seq LIMIT $3"""  # noqa: S608


class Log(Database):
    """That part of the store."""

    HOLD_LOG: ClassVar[tuple[str, ...]] = ()
    """A step that lets nobody give leaves until the transaction ends; none if all of them wait."""
    LISTED_RUNS: ClassVar[str]
    """A query that makes rows of the JSON list of lists that is the first parameter."""

    async def log_size(self) -> int:
        row = await self._one(_SIZE)
        return 0 if row is None else int(row[0])

    async def unlogged(self, after: str, limit: int) -> list[str]:
        return [session_id for (session_id,) in await self._scan(_UNLOGGED, after, limit)]

    async def _scan(self, statement: str, *values: object) -> Any:
        """A question that takes long where there are many sessions."""
        return await self._all(statement, *values)

    async def add_leaves(self, session_ids: Collection[str], limit: int) -> int:
        """Everything is read and hashed before the transaction, which is short: appends may wait for it."""
        while session_ids:
            size = await self.log_size()
            rows = await self._scan(_ENTRIES.format(among=self.AMONG), self._list(session_ids), limit)
            runs, hashes = runs_of(size, [(row[0], row[1], row[2]) for row in rows])
            if not hashes:
                break
            tiles = grown(size, await self.tiles(edge(size)), [leaf_hash(one) for one in hashes])
            if await self._together(self._adding(runs, tiles)):
                return len(hashes)
        return 0

    def _adding(self, runs: list[Run], tiles: Mapping[Place, bytes]) -> Steps[bool]:
        # INVARIANT: whoever gives leaves begins where the log ends, and one run at most begins there. If this
        # one does, nothing has changed since all was read. So no entry gets two leaves.
        put = f"INSERT INTO log_runs (first_leaf, session_id, first_seq, length) {self.LISTED_RUNS}"
        first, *rest = [astuple(run) for run in runs]
        if not (yield f"{put} ON CONFLICT DO NOTHING RETURNING first_leaf", json.dumps([first])):
            return False
        for place, tile in tiles.items():
            yield _PUT_TILE, _name(place), tile
        yield put, json.dumps(rest)
        return True

    async def tiles(self, places: Collection[Place]) -> dict[Place, bytes]:
        statement = f"SELECT place, hashes FROM log_tiles WHERE place {self.AMONG}"  # noqa: S608
        rows = await self._all(statement, self._list([_name(one) for one in places])) if places else []
        return {_place(name): as_bytes(tile) for name, tile in rows}

    async def put_tiles(self, size: int, tiles: Mapping[Place, bytes]) -> bool:
        return await self._together(self._putting(size, tiles))

    def _putting(self, size: int, tiles: Mapping[Place, bytes]) -> Steps[bool]:
        if self.HOLD_LOG:
            yield self.HOLD_LOG
        rows = yield (_SIZE,)
        if (rows[0][0] if rows else 0) != size:
            return False
        for place, tile in tiles.items():
            yield _PUT_TILE, _name(place), tile
        return True

    async def leaf_of(self, session_id: str, seq: int) -> int | None:
        row = await self._one(
            f"{_RUN} WHERE session_id = $1 AND first_seq <= $2 ORDER BY first_seq DESC LIMIT 1",
            session_id,
            seq,
        )
        run = None if row is None else Run(*row)
        return None if run is None or seq > run.last_seq else run.first_leaf + seq - run.first_seq

    async def last_leaf(self, session_id: str, size: int) -> Leaf | None:
        row = await self._one(
            f"{_RUN} WHERE session_id = $1 AND first_leaf < $2 ORDER BY first_seq DESC LIMIT 1",
            session_id,
            size,
        )
        if row is None:
            return None
        run = Run(*row)
        index = min(run.first_leaf + run.length, size) - 1
        return Leaf(run.first_seq + index - run.first_leaf, index)

    async def session_runs(self, session_id: str, seq: int, limit: int) -> list[Run]:
        return [Run(*row) for row in await self._all(_SESSION_RUNS, session_id, seq, limit)]

    async def runs(self, first_leaf: int, limit: int) -> list[Run]:
        rows = await self._all(
            f"{_RUN} WHERE first_leaf >= $1 ORDER BY first_leaf LIMIT $2", first_leaf, limit
        )
        return [Run(*row) for row in rows]

    async def keep_checkpoint(self, kept: KeptCheckpoint, before: str | None = None) -> bool:
        text = kept.note.partition("\n\n")[0]
        if before is not None:
            statement = "UPDATE log_checkpoints SET note = $1 WHERE text = $2 AND note = $3 RETURNING size"
            return await self._write(statement, kept.note, text, before) is not None
        statement = (
            "INSERT INTO log_checkpoints (text, size, note, made_at) VALUES ($1, $2, $3, $4)"
            " ON CONFLICT DO NOTHING RETURNING size"
        )
        return await self._write(statement, text, *astuple(kept)) is not None

    async def checkpoints(self, limit: int, size: int | None = None) -> list[KeptCheckpoint]:
        of_size, sizes = ("", ()) if size is None else ("WHERE size = $2", (size,))
        rows = await self._all(
            f"SELECT size, note, made_at FROM log_checkpoints {of_size} ORDER BY number DESC LIMIT $1",  # noqa: S608
            limit,
            *sizes,
        )
        return [KeptCheckpoint(*row) for row in rows]


def _name(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def _place(name: str) -> Place:
    height, _, number = name.partition("/")
    return int(height), int(number)
