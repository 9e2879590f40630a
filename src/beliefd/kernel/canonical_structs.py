"""Canonical JSON straight from Structs: the same bytes as `canonical` of their JSON values, and much sooner.

msgspec writes texts, sorted fields and ordinary numbers as RFC 8785 does. They part on some numbers, and on
the order of keys beyond ASCII. Which fields can hold either follows from their types, and only those are
looked at. What is left to doubt is written by `canonical`, which also says what has no canonical form.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from enum import Enum
from functools import cache, partial
from itertools import chain
from operator import attrgetter, is_
from typing import Any, Final

import msgspec
import orjson
from msgspec import UNSET, Struct, inspect
from msgspec.structs import force_setattr

from beliefd.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, OPTIONS, canonical, is_plain_float

DEEPEST: Final = MAX_DEPTH // 2
"""Types alone do not nest so deep: past this, the walk over values counts exactly."""
_encode: Final = msgspec.json.Encoder(order="sorted").encode
Step = Callable[[Iterable[Any]], Iterable[Any]]
"""From values to all that a field of theirs holds."""
_SEQUENCES: Final = (inspect.ListType, inspect.VarTupleType)
_NO_NUMBERS: Final = frozenset({str, bool, type(None), msgspec.UnsetType})
_NUMBERS: Final = frozenset({float, int})
_FLOATS: Final = frozenset({float})


class Untagged(Struct, frozen=True):
    """A Struct without the tag that says of which kind it is."""

    of: Struct


class _Doubt(Struct, frozen=True):
    """A field that leaves a doubt. `each` gives what it holds, `within` the values in that; of Structs,
    `doubts` are those that they leave. `has_keys`: it holds maps, whose keys must be plain too."""

    get: Callable[[Any], Any]
    each: Step
    within: Step
    has_keys: bool
    doubts: "Doubts | None" = None


Doubts = tuple[_Doubt, ...]


class _InDoubt(Exception):
    """Only a walk over the JSON values can tell."""


IN_DOUBT: Final = (_InDoubt, TypeError, UnicodeEncodeError)


def canonical_of(value: Any) -> bytes:
    """The RFC 8785 bytes of a Struct, or of JSON values that hold Structs."""
    try:
        return _written(value, 0)
    except IN_DOUBT:
        return canonical(_as_json(value))


class _Seen(Struct):
    """The last list that was found to be written canonically as it is, and two that differ in texts alone.

    A bundle's claims are written three times, twice into its record: one look at their numbers is enough.
    """

    settled: tuple[Struct, ...] = ()
    alike: tuple[tuple[Struct, ...], tuple[Struct, ...]] = ((), ())

    def holds(self, items: Any) -> bool:
        settled, (one, other) = self.settled, self.alike  # each is read once: another thread may set it
        return items is settled or (items is one and other is settled)


_seen: Final = _Seen()


def differ_in_texts(items: tuple[Struct, ...], renamed: tuple[Struct, ...]) -> None:
    """Says so of two lists, of which the second one will be looked at first."""
    _seen.alike = items, renamed


def digest_around(value: Struct, items: tuple[Struct, ...]) -> str:
    """`digest_of` a Struct that holds these items, which will soon be written again."""
    try:
        if _is_settled(value, 0):
            written = _encode(value)
            _seen.settled = items
            return hashlib.sha256(written).hexdigest()
    except IN_DOUBT:
        pass
    return digest_of(value)


def digest_of(value: Any) -> str:
    """sha256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical_of(value)).hexdigest()


def canonical_envelope(own: dict[str, Any], foreign: Mapping[str, Any]) -> bytes:
    """The RFC 8785 bytes of an object of our own making, whose `foreign` members can hold anything.

    What is in `own` beside them is plain, and needs no look but for the size of integers.
    """
    try:
        written = {name: orjson.Fragment(_written(value, 1)) for name, value in foreign.items()}
        return orjson.dumps({**own, **written}, option=OPTIONS)
    except IN_DOUBT:
        return canonical({**own, **{name: _as_json(value) for name, value in foreign.items()}})


