"""Which values a closed set has, at a place inside a type: for errors that say what would pass."""

import re
from functools import lru_cache
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\.([^.\[\]]+)|\[[^\]]*\]")


@lru_cache(256)
def choices(kind: Any, path: str, key: bool = False) -> tuple[str, ...]:
    """The allowed values at `path` in `kind` (of the keys there, if `key`); empty where the set is open."""
    found = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        found = [inner for one in found for inner in _inside(one, step[1])]
    if key:
        found = [one.key_type for one in found if isinstance(one, inspect.DictType)]
    return tuple(value for one in found for value in _values(one))


def _inside(kind: inspect.Type, name: str | None) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _inside(kind.type, name)
    if isinstance(kind, inspect.UnionType):
        return [inner for one in kind.types for inner in _inside(one, name)]
    if isinstance(kind, inspect.StructType):
        return [field.type for field in kind.fields if field.encode_name == name]
    if isinstance(kind, inspect.DictType):
        return [kind.value_type]
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return [kind.item_type]
    return []


def _values(kind: inspect.Type) -> list[str]:
    if isinstance(kind, inspect.UnionType):
        return [value for one in kind.types for value in _values(one)]
    if isinstance(kind, inspect.LiteralType):
        return [str(value) for value in kind.values]
    if isinstance(kind, inspect.EnumType):
        return [str(member.value) for member in kind.cls]
    return []
