"""Where exactly a value is wrong, and what would pass there: msgspec's complaints in our words."""

import re
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from beliefd.kernel.patterns import IN_WORDS
from beliefd.kernel.values import shown

MESSAGE_LENGTH: Final = 200
_AT = re.compile(r" - at (?:`(?P<key>key)` in )?`(?P<path>[^`]*)`$")
_ENUM = re.compile(r"Invalid enum value (?P<value>.*)$", re.DOTALL)
_FIELD = re.compile(r"field `(?P<name>.*)`$", re.DOTALL)
_PATTERN = re.compile(r" matching regex .*", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+)\]|(?P<entry>\[\.\.\.\])")


def located(error: msgspec.ValidationError, value: Any, kind: Any) -> tuple[str, str]:
    """The message and the path of what kept `value` from being a `kind`."""
    text = str(error)
    at = _AT.search(text)
    path, of_key = (at["path"], at["key"] is not None) if at else ("$", False)
    message = text[: at.start()] if at else text
    exact = _entry(value, kind, text, path, of_key)
    if enum := _ENUM.match(message):
        allowed = ", ".join(choices(kind, path, of_key))
        return f"`{shown(enum['value'][1:-1])}` is not one of {allowed}", exact
    named = _FIELD.search(message)
    if named:
        exact = f"{exact}.{shown(named['name'])}"
        message = f"{message[: named.start()]}field `{shown(named['name'])}`"
    message = _PATTERN.sub(_pattern_in_words, message)[:MESSAGE_LENGTH]
    return message[0].lower() + message[1:], exact


def _pattern_in_words(found: re.Match[str]) -> str:
    for pattern, words in IN_WORDS.items():
        if pattern in found[0] or repr(pattern) in found[0]:
            return f" {words}"
    return found[0]


def _entry(value: Any, kind: Any, text: str, path: str, of_key: bool) -> str:
    """The path with the name of the wrong entry in it, where msgspec says only that it is in a mapping.

    It is the first entry that leads to the same complaint when it is alone.
    """
    steps = list(_STEP.finditer(path))
    place = next((at for at, step in enumerate(steps) if step["entry"]), len(steps) if of_key else None)
    if place is None:
        return path
    before = "$" + "".join(step[0] for step in steps[:place])
    after = "".join(step[0] for step in steps[place + 1 :])
    way = [step["name"] or int(step["index"]) for step in steps[:place]]
    try:
        for name in _inner(value, way):
            if _complaint(_alone(value, way, name), kind) == text:
                return f"{before}.{shown(str(name))}{after}"
    except (KeyError, IndexError, TypeError):
        pass
    return path


def _inner(value: Any, way: list[str | int]) -> Any:
    for step in way:
        value = value[step]
    return value


def _alone(value: Any, way: list[str | int], name: Any) -> Any:
    """The value with one entry only in the mapping at the end of `way`."""
    if not way:
        return {name: value[name]}
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[way[0]] = _alone(value[way[0]], way[1:], name)  # type: ignore[index]
    return changed


def _complaint(value: Any, kind: Any) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


@lru_cache(256)
def choices(kind: Any, path: str, of_key: bool = False) -> tuple[str, ...]:
    """The values that the closed set at `path` has (that of the keys there, if `of_key`)."""
    found = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        found = [inner for one in found for inner in _inside(one, step["name"])]
    if of_key:
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
