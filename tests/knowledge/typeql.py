"""The part of TypeQL that we send, read and checked against a schema: given, match, put, update, fetch.

Types, owned attributes, value types and roles are checked before a row is looked at, as the server does.
"""

import re
from collections.abc import Iterator

from typedb.common.exception import TypeDBDriverException

TOKEN = re.compile(r'\s*(\$[\w-]+|"[^"]*"|==|@\w+|[{}();:,]|[A-Za-z][\w-]*)')
STAGES = ("given", "match", "put", "update", "fetch")
VALUE_TYPES: dict[str, type] = {"string": str, "integer": int, "double": float, "boolean": bool}


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

    def keyed_by(self, label: str, attribute: str) -> str | None:
        """The type that made the attribute a key: no two things under it have the same, of whatever kind."""
        return next((one for one in self.lineage(label) if attribute in self.keys.get(one, ())), None)


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