def _written(value: Any, depth: int) -> bytes:
    if type(value) is Untagged:
        return _encode(_fields(_as_written(value.of, depth)))
    return _encode(_as_written(value, depth))


def _as_written(value: Any, depth: int) -> Any:
    return value if isinstance(value, Struct) and _is_settled(value, depth) else _settled(value, depth)


def _fields(value: Struct) -> dict[str, Any]:
    kind = type(value)
    if kind.__struct_config__.omit_defaults:
        raise _InDoubt  # not all of its fields are written
    names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    return {name: held for name, field in names if (held := getattr(value, field)) is not UNSET}


def _as_json(value: Any) -> Any:
    if type(value) is not Untagged:
        return msgspec.to_builtins(value)
    told = msgspec.to_builtins(value.of)
    told.pop(type(value.of).__struct_config__.tag_field, None)
    return told


def _is_settled(value: Struct, depth: int) -> bool:
    """Does msgspec write it canonically as it is? Most often, so this goes only where types leave a doubt."""
    return _are_settled(_doubts(type(value)), [value], depth)


def _are_settled(doubts: Doubts, items: list[Any], depth: int) -> bool:
    alone = items[0] if len(items) == 1 else None
    for doubt in doubts:
        if alone is not None:
            held = doubt.get(alone)
            if not held and type(held) is not float:
                continue  # most fields that may be missing are, and most maps are empty
            if type(held) is tuple and _seen.holds(held):
                continue
        if doubt.has_keys and not "".join(chain.from_iterable(doubt.each(items))).isascii():
            return False
        found = list(doubt.within(items))
        if doubt.doubts is None:
            if not _are_plain(found) and any(_settled(one, depth + 1) is not one for one in found):
                return False
        elif found and not _are_settled(doubt.doubts, found, depth + 2):
            return False
    return True


def _are_plain(held: list[Any]) -> bool:
    """Are all of them texts, or numbers that everybody writes alike? A look at all at once is cheaper.

    A sum with NaN in it is NaN, and smaller than nothing.
    """
    kinds = set(map(type, held))
    if kinds == _FLOATS:
        return _are_plain_floats(set(held))  # each once: most numbers are said several times
    kinds -= _NO_NUMBERS
    if not kinds <= _NUMBERS:
        return False
    if float in kinds and not _are_plain_floats({one for one in held if type(one) is float}):
        return False
    return int not in kinds or all(abs(one) <= MAX_SAFE_INTEGER for one in held if type(one) is int)


def _are_plain_floats(floats: set[float]) -> bool:
    return min(floats) > 1e-5 and sum(floats) < 1e15 and not any(map(float.is_integer, floats))


@cache
def _doubts(kind: type[Struct], path: str = "", above: frozenset[type[Struct]] = frozenset()) -> Doubts:
    """The doubts that a Struct leaves; with a path, those of the Struct that another always holds there."""
    found: list[_Doubt] = []
    above |= {kind}
    missing = {one.name for one in msgspec.structs.fields(kind) if one.default is UNSET}
    for name, info in _doubtful(kind):
        get, (held, may_be_none) = attrgetter(path + name), _only_kind(info)
        each = within = _present(get) if may_be_none or name in missing else partial(map, get)
        has_keys = isinstance(held, inspect.DictType) and isinstance(_bare(held.key_type), inspect.StrType)
        if isinstance(held, inspect.DictType) and has_keys:
            held, within = _bare(held.value_type), _values(each)
        elif isinstance(held, _SEQUENCES):
            held, within = _bare(held.item_type), _items(each)
        struct = _final_struct(held)
        if struct is None or struct in above:
            # Nothing is no number: what a field holds itself need not be there.
            within = _nothing if _holds_texts(held) else partial(map, get) if within is each else within
            found.append(_Doubt(get, each, within, has_keys))
        elif within is each and type(each) is partial:
            found += _doubts(struct, f"{path}{name}.", above)
        else:
            found.append(_Doubt(get, each, within, has_keys, _doubts(struct, above=above)))
    return tuple(found)


