"""The reader of strangers' JSON: as quick as it is strict, and always able to say where."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.canonical import MAX_DEPTH, NotCanonical, canonical
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import shown

numbers = st.one_of(
    st.integers(),
    st.integers(2**53 - 3, 2**53 + 3),
    st.floats(),
    st.floats(9e15, 2e21),
)
texts = st.text(st.characters(codec=None), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_it_reads_exactly_what_has_a_canonical_form(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate, raw: it cannot even be sent
        return
    try:
        expected = canonical(value)
    except NotCanonical:
        with pytest.raises(Unreadable):
            loads(data)
    else:
        assert canonical(loads(data)) == expected


@pytest.mark.parametrize("text", ["2.0", "2e0", "20e-1", "-0.0", "-0", "9007199254740991.0"])
def test_whole_numbers_are_whole_however_they_are_written(text: str) -> None:
    for data in (text, f'{{"x": {text}, "big": 1e300}}'):
        value = loads(data.encode())
        assert type(value["x"] if isinstance(value, dict) else value) is int


@given(st.binary(max_size=40))
def test_it_never_fails_in_any_other_way(data: bytes) -> None:
    try:
        loads(data)
    except Unreadable as error:
        error.message.encode()
        error.path.encode()


@given(values, values, texts)
def test_a_key_that_comes_twice_is_found_wherever_it_is(first: Any, second: Any, key: str) -> None:
    name = json.dumps(key)
    text = f'[{{"a": {{{name}: {json.dumps(first)}, {name}: {json.dumps(second)}}}}}]'
    with pytest.raises(Unreadable):
        loads(text.encode())


@pytest.mark.parametrize(("depth", "readable"), [(MAX_DEPTH + 1, True), (MAX_DEPTH + 2, False)])
def test_depth_is_bounded_where_canonical_json_is(depth: int, readable: bool) -> None:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    for check in (lambda: canonical(value), lambda: loads(json.dumps(value).encode())):
        if readable:
            check()
        else:
            with pytest.raises((NotCanonical, Unreadable)):
                check()


def test_text_that_errors_repeat_is_short_and_clean() -> None:
    assert shown("plain") == "plain"
    assert shown("x" * 65) == "x" * 64 + "..."
    assert shown("\ud800") == "?"
