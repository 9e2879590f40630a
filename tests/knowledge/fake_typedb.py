"""A TypeDB that lives in a dict: it reads our schema and refuses what the schema does not allow.

It knows the part of TypeQL that we send: given, match, put, update, fetch, over isa, has and links. Types,
owned attributes, value types, roles, keys and listed values are checked before anything is written.
"""

import copy
import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from typedb.common.exception import TypeDBDriverException

TOKEN = re.compile(r'\s*(\$[\w-]+|"[^"]*"|==|@\w+|[{}();:,]|[A-Za-z][\w-]*)')
STAGES = ("given", "match", "put", "update", "fetch")
VALUE_TYPES: dict[str, type] = {"string": str, "integer": int, "double": float, "boolean": bool}


class TransactionType(enum.Enum):
    READ = 0
    WRITE = 1
    SCHEMA = 2


def refuse(why: str) -> TypeDBDriverException:
    return TypeDBDriverException(why)


def tokens_of(text: str) -> list[str]:
    text = re.sub(r"#[^\n]*", "", text).strip()
    found, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise refuse(f"cannot read the query at `{text[at : at + 20]}`")
        found.append(token[1])
        at = token.end()
    return found


class Reader:
    """Tokens, one after the other."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.next
        if not token or (expected and token != expected):
            raise refuse(f"expected `{expected or 'more'}`, found `{token}`")
        self._at += 1
        return token

    def took(self, token: str) -> bool:
        if self.next != token:
            return False
        self._at += 1
        return True


class Schema:
    """What `define` made known."""

    def __init__(self, text: str) -> None:
        self.parents: dict[str, str] = {}
        self.entities: set[str] = set()
        self.abstract: set[str] = set()
        self.attributes: dict[str, str] = {}
        self.values: dict[str, set[str]] = {}
        self.roles: dict[str, set[str]] = {}
        self.owned: dict[str, set[str]] = {}
        self.keys: dict[str, set[str]] = {}
        self.plays: set[tuple[str, str, str]] = set()
        reader = Reader(tokens_of(text))
        reader.take("define")
        while reader.next:
            self._definition(reader)
        self._check()

    def _definition(self, reader: Reader) -> None:
        kind, label = reader.take(), reader.take()
        if kind == "entity":
            self.entities.add(label)
        elif kind == "relation":
            self.roles[label] = set()
        elif kind != "attribute":
            raise refuse(f"cannot define a `{kind}`")
        if reader.took("@abstract"):
            self.abstract.add(label)
        reader.took(",")
        while not reader.took(";"):
            self._capability(reader, label)
            reader.took(",")

    def _capability(self, reader: Reader, label: str) -> None:
        word, what = reader.take(), reader.take()
        if word == "sub":
            self.parents[label] = what
        elif word == "value":
            self.attributes[label] = what
            if reader.took("@values"):
                self.values[label] = set(_listed(reader))
        elif word == "owns":
            self.owned.setdefault(label, set()).add(what)
            if reader.took("@key"):
                self.keys.setdefault(label, set()).add(what)
        elif word == "plays":
            reader.take(":")
            self.plays.add((what, reader.take(), label))
        elif word == "relates":
            self.roles[label].add(what)
        else:
            raise refuse(f"`{word}` is no capability")

    def _check(self) -> None:
        for names in self.owned.values():
            if unknown := names - self.attributes.keys():
                raise refuse(f"no attribute {unknown}")
        for relation, role, _ in self.plays:
            if role not in self.roles.get(relation, ()):
                raise refuse(f"`{relation}` does not relate `{role}`")
        if unknown := set(self.attributes.values()) - VALUE_TYPES.keys():
            raise refuse(f"no value type {unknown}")

    def lineage(self, label: str | None) -> Iterator[str]:
        while label is not None:
            yield label
            label = self.parents.get(label)

    def owns(self, label: str) -> set[str]:
        return set().union(*(self.owned.get(one, set()) for one in self.lineage(label)))

    def keys_of(self, label: str) -> set[str]:
        return set().union(*(self.keys.get(one, set()) for one in self.lineage(label)))


def _listed(reader: Reader) -> Iterator[str]:
    reader.take("(")
    while not reader.took(")"):
        yield reader.take().strip('"')
        reader.took(",")


class Statement:
    """`$x isa T, has a == $v, links (r: $y)`: a variable with what is said of it."""

    def __init__(self, reader: Reader) -> None:
        self.variable = reader.take()
        if not self.variable.startswith("$"):
            raise refuse(f"`{self.variable}` is neither a stage nor a variable")
        self.isa: str | None = None
        self.has: list[tuple[str, bool, str]] = []
        self.links: list[tuple[str, str]] = []
        while not reader.took(";"):
            self._constraint(reader)
            reader.took(",")

    def _constraint(self, reader: Reader) -> None:
        word = reader.take()
        if word == "isa":
            self.isa = reader.take()
        elif word == "has":
            attribute = reader.take()
            by_value = reader.took("==")
            self.has.append((attribute, by_value, reader.take()))
        elif word == "links":
            reader.take("(")
            while not reader.took(")"):
                role = reader.take()
                reader.take(":")
                self.links.append((role, reader.take()))
                reader.took(",")
        else:
            raise refuse(f"`{word}` is no constraint")


class Query:
    """A pipeline, read and checked against the schema before a row is looked at."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._schema = schema
        self.given: dict[str, str] = {}
        self.stages: list[tuple[str, list[Statement]]] = []
        self.fetch: dict[str, str] = {}
        self._types: dict[str, str] = {}
        reader = Reader(tokens_of(text))
        while reader.next:
            stage = reader.take()
            if stage not in STAGES:
                raise refuse(f"`{stage}` is no stage")
            if stage == "given":
                self._given(reader)
            elif stage == "fetch":
                self._fetch(reader)
            else:
                self.stages.append((stage, self._statements(stage, reader)))

    def _given(self, reader: Reader) -> None:
        while not reader.took(";"):
            variable = reader.take()
            reader.take(":")
            self.given[variable] = reader.take()
            reader.took(",")

    def _fetch(self, reader: Reader) -> None:
        reader.take("{")
        while not reader.took("}"):
            name = reader.take().strip('"')
            reader.take(":")
            self.fetch[name] = reader.take()
            reader.took(",")
        reader.take(";")

    def _statements(self, stage: str, reader: Reader) -> list[Statement]:
        statements = []
        while reader.next and reader.next not in STAGES:
            statements.append(Statement(reader))
            self._check(stage, statements[-1])
        return statements

    def _check(self, stage: str, said: Statement) -> None:
        if said.isa is not None:
            if said.isa not in self._schema.entities and said.isa not in self._schema.roles:
                raise refuse(f"there is no type `{said.isa}`")
            if stage == "put" and said.isa in self._schema.abstract:
                raise refuse(f"`{said.isa}` is abstract")
            self._types[said.variable] = said.isa
        kind = self._types.get(said.variable)
        if kind is None:
            raise refuse(f"`{said.variable}` has no type")
        for attribute, by_value, variable in said.has:
            if attribute not in self._schema.owns(kind):
                raise refuse(f"`{kind}` does not own `{attribute}`")
            if by_value and self.given.get(variable) != self._schema.attributes[attribute]:
                raise refuse(f"`{variable}` is no value for `{attribute}`")
        for role, player in said.links:
            if role not in self._schema.roles.get(kind, ()):
                raise refuse(f"`{kind}` does not relate `{role}`")
            if (kind, role, self._types[player]) not in self._schema.plays:
                raise refuse(f"`{self._types[player]}` cannot play `{kind}:{role}`")


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
            if attribute in schema.keys_of(kind) and any(
                other.get(attribute) == value for other in self.of(kind) if other is not owned
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