def _only_kind(info: inspect.Type) -> tuple[inspect.Type, bool]:
    """What a field holds, if it holds anything, and whether it may hold nothing."""
    if not isinstance(info, inspect.UnionType):
        return info, False
    kinds = [_bare(one) for one in info.types if not isinstance(one, inspect.NoneType)]
    return (kinds[0], len(info.types) > 1) if len(kinds) == 1 else (info, False)


def _nothing(_: Iterable[Any]) -> Iterable[Any]:
    return ()


def _present(get: Callable[[Any], Any]) -> Step:
    return lambda items: [one for one in map(get, items) if one is not UNSET and one is not None]


def _items(each: Step) -> Step:
    return lambda items: chain.from_iterable(each(items))


def _values(each: Step) -> Step:
    return lambda items: chain.from_iterable([one.values() for one in each(items)])


def _final_struct(info: inspect.Type) -> type[Struct] | None:
    """The type of what is always a Struct of this very type; of a subclass, nobody knows what it holds."""
    return info.cls if isinstance(info, inspect.StructType) and not info.cls.__subclasses__() else None


def _settled(value: Any, depth: int) -> Any:
    """The value itself, or one with integers for the whole floats in it, that msgspec writes canonically."""
    kind = type(value)
    if kind is str or value is None or kind is bool or value is UNSET:
        return value
    if kind is float:
        return _number(value)
    if kind is int and abs(value) <= MAX_SAFE_INTEGER:
        return value
    if depth < DEEPEST:
        if isinstance(value, Struct):
            return _settled_struct(value, depth)
        if kind is tuple or kind is list:
            settled = [_settled(item, depth + 1) for item in value]
            return value if all(map(is_, settled, value)) else settled
        if kind is dict:
            return _settled_dict(value, depth)
    if isinstance(value, Enum) and type(value.value) is str:
        return value
    raise _InDoubt


def _number(value: float) -> float | int:
    if is_plain_float(value):
        return value
    if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value)
    raise _InDoubt


def _settled_dict(value: dict[Any, Any], depth: int) -> dict[Any, Any]:
    for key in value:
        if type(key) is not str or not key.isascii():
            raise _InDoubt
    settled = {key: _settled(item, depth + 1) for key, item in value.items()}
    return value if all(map(is_, settled.values(), value.values())) else settled


def _settled_struct(value: Struct, depth: int) -> Struct:
    settled = value
    for name, _ in _doubtful(type(value)):
        held = getattr(value, name)
        now = _settled(held, depth + 1)
        if now is not held:
            if type(value).__struct_config__.omit_defaults:
                raise _InDoubt  # another value may not be the default any more, and would be written
            if settled is value:
                settled = copy(value)
            force_setattr(settled, name, now)  # it is written and dropped, so the type of a field may bend
    return settled


@cache
def _doubtful(kind: type[Struct]) -> tuple[tuple[str, inspect.Type], ...]:
    """The fields that can hold more than texts, and their types."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - that is what `kind` is
    told = ((field.name, _bare(field.type)) for field in info.fields)
    return tuple((name, held) for name, held in told if not _holds_texts(held))


def _bare(info: inspect.Type) -> inspect.Type:
    return _bare(info.type) if isinstance(info, inspect.Metadata) else info


def _holds_texts(info: inspect.Type, within: frozenset[type[Struct]] = frozenset()) -> bool:
    if isinstance(info, inspect.StrType | inspect.BoolType | inspect.NoneType):
        return True
    if isinstance(info, inspect.LiteralType):
        return all(isinstance(value, str) for value in info.values)
    if isinstance(info, inspect.EnumType):
        return all(isinstance(member.value, str) for member in info.cls)
    if isinstance(info, inspect.UnionType):
        return all(_holds_texts(_bare(one), within) for one in info.types)
    if isinstance(info, inspect.StructType):
        known = within | {info.cls}
        return (
            info.cls not in within
            and _final_struct(info) is not None
            and all(_holds_texts(_bare(field.type), known) for field in info.fields)
        )
    return isinstance(info, _SEQUENCES) and _holds_texts(_bare(info.item_type), within)
