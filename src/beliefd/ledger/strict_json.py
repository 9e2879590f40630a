"""Reading JSON from strangers: no duplicate keys, no NaN, no lone surrogates, bounded depth and integers."""

import json
from typing import Any

from beliefd.kernel.canonical import MAX_DEPTH, NotCanonical, canonical


class Unreadable(ValueError):
    """The bytes are not JSON that beliefd accepts; `path` points at the place where that is known."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Unreadable(f"key `{twice}` appears twice in one object", f"$..{twice}")
    return value


def _no_constant(name: str) -> Any:
    raise Unreadable(f"`{name}` is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def loads(data: bytes) -> Any:
    """Parse UTF-8 JSON, or say why not."""
    try:
        value = _decoder.decode(data.decode())
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except Unreadable:
        raise
    except ValueError:
        # CPython caps the digits of an integer; so do we, much lower.
        raise Unreadable("an integer has too many digits") from None
    try:
        canonical(value)  # what cannot be hashed is refused here, with its path
    except NotCanonical as error:
        raise Unreadable(error.message, error.path) from None
    return value
