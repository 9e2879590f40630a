"""Everything that is in one database, in another: row by row, compared as it goes.

Both databases have the same tables; which, their schema says. Rows are read from both sides in the order of
their keys and compared, page by page: what is missing is added, what differs is put right, what is no more is
taken away. So it can be stopped at any time and begun again, and what has been gone through is the same on
both sides. INVARIANT: tables that only grow (ledgers) are only added to; a database that holds anything in
them that the source does not hold is somebody else's, and is left as it is.
"""

# ruff: noqa: S608 - names of tables and columns are those of our own schema

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from beliefd.stores.base import Foreign, Store
from beliefd.stores.sql.database import Database, Steps
from beliefd.stores.sqlite.schema import MIGRATIONS

PAGE: Final = 500
CELLS: Final = 4_000
"""So many values a statement takes at most; both databases allow some more."""
FIRST: Final = "audit_events"
"""Copied before all others: what else is there belongs to the ledgers that are there."""
Row = tuple[Any, ...]
Progress = Callable[[int], None]


class Shape(Struct, frozen=True):
    """A table as both databases have it. `grows` says that its rows are never changed or removed."""

    name: str
    columns: tuple[str, ...]
    blobs: tuple[bool, ...]
    key: tuple[str, ...]
    grows: bool
    counted: bool

    def key_of(self, row: Row) -> Row:
        return tuple(row[self.columns.index(name)] for name in self.key)


class Moved(Struct):
    """What was done: rows that were looked at, added, changed and taken away."""

    rows: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.added or self.changed or self.removed)


def shapes() -> list[Shape]:
    """The tables of the newest schema, those first that others refer to. Nobody lists them by hand."""
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    found = [_shape(connection, name, sql) for name, sql in connection.execute(_TABLES).fetchall()]
    refers = {
        one.name: {row[2] for row in connection.execute(f"PRAGMA foreign_key_list({one.name})")}
        for one in found
    }
    connection.close()
    return sorted(found, key=lambda one: (one.name != FIRST, len(refers[one.name]), one.name))


_TABLES: Final = (
    "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
)
_GUARDS: Final = (
    "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
    " AND sql LIKE '%BEFORE UPDATE ON%'"
)


def _shape(connection: sqlite3.Connection, name: str, sql: str) -> Shape:
    columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keyed = sorted((column for column in columns if column[5]), key=lambda column: column[5])
    return Shape(
        name=name,
        columns=tuple(column[1] for column in columns),
        blobs=tuple(column[2] == "BLOB" for column in columns),
        key=tuple(column[1] for column in keyed),
        grows=bool(connection.execute(_GUARDS, (name,)).fetchone()[0]),
        counted="AUTOINCREMENT" in sql,
    )


async def count(store: Store) -> int:
    """How many rows there are to look at."""
    side = _side(store)
    return sum([await side.count(shape) for shape in shapes()])


async def refuse_foreign(source: Store, target: Store) -> None:
    """Raise Foreign if the target holds rows that the source does not, before anything is written to it.

    Where the target shares its ledgers with the source, what is beside them may be of another time.
    """
    here, there = _side(source), _side(target)
    shared = False
    for shape in shapes():
        if shape.name == "graph_plays" or not await there.count(shape):
            continue
        if not shape.grows and shared:
            continue
        async for page in _pages(there, shape):
            known = {shape.key_of(row): row for row in await here.same_range(shape, page)}
            for row in page:
                if known.get(shape.key_of(row)) != row:
                    key = " ".join(map(str, shape.key_of(row)))
                    raise Foreign(f"`{key}` of its table `{shape.name}` is not what the source has there")
        shared = shared or shape.name == FIRST


async def copy_all(source: Store, target: Store, progress: Progress = lambda _: None) -> Moved:
    """Make the rows of the target those of the source, table by table."""
    here, there = _side(source), _side(target)
    moved = Moved()
    for shape in shapes():
        after: Row | None = None
        while True:
            page = await here.page(shape, after)
            last = shape.key_of(page[-1]) if page else None
            old = await there.between(shape, after, last)
            await there.apply(shape, *_difference(shape, page, old, moved))
            moved.rows += len(page)
            progress(moved.rows)
            if last is None:
                break
            after = last
        if shape.counted:
            await there.continue_counting(shape)
    return moved


def _difference(
    shape: Shape, page: Sequence[Row], old: Sequence[Row], moved: Moved
) -> tuple[list[Row], list[Row], list[Row]]:
    """What is to be added, changed and taken away so that `old` becomes `page`."""
    new, known = ({shape.key_of(row): row for row in rows} for rows in (page, old))
    added = [row for key, row in new.items() if key not in known]
    changed = [row for key, row in new.items() if key in known and known[key] != row]
    removed = [row for key, row in known.items() if key not in new]
    if shape.grows and (changed or removed):
        key = " ".join(map(str, shape.key_of((changed or removed)[0])))
        raise Foreign(f"`{key}` of its table `{shape.name}` is not what the source has there")
    moved.added += len(added)
    moved.changed += len(changed)
    moved.removed += len(removed)
    return added, changed, removed


