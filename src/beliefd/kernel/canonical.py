"""Canonical JSON (RFC 8785): the bytes that every hash in beliefd is taken over.

A walk over the value finds out whether orjson's bytes are provably the canonical ones (they are for almost
everything agents send); the rest goes through `rfc8785`. What has no canonical form is refused with its path.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import Any, Final

import orjson
import rfc8785

MAX_DEPTH: Final = 64
MAX_SAFE_INTEGER: Final = 2**53 - 1
OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonical(ValueError):
    """The value has no canonical form; `path` says where."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(f"{message} at `{path}`")
        self.message = message
        self.path = path


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a JSON value."""
    plain = is_plain(value)
    # Whole floats are the usual reason for not being plain, and they are written like integers.
    written = value if plain else _with_integers(value, 0)
    if plain or is_plain(written):
        try:
            return orjson.dumps(written, option=OPTIONS)
        except TypeError:  # a lone surrogate or an integer past 2^53: the walk below says where
            pass
    _refuse_what_has_none(value, "$", 0)
    return rfc8785.dumps(value)


def _with_integers(value: Any, depth: int) -> Any:
    """The value with whole floats as the integers that RFC 8785 writes them as; -0.0 is 0 there too."""
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER else value
    if depth > MAX_DEPTH:
        return value
    if kind is dict:
        return {key: _with_integers(item, depth + 1) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_with_integers(item, depth + 1) for item in value]
    return value


def digest(value: Any) -> str:
    """sha256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def digest_of_texts(texts: Sequence[str | None]) -> str:
    """`digest` of a list that holds nothing but texts: they need no look, unless they are no text at all."""
    try:
        return hashlib.sha256(orjson.dumps(texts)).hexdigest()
    except TypeError:  # a lone surrogate: the walk says where
        return digest(texts)


def is_plain(value: Any, depth: int = 0) -> bool:
    """True where orjson and RFC 8785 agree byte for byte.

    They part on: key order beyond the BMP's lower part (UTF-8 against UTF-16 order), whole or very large and
    very small floats (`1.0` against `1`, other exponents), and NaN, which orjson would turn into null.
    """
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        items = value.values()
    elif kind is list or kind is tuple:
        items = value
    elif kind is float:
        return is_plain_float(value)
    else:
        return kind is str or kind is int or kind is bool or value is None
    if depth >= MAX_DEPTH:
        return False
    for item in items:
        inner = type(item)
        # Most values are texts: not calling anything for them is what makes this walk cheap.
        if inner is str or inner is int or inner is bool or item is None:
            continue
        if not (is_plain_float(item) if inner is float else is_plain(item, depth + 1)):
            return False
    return True


def is_plain_float(value: float) -> bool:
    # Inside these bounds both print the shortest decimal without an exponent.
    return 1e-5 < abs(value) < 1e15 and not value.is_integer()


def _refuse_what_has_none(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels", path)
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise NotCanonical("integers past 2^53 - 1 do not survive JSON; send them as strings", path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotCanonical("NaN and infinities are not JSON", path)
        # Below 1e21 the canonical form has no exponent: read back it would be an integer past 2^53 - 1.
        if MAX_SAFE_INTEGER < abs(value) < 1e21:
            raise NotCanonical("numbers from 2^53 to 1e21 do not survive JSON; send them as strings", path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical("keys must be strings", path)
            _check_text(key, path)
            _refuse_what_has_none(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_what_has_none(item, f"{path}[{index}]", depth + 1)
    else:
        raise NotCanonical(f"`{type(value).__name__}` is not a JSON type", path)


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotCanonical("lone surrogates are not text", path) from None
