"""Where exactly a value is wrong, and what would pass there: msgspec's complaints in our words.

msgspec tells both in a text only. A text that is not one of the forms below is handed on as it is.
"""

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from beliefd.kernel.patterns import IN_WORDS
from beliefd.kernel.values import shown

MESSAGE_LENGTH: Final = 200
NEAR_FIELDS: Final = 3
KNOWN_FIELDS: Final = 16
_AT = re.compile(r" - at (?:`(?P<key>key)` in )?`(?P<path>[^`]*)`$")
_VALUE = re.compile(r"Invalid (?:enum )?value (?P<value>.*)$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_FIELD = re.compile(r"field `(?P<name>.*)`$", re.DOTALL)
_TYPE = re.compile(r"Expected `[^`]*`, got `[^`]*`$")
_PATTERN = re.compile(r" matching regex .*", re.DOTALL)
_ALTERNATIVES = re.compile(r"\^\((?P<names>\w+(?:\|\w+)+)\)\$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|(?P<entry>\[\.\.\.\])")

_Way = list[str | int | None]
"""The steps from the top to a place; None for the entry of a mapping whose key is not known."""


def located(error: msgspec.ValidationError, value: Any, kind: Any) -> tuple[str, str]:
    """The message and the path of what kept `value` from being a `kind`."""
    text = str(error)
    at = _AT.search(text)
    message = text[: at.start()] if at else text
    way, of_key = (_steps(at["path"]), at["key"] is not None) if at else ([], False)
    way = _with_keys(way, of_key, value, kind, text)
    if unknown := _UNKNOWN.match(message):
        name = unknown["name"]
        told = f"unknown field `{shown(name)}`{_known(name, _kinds(kind, value, way))}"
        return told, _path([*way, name])
    if found := _VALUE.match(message):
        if allowed := _choices(kind, value, way, of_key):
            return f"`{shown(_unquoted(found['value']))}` is {_one_of(allowed, 'not ')}", _path(way)
    elif named := _FIELD.search(message):
        message = f"{message[: named.start()]}field `{shown(named['name'])}`"
        way = [*way, named["name"]]
        if message.startswith("Object missing"):
            return _lowered(message) + _or_rather(_choices(kind, value, way)), _path(way)
    elif _TYPE.match(message):
        return _lowered(message) + _or_rather(_choices(kind, value, way, of_key)), _path(way)
    return _lowered(_PATTERN.sub(_pattern_in_words, message)), _path(way)


def _lowered(message: str) -> str:
    message = message[:MESSAGE_LENGTH] or "this value does not fit"
    return message[0].lower() + message[1:]


def _one_of(allowed: list[str], negation: str = "") -> str:
    return f"{negation}one of {', '.join(allowed)}" if len(allowed) > 1 else f"{negation}`{allowed[0]}`"


def _or_rather(allowed: list[str]) -> str:
    return f"; it must be {_one_of(allowed)}" if allowed else ""


def _unquoted(written: str) -> str:
    return written[1:-1] if written[:1] in ("'", '"') else written


def _pattern_in_words(found: re.Match[str]) -> str:
    for pattern, words in IN_WORDS.items():
        if pattern in found[0] or repr(pattern) in found[0]:
            return f" {words}"
    names = _ALTERNATIVES.search(found[0])
    return f" that is one of {names['names'].replace('|', ', ')}" if names else found[0]


def _known(name: str, kinds: list[inspect.Type]) -> str:
    """What could be meant: names like this one first, and not more than can be read at a glance."""
    structs = [one for one in kinds if isinstance(one, inspect.StructType)]
    tags = [one.tag_field for one in structs if one.tag_field is not None]
    names = list(dict.fromkeys(tags + [field.encode_name for one in structs for field in one.fields]))
    near = get_close_matches(shown(name), names, NEAR_FIELDS)
    listed = (near + [other for other in names if other not in near])[:KNOWN_FIELDS]
    more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
    return f"; known: {', '.join(f'`{one}`' for one in listed)}{more}" if listed else ""


# -- the way to a place --------------------------------------------------------------------------------


def _steps(path: str) -> _Way:
    return [
        step["name"] if step["name"] else int(step["index"]) if step["index"] else None
        for step in _STEP.finditer(path)
    ]


def _path(way: _Way) -> str:
    written = (
        "[...]" if step is None else f"[{step}]" if isinstance(step, int) else f".{shown(step)}"
        for step in way
    )
    return "$" + "".join(written)


def _with_keys(way: _Way, of_key: bool, value: Any, kind: Any, text: str) -> _Way:
    """The way with the keys of the wrong entries in it, where msgspec says only that they are in a mapping.

    An entry is the first one that leads to the same complaint when it is alone.
    """
    named = [*way, None] if of_key else list(way)
    while None in named:
        before = named[: named.index(None)]
        try:
            for key in _inner(value, before):
                alone = _alone(value, before, key)
                if _complaint(alone, kind) == text:
                    named[len(before)], value = str(key), alone
                    break
            else:
                return way
        except (KeyError, IndexError, TypeError):
            return way
    return named


def _inner(value: Any, way: _Way) -> Any:
    for step in way:
        value = value[step]
    return value


def _alone(value: Any, way: _Way, key: Any) -> Any:
    """The value with one entry only in the mapping at the end of `way`."""
    if not way:
        return {key: value[key]}
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[way[0]] = _alone(value[way[0]], way[1:], key)  # type: ignore[index]
    return changed


def _complaint(value: Any, kind: Any) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


# -- what may be there ---------------------------------------------------------------------------------

_type_info = lru_cache(256)(inspect.type_info)


def _choices(kind: Any, value: Any, way: _Way, of_key: bool = False) -> list[str]:
    """The values of the closed set at the end of `way`: the tags of a union, or the members of an enum."""
    if not way:
        found = _kinds(kind, value, way)
    else:
        *before, last = way
        holders = _kinds(kind, value, before)
        if tags := [
            one.tag for one in holders if isinstance(one, inspect.StructType) and one.tag_field == last
        ]:
            return [str(tag) for tag in tags]
        if of_key:
            found = [one.key_type for one in holders if isinstance(one, inspect.DictType)]
        else:
            found = [inner for one in holders for inner in _inside(one, last)]
    return list(dict.fromkeys(str(one) for every in found for flat in _flat(every) for one in _members(flat)))


def _kinds(kind: Any, value: Any, way: _Way) -> list[inspect.Type]:
    """The types that may stand at the end of `way`; of a tagged union, the one that `value` names there."""
    found = _narrowed([_type_info(kind)], value)
    for step in way:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
        found = _narrowed([inner for one in found for inner in _inside(one, step)], value)
    return found


def _narrowed(kinds: list[inspect.Type], value: Any) -> list[inspect.Type]:
    flat = [one for kind in kinds for one in _flat(kind)]
    if not isinstance(value, dict):
        return flat
    named: list[inspect.Type] = [
        one
        for one in flat
        if isinstance(one, inspect.StructType) and one.tag_field and value.get(one.tag_field) == one.tag
    ]
    return named or flat


def _flat(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _flat(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [inner for one in kind.types for inner in _flat(one)]
    return [kind]


def _inside(kind: inspect.Type, step: str | int | None) -> list[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        return [field.type for field in kind.fields if field.encode_name == step]
    if isinstance(kind, inspect.DictType):
        return [kind.value_type]
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return [kind.item_type]
    if isinstance(kind, inspect.TupleType) and isinstance(step, int):
        return list(kind.item_types[step : step + 1])
    return []


def _members(kind: inspect.Type) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    return [member.value for member in kind.cls] if isinstance(kind, inspect.EnumType) else []
