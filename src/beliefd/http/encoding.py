"""Large answers become bytes beside the event loop, piece by piece: one encoding lets no other thread run."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from beliefd.steward.offload import HEAVY_BYTES, HEAVY_ITEMS

LOOKS: Final = 2_000
"""So many values are looked at to tell whether an answer is large; one that has more is."""
SAMPLED: Final = 16
PIECE: Final = 256
"""So many items of a list are encoded at a time."""
TEXTS: Final = (str, bytes)
LISTS: Final = (list, tuple)
COLLECTIONS: Final = (dict, *LISTS, Mapping)
encode: Final = msgspec.json.Encoder().encode


def is_large(answer: object) -> bool:
    """Would encoding it hold up others? Told from a bounded look, so that asking costs less than encoding."""
    left, looks, todo = HEAVY_BYTES, LOOKS, [answer]
    while todo:
        one = todo.pop()
        looks -= 1
        if isinstance(one, TEXTS):
            left -= len(one)
        elif isinstance(one, Struct):
            todo += [getattr(one, name) for name in one.__struct_fields__]
        elif one is not None and isinstance(one, COLLECTIONS):
            if len(one) > HEAVY_ITEMS:
                return True
            if isinstance(one, LISTS) and one and isinstance(one[0], str):
                left -= _length_of_names(one)
            elif len(one) > looks:
                return True
            else:
                todo += one if isinstance(one, LISTS) else [part for pair in one.items() for part in pair]
        if left < 0 or looks < 0:
            return True
    return False


def _length_of_names(names: Any) -> int:
    picked = names[:: len(names) // SAMPLED + 1]
    return len(names) * max(len(one) if isinstance(one, str) else 0 for one in picked)


def encode_in_pieces(answer: object) -> bytes:
    """INVARIANT: the bytes that `encode` would give."""
    return b"".join(_pieces(answer))


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, list) and len(value) > PIECE:
        for at in range(0, len(value), PIECE):
            yield (b"," if at else b"[") + encode(value[at : at + PIECE])[1:-1]
        yield b"]"
    elif isinstance(value, Struct) and _is_plain(value):
        opening = b"{"
        for name, wire_name in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            if (member := getattr(value, name)) is not UNSET:
                yield opening + encode(wire_name) + b":"
                yield from _pieces(member)
                opening = b","
        yield b"{}" if opening == b"{" else b"}"
    else:
        yield encode(value)


def _is_plain(value: Struct) -> bool:
    """Are its members all that is written of it?"""
    config = value.__struct_config__
    return not (config.tag or config.omit_defaults or config.array_like)
