"""All that an author chose to write in a Struct, read by its types and not from its JSON.

Most of a bundle's JSON is names of fields, digests and times. Which fields can hold anything else follows
from their types. What is said several times is given once: whoever looks for words finds them in the first.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from msgspec import UNSET, Struct, inspect
from msgspec.structs import fields

from beliefd.kernel import patterns

CLOSED: Final = frozenset({patterns.DIGEST, patterns.TIMESTAMP})
"""Texts of these shapes are digits and a few signs: no word can be written with them."""
_ATOMS: Final = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.LiteralType,
    inspect.EnumType,
)
_SEQUENCES: Final = (inspect.ListType, inspect.VarTupleType)
Get = Callable[[Any], Any]


class _Opaque(Exception):
    """The types do not say what a field holds."""


class _Node(Struct, frozen=True):
    """Where the texts of a Struct are: in fields of its own or of a Struct that it always holds, in fields
    with many, and in Structs within. `texts` are those fields, read at once."""

    texts: Get | None
    many: "tuple[_Field, ...]"
    within: "tuple[tuple[_Field, _Node], ...]"


class _Field(Struct, frozen=True):
    """How to read a field of one item, and all that it holds of several."""

    get: Get
    each: Get


def texts_in(value: Struct) -> list[str] | None:
    """Every text in it that is not of a closed shape, once; None if only its JSON can tell."""
    try:
        node = _node(type(value))
    except _Opaque:
        return None
    found: list[Any] = []
    _gather(node, [value], found)
    # Always in the same order: whoever reads on from one to the next must come to the same result.
    texts = dict.fromkeys(found)
    texts.pop(None, None)
    texts.pop(UNSET, None)
    return list(texts)


def _gather(node: _Node, items: list[Any], found: list[Any]) -> None:
    """Field by field over all items at once: that takes a quarter of the time of item by item."""
    if node.texts is not None:
        found.extend(node.texts(items))
    alone = items[0] if len(items) == 1 else None
    for field in node.many:
        if alone is None or field.get(alone):  # mostly there is nothing, and to see that of one is cheap
            found.extend(field.each(items))
    for field, inner in node.within:
        if (alone is None or field.get(alone)) and (held := list(field.each(items))):
            _gather(inner, held, found)


def _field(name: str, optional: bool, many: bool) -> _Field:
    get = attrgetter(name)
    each: Get = partial(map, get)
    if optional:
        each = partial(_present, each)
    return _Field(get, each if not many else lambda items: chain.from_iterable(each(items)))


def _present(each: Get, items: Iterable[Any]) -> list[Any]:
    return [item for item in each(items) if item is not UNSET and item is not None]


def _all_of(names: list[str]) -> Get | None:
    """From items to all that these fields of theirs hold."""
    if not names:
        return None
    each = partial(map, attrgetter(*names))
    return each if len(names) == 1 else lambda items: chain.from_iterable(each(items))


@cache
def _node(kind: type[Struct]) -> _Node:
    texts: list[str] = []
    many: list[_Field] = []
    within: list[tuple[_Field, _Node]] = []
    _add(kind, "", texts, many, within)
    return _Node(_all_of(texts), tuple(many), tuple(within))


def _add(
    kind: type[Struct], path: str, texts: list[str], many: list[_Field], within: list[tuple[_Field, _Node]]
) -> None:
    """Add where the texts of a Struct are that another always holds under this path.

    INVARIANT: a type that is not known here makes the whole opaque; nothing is passed over.
    """
    if kind.__subclasses__():
        raise _Opaque
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - that is what `kind` is
    unset = {one.name for one in fields(kind) if one.default is UNSET}
    for field in info.fields:
        held = _only(field.type)
        is_many = isinstance(held, _SEQUENCES)
        inner = _item(held) if isinstance(held, _SEQUENCES) else held
        optional = isinstance(_bare(field.type), inspect.UnionType) or field.name in unset
        name = path + field.name
        if isinstance(inner, inspect.StructType) and not optional and not is_many:
            _add(inner.cls, f"{name}.", texts, many, within)
        elif isinstance(inner, inspect.StructType):
            within.append((_field(name, optional, is_many), _node(inner.cls)))
        elif isinstance(inner, inspect.StrType):
            if inner.pattern in CLOSED:
                continue
            if is_many:
                many.append(_field(name, optional, True))
            else:
                texts.append(name)
        elif inner is not None:
            raise _Opaque


def _bare(info: inspect.Type) -> inspect.Type:
    return _bare(info.type) if isinstance(info, inspect.Metadata) else info


def _item(sequence: inspect.ListType | inspect.VarTupleType) -> inspect.Type | None:
    info = _bare(sequence.item_type)
    if isinstance(info, inspect.UnionType):  # there may be nothing between the items
        raise _Opaque
    return _only(info)


def _only(info: inspect.Type) -> inspect.Type | None:
    """The one kind of value with texts that this type allows, beside nothing; None if there is none."""
    info = _bare(info)
    if isinstance(info, _ATOMS):
        return None
    if not isinstance(info, inspect.UnionType):
        return info
    kinds = [kind for one in info.types if (kind := _only(one)) is not None]
    if len(kinds) > 1:
        raise _Opaque
    return kinds[0] if kinds else None
