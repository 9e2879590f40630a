"""The scan reads one layer of other encodings, and what only looks like one raises no alarm."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.scan.encodings import is_coded, is_coded_json, without_digests
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.scan.words import WordList

MARK = {"epistemic_status": "speculative"}
TEXT = json.dumps(MARK)
ROOT = Path(__file__).parents[2]


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


LONG = base64.encodebytes(json.dumps({"note": "x" * 100, **MARK, "more": "y" * 60}).encode()).decode()
ENCODED: dict[str, tuple[Any, str]] = {
    "base64": ({"a": base64_of(TEXT)}, "$.a{base64}{}.epistemic_status"),
    "base64 for addresses": (
        {"a": base64.urlsafe_b64encode(b'{"x": "~~~???", "lane": "speculative"}').decode().rstrip("=")},
        "$.a{base64}{}.lane",
    ),
    "base64 with prose around": ([f"see {base64_of(TEXT)}, please"], "$[0]{base64}{}.epistemic_status"),
    "base64 in an address": (
        {"a": f"data:application/json;base64,{base64_of(TEXT)}"},
        "$.a{base64}{}.epistemic_status",
    ),
    "base64 over several lines": ({"a": LONG}, "$.a{base64}{}.epistemic_status"),
    "base64 after a line of prose": ({"a": f"the report\n{LONG}"}, "$.a{base64}{}.epistemic_status"),
    "base64 of a line": (
        {"a": base64_of("epistemic_status: speculative")},
        "$.a{base64}{?}.epistemic_status",
    ),
    "base64 of UTF-16": (
        {"a": base64.b64encode(TEXT.encode("utf-16-le")).decode()},
        "$.a{base64}{}.epistemic_status",
    ),
    "base64 of bytes": ({"a": base64.b64encode(TEXT.encode())}, "$.a{base64}{}.epistemic_status"),
    "base64 in JSON in a text": (json.dumps({"b": base64_of(TEXT)}), "${base64}{}.epistemic_status"),
    "percent": ({"a": quote(TEXT)}, "$.a{%}{}.epistemic_status"),
    "percent for every letter": (
        {"a": "".join(f"%{ord(char):02X}" for char in TEXT)},
        "$.a{%}{}.epistemic_status",
    ),
    "a query": ({"a": "https://x.org/?" + urlencode({"n": 1, **MARK})}, "$.a{?}.epistemic_status"),
    "YAML": ({"a": "claim: c\nepistemic_status: speculative\n"}, "$.a{?}.epistemic_status"),
    "YAML, nested": ({"a": "runs:\n  - seed: 1\n    lane: 'speculative'\n"}, "$.a{?}.lane"),
    "YAML, a flag": ({"a": "seed: 3\nspeculative: yes"}, "$.a{?}.speculative"),
    "YAML, a context": ({"a": "seed: 3\nspeculative_context:\n  idea: x"}, "$.a{?}.speculative_context"),
    "YAML, hints": ({"a": "sensitivity_axes:\n  - x\ncandidate_mechanisms:\n  - y"}, "$.a{?}"),
    "settings": ({"a": "[run]\nepistemic-status = Speculative\n"}, "$.a{?}.epistemic-status"),
    "a line of a log": ({"a": "level=info lane=speculative took=3ms"}, "$.a{?}.lane"),
    "an attribute": ({"a": '<run id="1" epistemic_status="speculative"/>'}, "$.a{?}.epistemic_status"),
    "an attribute in single quotes": ({"a": "<run lane='speculative'>"}, "$.a{?}.lane"),
    "an element": ({"a": "<lane>speculative</lane>"}, "$.a{?}.lane"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_a_marker_is_found_in_one_layer_of_another_encoding(name: str) -> None:
    document, path = ENCODED[name]
    found = find_marker(document)
    assert found is not None
    assert not found.unreadable
    assert found.path == path


@pytest.mark.parametrize("name", ENCODED)
def test_beside_much_that_is_innocent_it_is_found_as_well(name: str) -> None:
    document, _ = ENCODED[name]
    beside = ["some text", hashlib.sha256(b"x").hexdigest(), 1.5, None, {"note": "100 % fine, it's 20%25"}]
    assert find_marker({"x": beside, "here": document}) is not None


INNOCENT: dict[str, Any] = {
    "a hash": hashlib.sha256(b"speculative").hexdigest(),
    "an id": "019b7600-0000-7000-8000-000000000001",
    "a long name": "the_effective_sample_size_of_a_speculative_execution",
    "a picture": base64.b64encode(bytes(range(256)) * 4).decode(),
    "base64 of prose": base64_of("The epistemic status of this is speculative; see the speculative context."),
    "base64 of another status": base64_of(json.dumps({"epistemic_status": "supported", "lane": "grounded"})),
    "percent in prose": "100 % of it is speculative, 20%25 of the context as well",
    "an address about it": "https://x.org/speculative%20execution?label=Speculative%20execution&q=lane",
    "a sentence with a colon": "Epistemic status: speculative at best, says the review",
    "another one": "In this lane: speculative traders and their contexts.",
    "a heading": "Speculation:\nit is what markets do.",
    "a question": "lane: which one?\nspeculative: no\nepistemic_status: supported",
    "a comparison": "if lane == speculative or epistemic_status != speculative",
    "an element with prose": "<p>speculative</p> <label>Speculative execution</label>",
    "a template": "lane: {{ speculative }}",
    "one hint": "sensitivity_axes: 3",
    "a token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
}


@pytest.mark.parametrize("name", INNOCENT)
def test_what_only_looks_like_it_raises_no_alarm(name: str) -> None:
    assert find_marker({"a": INNOCENT[name]}) is None
    assert find_marker([INNOCENT[name], "speculat", {"analogies": 1}]) is None, "nor where every text is read"


def test_no_paragraph_of_the_documentation_raises_an_alarm() -> None:
    """Measured on all that this project says about speculation in prose."""
    alarms = [
        paragraph
        for page in sorted(ROOT.glob("docs/**/*.md"))
        for paragraph in re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).split("\n\n")
        if find_marker({"text": paragraph}) is not None
    ]
    assert alarms == []


def test_a_plan_may_not_hide_its_residue_either() -> None:
    for text in ("edge_cases:\n  - cold", base64_of('{"analogies": ["roads"]}'), "alternatives=3 seed=4"):
        assert find_marker({"params": {"note": text}}, WordList.RESIDUE) is not None


@given(st.binary(max_size=200))
def test_whatever_is_encoded_is_read_without_failing(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    find_marker([text, f"%{text}%zz%4", "speculative"])


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    [
        "A" * 1_000_000,
        "%41" * 300_000,
        "lane=" * 200_000,
        "lane: \n" * 150_000,
        "a-" * 400_000,
        "<a " * 300_000,
    ],
)
def test_hostile_encodings_cost_time_in_proportion_to_their_length(text: str) -> None:
    assert find_marker([f"speculative {text}", {"lane": "speculative"}]) is not None
    find_marker(f"speculative {text}")


SHAPES = st.sampled_from(
    [
        b"f" * 63,
        b"0" * 64,
        b"a" * 65,
        b"A" * 64,
        b"g" * 64,
        b'"',
        b'""',
        b"%",
        b"2f",
        b" ",
        b"x" * 21,
        b"-_/+",
    ]
)


@given(st.lists(SHAPES, max_size=8).map(b"".join))
def test_what_is_coded_beside_digests_is_seen_without_taking_them_out(data: bytes) -> None:
    assert is_coded_json(data) == is_coded(without_digests(data))
