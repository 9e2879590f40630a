"""Types in words: what a field takes, what it is when left out, and which named values it is made of."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from beliefd.kernel import patterns

SAFE: Final = 2**53 - 1
_PLAIN: Final[dict[type[inspect.Type], str]] = {
    inspect.AnyType: "any JSON",
    inspect.BoolType: "true or false",
    inspect.BytesType: "bytes",
    inspect.NoneType: "null",
    inspect.RawType: "any JSON",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; bars inside cells are escaped."""
    names = list(head)
    lines = [names, ["---"] * len(names), *[list(row) for row in rows]]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def sentence(thing: Any) -> str:
    """The first paragraph of a docstring that somebody wrote for this very thing."""
    text = vars(thing).get("__doc__") or ""
    return " ".join(text.split("\n\n")[0].split())


def fields(kind: type, without: frozenset[str] = frozenset()) -> str:
    """The table of a struct's fields."""
    found = [field for field in struct(kind).fields if field.name not in without]
    rows = [[f"`{field.encode_name}`", words(field.type), default(field)] for field in found]
    rows = [*_tagged(struct(kind)), *rows]
    return table(("field", "type", "default"), rows) if rows else "No fields of its own.\n"


def _tagged(found: inspect.StructType) -> list[list[str]]:
    """The field by which a value is told from others in its place. Verbs and events are headings already."""
    if found.tag_field in (None, "verb", "kind"):
        return []
    return [[f"`{found.tag_field}`", f"`{found.tag}`", "required"]]


def struct(kind: type) -> inspect.StructType:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType), kind  # noqa: S101
    return found


def default(field: inspect.Field) -> str:
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT:
        return "left out"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if isinstance(value, msgspec.Struct):
        return "see there"
    return f"`{msgspec.json.encode(value).decode()}`"


def words(kind: inspect.Type) -> str:
    """What a type takes. Named values are links to their own heading on the page."""
    if isinstance(kind, inspect.Metadata):
        return words(kind.type)
    if isinstance(kind, inspect.StructType):
        return f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"
    if isinstance(kind, inspect.UnionType):
        found = {words(one) for one in kind.types}
        return " or ".join(sorted(found, key=lambda text: (text == "null", text)))
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(f"`{value}`" for value in kind.values)
    if isinstance(kind, inspect.EnumType):
        return "one of " + ", ".join(f"`{member.value}`" for member in kind.cls)
    if isinstance(kind, inspect.DictType):
        return f"object of {words(kind.value_type)}" if not _is_any(kind.value_type) else "object"
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return f"list of {words(kind.item_type)}" + _between(kind.min_length, kind.max_length, "items")
    if isinstance(kind, inspect.TupleType):
        return "[" + ", ".join(words(one) for one in kind.item_types) + "]"
    return _scalar(kind)


def _scalar(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.StrType):
        if kind.pattern == patterns.ID:
            return "id"
        return "text" + _between(kind.min_length, kind.max_length, "characters")
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        name = "whole number" if isinstance(kind, inspect.IntType) else "number"
        most = None if kind.le == SAFE else kind.le
        return name + _between(kind.ge, most)
    return _PLAIN[type(kind)]


def _between(least: float | None, most: float | None, unit: str = "") -> str:
    unit = f" {unit}" if unit else ""
    if least is not None and most is not None:
        return f", {least:,} to {most:,}{unit}"
    if least is not None:
        return f", at least {least:,}{unit.removesuffix('s') if least == 1 else unit}"
    return "" if most is None else f", at most {most:,}{unit}"


def _is_any(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.AnyType)


def values_in(kinds: Iterable[type]) -> list[type]:
    """The structs that others refer to, each once, in the order in which they are met."""
    roots = list(kinds)
    found: dict[type, None] = {}
    for kind in roots:
        for inner in _structs(inspect.type_info(kind)):
            if inner not in roots:
                found[inner] = None
    return list(found)


def _structs(kind: inspect.Type) -> Iterator[type]:
    if isinstance(kind, inspect.StructType):
        yield kind.cls
        for field in kind.fields:
            yield from _structs(field.type)
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _structs(one)
    elif isinstance(kind, inspect.DictType):
        yield from _structs(kind.value_type)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        yield from _structs(kind.item_type)
    elif isinstance(kind, inspect.Metadata):
        yield from _structs(kind.type)


def sections(kinds: Iterable[type], level: int = 3) -> str:
    """One heading a struct, with its sentence and its fields."""
    return "\n".join(f"{'#' * level} {kind.__name__}\n\n{_paragraph(kind)}{fields(kind)}" for kind in kinds)


def _paragraph(kind: type) -> str:
    text = sentence(kind)
    return f"{text}\n\n" if text else ""
