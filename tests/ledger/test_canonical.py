"""Canonical JSON: RFC 8785's bytes for whatever JSON can carry, a refusal with its path for the rest."""

import json
import math
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from beliefd.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, NotCanonical, canonical
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.testing.strategies import json_values, keys

# Of all doubles few are of a size that people write: these are drawn on their own.
everyday = st.builds(
    lambda digits, exponent: digits * 10.0**exponent, st.integers(1, 99_999), st.integers(-14, 24)
)
doubles = everyday | st.integers(0, 2**64 - 1).map(
    lambda bits: struct.unpack(">d", bits.to_bytes(8, "big"))[0]
)


def has_form(number: float) -> bool:
    return math.isfinite(number) and not MAX_SAFE_INTEGER < abs(number) < 1e21


@given(json_values)
def test_bytes_equal_the_reference_on_any_json(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.one_of(doubles, st.floats()).filter(has_form))
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
@example(1e21)
@example(9.999999999999997e-7)
@example(1e-6)
@example(1.5e-6)
@example(1e-5)
@example(123456789012345.6)
@example(float(MAX_SAFE_INTEGER))
def test_bytes_equal_the_reference_on_doubles_of_every_size(number: float) -> None:
    assert canonical(number) == rfc8785.dumps(number)
    assert canonical({"n": [number]}) == rfc8785.dumps({"n": [number]})


@given(
    st.dictionaries(
        st.text('a\u00e9\ud7ff\ue000\uffff\U00010000\U0001f600\u0000\u001f"\\/', max_size=3), st.none()
    )
)
def test_keys_are_ordered_by_their_utf16_units(value: dict[str, None]) -> None:
    assert canonical(value) == rfc8785.dumps(value)
    order = list(json.loads(canonical(value)))
    assert order == sorted(value, key=lambda key: key.encode("utf-16-be"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("".join(map(chr, range(0x20))) + '"\\/\x7f\u2028\u2029')
def test_text_is_escaped_as_little_as_json_allows(text: str) -> None:
    assert canonical(text) == rfc8785.dumps(text)


@given(json_values)
def test_what_is_canonical_reads_back_to_the_same_bytes(value: Any) -> None:
    """Otherwise a recorded event could not be verified from its own bytes."""
    assert canonical(loads(canonical(value))) == canonical(value)


@given(st.one_of(doubles, st.floats()))
def test_every_double_either_survives_a_round_trip_or_is_refused(number: float) -> None:
    if has_form(number):
        assert loads(canonical([number])) == [number]
    else:
        with pytest.raises(NotCanonical) as caught:
            canonical([number])
        assert caught.value.path == "$[0]"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "NaN"),
        (math.inf, "infinities"),
        (-math.inf, "infinities"),
        (2**53, "2^53"),
        (-(2**53), "2^53"),
        (2.0**53, "2^53"),
        (1e20, "1e21"),
        (10**400, "2^53"),
        ("\ud800", "surrogates"),
        ("a\udfffb", "surrogates"),
        (b"bytes", "bytes"),
        ({1, 2}, "set"),
        (object(), "object"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value: Any, reason: str) -> None:
    for wrapped, path in (
        (value, "$"),
        ({"a": [0, value]}, "$.a[1]"),
        ({"\u00e9": value}, "$.\u00e9"),
    ):
        with pytest.raises(NotCanonical) as caught:
            canonical(wrapped)
        assert reason in caught.value.message
        assert caught.value.path == path


@pytest.mark.parametrize("key", [1, None, True, ("a",), "\udc00"])
def test_keys_that_are_not_text_are_refused(key: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical({key: 1})


def nested(levels: int, leaf: Any = 0) -> Any:
    value = leaf
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


@pytest.mark.parametrize("leaf", [0, "x", 0.5, 1.0, [], {}, {"\u00e9": 1}])
def test_depth_is_bounded_on_both_ways_through(leaf: Any) -> None:
    inner = 0 if leaf in ([], {}) or not isinstance(leaf, dict) else 1
    deepest = nested(MAX_DEPTH - inner, leaf)
    assert canonical(deepest) == rfc8785.dumps(deepest)
    with pytest.raises(NotCanonical, match="deeper than 64"):
        canonical(nested(MAX_DEPTH + 1 - inner, leaf))


@given(keys, st.integers(0, 2), st.integers(0, 2))
def test_a_key_that_appears_twice_is_refused_wherever_it_stands(key: str, before: int, after: int) -> None:
    name = json.dumps(key)
    members = [f'"x{at}{key and ""}y":1' for at in range(before)]
    twice = ",".join([f"{name}:1", *members, f"{name}:1", *(f'"z{at}zzzzzzz":0' for at in range(after))])
    for text in (f"{{{twice}}}", f'[{{"deep":{{{twice}}}}}]'):
        with pytest.raises(Unreadable, match="appears twice"):
            loads(text.encode())


def test_the_same_key_spelt_with_an_escape_is_the_same_key() -> None:
    with pytest.raises(Unreadable, match="appears twice"):
        loads(rb'{"a":1,"\u0061":2}')


@pytest.mark.parametrize(
    "text",
    [
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e400",
        b"9007199254740992",
        b"9007199254740992.0",
        b"1e20",
        b"1" * 5000,
        rb'"\ud800"',
        rb'{"\udc00":1}',
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b"[" * 70 + b"]" * 70,
        b"01",
        b"+1",
        b"1.",
        b".5",
        b"'a'",
        b'"\n"',
        b"{} {}",
        b"[1,]",
        b"",
    ],
    ids=lambda text: text[:24].decode("latin-1"),
)
def test_text_that_is_not_strict_json_is_refused(text: bytes) -> None:
    with pytest.raises(Unreadable):
        loads(text)
