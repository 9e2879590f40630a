"""A TypeDB that lives in a dict: it reads our schema and refuses what the schema does not allow."""

import copy
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.knowledge.typeql import VALUE_TYPES, Query, Schema, Statement, refuse


class TransactionType(enum.Enum):
    READ = 0
    WRITE = 1
    SCHEMA = 2


class Data:
    """Things with attributes, and links between them."""

    def __init__(self) -> None:
        self.things: dict[int, tuple[str, dict[str, Any]]] = {}
        self.links: set[tuple[str, frozenset[tuple[str, int]]]] = set()
        self._ids = count()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [owned for type_, owned in self.things.values() if type_ == kind]

    def run(self, query: Query, schema: Schema, row: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [dict(row)]
        for stage, statements in query.stages:
            found = [after for one in found for after in self._stage(stage, statements, schema, one)]
        return [{name: one[variable] for name, variable in query.fetch.items()} for one in found]

    def _stage(
        self, stage: str, statements: list[Statement], schema: Schema, row: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if stage == "update":
            for said in statements:
                self._own(said, schema, row, replace=True)
            return [row]
        found = [row]
        for said in statements:
            found = [after for one in found for after in self._matches(said, one)]
        if stage == "match" or found:
            return found
        made = dict(row)
        for said in statements:
            self._insert(said, schema, made)
        return [made]

    def _matches(self, said: Statement, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if said.links:
            players = frozenset((role, row[player]) for role, player in said.links)
            if (said.isa, players) in self.links:
                yield row
            return
        for name, (kind, owned) in self.things.items():
            if kind != said.isa or row.get(said.variable, name) != name:
                continue
            bound = {**row, said.variable: name}
            for attribute, by_value, variable in said.has:
                if attribute not in owned or (by_value and owned[attribute] != row[variable]):
                    break
                bound.setdefault(variable, owned[attribute])
            else:
                yield bound

    def _insert(self, said: Statement, schema: Schema, row: dict[str, Any]) -> None:
        assert said.isa is not None
        if said.links:
            self.links.add((said.isa, frozenset((role, row[player]) for role, player in said.links)))
            return
        row[said.variable] = next(self._ids)
        self.things[row[said.variable]] = (said.isa, {})
        self._own(said, schema, row)

    def _own(self, said: Statement, schema: Schema, row: dict[str, Any], replace: bool = False) -> None:
        kind, owned = self.things[row[said.variable]]
        for attribute, _, variable in said.has:
            value = row[variable]
            if attribute in owned and not replace:
                raise refuse(f"`{attribute}` is owned once")
            if value not in schema.values.get(attribute, {value}):
                raise refuse(f"`{value}` is not among the values of `{attribute}`")
            keyed = schema.keyed_by(kind, attribute)
            if keyed is not None and any(
                other.get(attribute) == value
                for type_, other in self.things.values()
                if other is not owned and schema.keyed_by(type_, attribute) == keyed
            ):
                raise refuse(f"key `{attribute}` is taken")
            owned[attribute] = value


class Answer:
    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self._documents = documents

    def resolve(self) -> "Answer":
        return self

    def as_concept_documents(self) -> Iterator[dict[str, Any]]:
        return iter(self._documents)


class Transaction:
    def __init__(self, driver: "FakeDriver", kind: TransactionType) -> None:
        self._driver = driver
        self._kind = kind
        self._data = copy.deepcopy(driver.data)

    def query(
        self, query: str, options: None = None, given_rows: list[dict[str, Any]] | None = None
    ) -> Answer:
        self._driver.sent.append(query)
        if self._kind is TransactionType.SCHEMA:
            self._driver.schema = Schema(query)
            return Answer([])
        assert self._driver.schema is not None
        read = Query(query, self._driver.schema)
        if self._kind is TransactionType.READ and any(stage != "match" for stage, _ in read.stages):
            raise refuse("a read transaction does not write")
        rows = [_checked(read.given, row) for row in given_rows or [{}]]
        return Answer([found for row in rows for found in self._data.run(read, self._driver.schema, row)])

    def commit(self) -> None:
        self._driver.committed(self._kind, self._data)


def _checked(given: dict[str, str], row: dict[str, Any]) -> dict[str, Any]:
    if {f"${name}" for name in row} != given.keys():
        raise refuse(f"the rows are of {sorted(row)}, the query asks for {sorted(given)}")
    for variable, type_ in given.items():
        value = row[variable[1:]]
        if type(value) is not VALUE_TYPES[type_]:
            raise refuse(f"`{variable}` is no {type_}: {value!r}")
        if "\x00" in str(value):
            raise refuse("the driver would cut this string at its NUL")
    return {f"${name}": value for name, value in row.items()}


class FakeDriver:
    """Stands in for the driver and the server at once. `fail_at` is the number of the write that fails."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.names: set[str] = set()
        self.schema: Schema | None = None
        self.data = Data()
        self.sent: list[str] = []
        self.writes = 0
        self.fail_at = fail_at
        self.open = True
        self.databases = self

    def contains(self, name: str) -> bool:
        return name in self.names

    def create(self, name: str) -> None:
        self.names.add(name)

    @contextmanager
    def transaction(self, name: str, kind: TransactionType) -> Iterator[Transaction]:
        if name not in self.names:
            raise refuse(f"no database `{name}`")
        yield Transaction(self, kind)

    def committed(self, kind: TransactionType, data: Data) -> None:
        if kind is TransactionType.WRITE:
            self.writes += 1
            if self.writes == self.fail_at:
                raise refuse("the connection was lost")
        self.data = data

    def close(self) -> None:
        self.open = False
