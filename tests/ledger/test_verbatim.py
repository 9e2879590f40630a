"""The quick way of reading JSON takes only what the careful way would take, and to the same value."""

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel import strict_json
from beliefd.kernel.strict_json import UNSURE, Unreadable, loads
from beliefd.testing.strategies import json_values

CAREFUL = mock.patch.object(strict_json, "_verbatim", return_value=UNSURE)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@given(json_values | st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3))
def test_both_ways_agree(value: Any) -> None:
    data = compact(value)
    try:
        quick = repr(loads(data))
    except Unreadable as error:
        quick = str(error)
    with CAREFUL:
        try:
            careful = repr(loads(data))
        except Unreadable as error:
            careful = str(error)
    assert quick == careful


def test_what_programs_send_is_read_the_quick_way() -> None:
    sent = {"source_id": "a", "eliminated": ["x", "y"], "justification": {"value": 0.25, "é": None}}
    assert strict_json._verbatim(compact({**sent, "justification": {"value": 0.25}})) is not UNSURE
    assert strict_json._verbatim(compact(sent)) is UNSURE
    assert loads(compact(sent)) == sent


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b"[NaN]",
        b"[1e999]",
        b"[9007199254740993]",
        b'["\\ud800"]',
        b"[" * 80 + b"]" * 80,
        b"\xff",
        b"",
        b"[1,]",
    ],
)
def test_what_is_wrong_stays_wrong(data: bytes) -> None:
    assert strict_json._verbatim(data) is UNSURE
    with pytest.raises(Unreadable):
        loads(data)
