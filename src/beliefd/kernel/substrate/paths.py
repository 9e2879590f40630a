"""Reading F_sparse by key or key.field path, and comparing as JSON does."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""What a path leads to when there is nothing: not null, which is something."""


def keys_of(path: str) -> Iterator[str]:
    """Every key that a path might mean, longest first: `a.b.c`, `a.b`, `a`."""
    end = len(path)
    while end >= 0:
        yield path[:end]
        end = path.rfind(".", 0, end)


def look_up(state: Mapping[str, Any], path: str) -> Any:
    """The value at a path: the longest key that exists, then fields of its value."""
    for key, rest in _ways(path):
        value = state.get(key, ABSENT)
        if value is not ABSENT:
            return value if rest is None else _field(value, rest)
    return ABSENT


@lru_cache(4_096)
def _ways(path: str) -> tuple[tuple[str, str | None], ...]:
    """Every key that a path might mean, with the rest of it. Paths are a policy's: there are few."""
    return tuple((key, _rest(path, key)) for key in keys_of(path))


def _field(value: Any, path: str | None) -> Any:
    """Fields may hold dots themselves, so the longest name is tried first here too."""
    if path is None:
        return value
    if not isinstance(value, dict):
        return ABSENT
    for name, rest in _ways(path):
        if name in value:
            return _field(value[name], rest)
    return ABSENT


def _rest(path: str, head: str) -> str | None:
    """What comes after the dot, which may be an empty name; None where nothing does."""
    return None if len(path) == len(head) else path[len(head) + 1 :]


def is_ambiguous(state: Mapping[str, Any], path: str) -> bool:
    """Does any other way to read a path lead to something, beside the one that `look_up` takes?

    Every value is looked at once at most, however many ways there are.
    """
    found = [
        (value, _rest(path, key)) for key in keys_of(path) if (value := state.get(key, ABSENT)) is not ABSENT
    ]
    if not found:
        return False
    (taken, rest), *others = found
    deeper = rest is not None and isinstance(taken, dict) and is_ambiguous(taken, rest)
    return deeper or any(_leads(value, left) for value, left in others)


def _leads(value: Any, path: str | None) -> bool:
    """Does any way to read a path lead to something?"""
    if path is None:
        return True
    if not isinstance(value, dict):
        return False
    return any(name in value and _leads(value[name], _rest(path, name)) for name in keys_of(path))


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1, 1 is 1.0, objects know no order."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return (type(left) is type(right) and bool(left == right)) or _numbers(left, right)


def _numbers(left: Any, right: Any) -> bool:
    return isinstance(left, int | float) and isinstance(right, int | float) and left == right