async def _pages(side: "_Side", shape: Shape) -> AsyncIterator[list[Row]]:
    after: Row | None = None
    while page := await side.page(shape, after):
        yield page
        after = shape.key_of(page[-1])


def _side(store: Store) -> "_Side":
    if not isinstance(store, Database):
        raise Foreign("it is no database")
    return _Side(store)


class _Side:
    """One of the two databases, as rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts = type(database).__name__ == "PostgresStore"

    async def count(self, shape: Shape) -> int:
        row = await self._database._one(f"SELECT count(*) FROM {shape.name}")
        return 0 if row is None else int(row[0])

    async def page(self, shape: Shape, after: Row | None) -> list[Row]:
        """Rows past a key. One page holds few long rows or many short ones."""
        limit = PAGE if not any(shape.blobs) else max(PAGE // 25, 1)
        where, values = _past(shape, after)
        ordered = f"{_select(shape)}{where} ORDER BY {', '.join(shape.key)} LIMIT {limit}"
        return [_plain(shape, row) for row in await self._database._all(ordered, *values)]

    async def between(self, shape: Shape, after: Row | None, upto: Row | None) -> list[Row]:
        """Rows past one key and up to another; without the other, all that follow."""
        where, values = _past(shape, after)
        if upto is not None:
            names = [f"${len(values) + number}" for number in range(1, len(upto) + 1)]
            where += (" AND " if where else " WHERE ") + f"({', '.join(shape.key)}) <= ({', '.join(names)})"
        rows = await self._database._all(_select(shape) + where, *values, *(upto or ()))
        return [_plain(shape, row) for row in rows]

    async def same_range(self, shape: Shape, page: Sequence[Row]) -> list[Row]:
        first, last = shape.key_of(page[0]), shape.key_of(page[-1])
        keys = ", ".join(shape.key)
        low = ", ".join(f"${number}" for number in range(1, len(first) + 1))
        high = ", ".join(f"${len(first) + number}" for number in range(1, len(last) + 1))
        where = f" WHERE ({keys}) >= ({low}) AND ({keys}) <= ({high})"
        return [
            _plain(shape, row) for row in await self._database._all(_select(shape) + where, *first, *last)
        ]

    async def apply(self, shape: Shape, added: list[Row], changed: list[Row], removed: list[Row]) -> None:
        """In one transaction: a page is there or it is not."""
        if added or changed or removed:
            await self._database._together(self._steps(shape, added, changed, removed))

    def _steps(self, shape: Shape, added: list[Row], changed: list[Row], removed: list[Row]) -> Steps[None]:
        numbers = {name: f"${number}" for number, name in enumerate(shape.columns, 1)}
        rest = ", ".join(f"{name} = {at}" for name, at in numbers.items() if name not in shape.key)
        for row in changed:
            matches = " AND ".join(f"{name} = {numbers[name]}" for name in shape.key)
            yield (f"UPDATE {shape.name} SET {rest} WHERE {matches}", *row)
        for row in removed:
            matches = " AND ".join(f"{name} = ${number}" for number, name in enumerate(shape.key, 1))
            yield (f"DELETE FROM {shape.name} WHERE {matches}", *shape.key_of(row))
        at_once = max(CELLS // len(shape.columns), 1)
        for start in range(0, len(added), at_once):
            several = added[start : start + at_once]
            yield (self._insert(shape, len(several)), *(cell for row in several for cell in row))

    def _insert(self, shape: Shape, rows: int) -> str:
        width = len(shape.columns)
        tuples = (
            f"({', '.join(f'${row * width + number}' for number in range(1, width + 1))})"
            for row in range(rows)
        )
        numbered = " OVERRIDING SYSTEM VALUE" if shape.counted and self._counts else ""
        return f"INSERT INTO {shape.name} ({', '.join(shape.columns)}){numbered} VALUES {', '.join(tuples)}"

    async def continue_counting(self, shape: Shape) -> None:
        """The next row gets the number after the last: PostgreSQL counts beside the table."""
        if self._counts:
            (number,) = shape.key
            await self._database._write(
                f"SELECT setval(pg_get_serial_sequence('{shape.name}', '{number}'),"
                f" greatest(max({number}), 1), max({number}) IS NOT NULL) FROM {shape.name}"
            )


def _select(shape: Shape) -> str:
    return f"SELECT {', '.join(shape.columns)} FROM {shape.name}"


def _past(shape: Shape, after: Row | None) -> tuple[str, Row]:
    if after is None:
        return "", ()
    names = ", ".join(f"${number}" for number in range(1, len(after) + 1))
    return f" WHERE ({', '.join(shape.key)}) > ({names})", after


def _plain(shape: Shape, row: Sequence[Any]) -> Row:
    """Cells as both databases mean them: SQLite keeps a text among bytes if somebody put one."""
    return tuple(
        (cell.encode() if isinstance(cell, str) else bytes(cell)) if blob and cell is not None else cell
        for cell, blob in zip(row, shape.blobs, strict=True)
    )
