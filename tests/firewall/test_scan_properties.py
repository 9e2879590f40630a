"""Whatever a marker is wrapped in, it is found; whatever innocent people write, passes."""

import json
import unicodedata
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from beliefd.kernel.scan.markers import _Scan, find_marker
from beliefd.kernel.scan.spelling import normal
from beliefd.kernel.scan.words import MEANINGS, WordList

WORDS = ("epistemic", "status"), ("speculative", "context"), ("experiment", "hints")
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u034f\ufe0f\U000e0041"
JOINTS = "_", "-", "", " ", ".", "__", "\u2010", "\u00a0"

prose = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | prose
# Objects of strangers: any keys but those that mean something here.
keys = st.text(max_size=12).filter(lambda key: MEANINGS[key] is None)
innocent = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def spelled(draw: st.DrawFn, words: tuple[str, ...]) -> str:
    """A word in any case and width, with anything invisible inside and any joint between its parts."""
    parts = []
    for word in words:
        made = "".join(draw(st.sampled_from([char, char.upper(), chr(ord(char) + 0xFEE0)])) for char in word)
        place = draw(st.integers(0, len(made)))
        parts.append(made[:place] + draw(st.sampled_from(["", *INVISIBLE])) + made[place:])
    return draw(st.sampled_from(JOINTS)).join(parts)


@st.composite
def marked(draw: st.DrawFn) -> dict[str, Any]:
    words = draw(st.sampled_from(WORDS))
    key = draw(spelled(words))
    value = draw(spelled(("speculative",))) if words == WORDS[0] else draw(scalars)
    return {key: value}


WRAPPINGS: dict[str, Any] = {
    "field": lambda inner, other, text: {"beside": other, "a": inner},
    "list": lambda inner, other, text: [other, inner],
    "tuple": lambda inner, other, text: (inner, other),
    "JSON": lambda inner, other, text: json.dumps(_plain(inner)),
    "JSON in ASCII, in a field": lambda inner, other, text: {
        "a": json.dumps(_plain(inner), ensure_ascii=False)
    },
    "bytes": lambda inner, other, text: json.dumps(_plain(inner), ensure_ascii=False).encode(
        "utf-8", "replace"
    ),
    "key": lambda inner, other, text: {json.dumps(_plain(inner)): other},
    "prose": lambda inner, other, text: f"{text} {json.dumps({'a': _plain(inner)})} {text}",
    "the first of two": lambda inner, other, text: f'{{"a": {json.dumps(_plain(inner))}, "a": 1}}',
}


def _plain(value: Any) -> Any:
    """What JSON can hold of it: bytes as text, keys as they are."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@given(marked(), st.lists(st.tuples(st.sampled_from(sorted(WRAPPINGS)), innocent, prose), max_size=5))
@example(
    {"epistemic_status": "speculative"}, [("prose", None, '"'), ("JSON", None, ""), ("prose", None, "\\")]
)
def test_a_marker_is_found_however_it_is_spelled_and_wrapped(
    mark: dict[str, Any], wrappings: list[tuple[str, Any, str]]
) -> None:
    document: Any = mark
    for name, other, text in wrappings:
        document = WRAPPINGS[name](document, other, text)
    assert find_marker(document) is not None
    assert find_marker(document, WordList.RESIDUE) is not None


@given(innocent)
def test_what_strangers_write_passes(document: Any) -> None:
    assert find_marker(document) is None
    assert find_marker(document, WordList.RESIDUE) is None
    assert find_marker(json.dumps(document)) is None


TALK = (
    "speculative", "epistemic_status", "epistemic status", "hints", "lane", "alternatives", '"speculative"',
    "'epistemic_status'", "{", "}", "[", "]", "(speculation)", "it's", "is", "and", "\\", ";", ".", "“so”",
)  # fmt: skip


@given(st.lists(st.sampled_from(TALK), max_size=30).map(" ".join))
def test_talk_about_speculation_passes_with_quotes_and_braces_anywhere(text: str) -> None:
    """There is no colon in it: nothing is said *of* anything."""
    assert find_marker({"note": text, "notes": [text]}) is None


@given(st.text(max_size=40))
def test_the_normal_form_is_stable_and_knows_no_case_and_no_marks(text: str) -> None:
    form = normal(text)
    assert normal(form) == form
    assert form.isascii()
    assert normal(unicodedata.normalize("NFD", text)) == normal(unicodedata.normalize("NFC", text))


PIECES = (
    "speculative", "lane", "epistemic_status", "candidate_mechanisms", "sensitivity_axes", "alternatives",
    "analogies", "edge_cases", "falsification_criteria", "specu", "lative", "name", "value", "true",
    "\n", "\\n", "\\", '"', "'", ":", "{", "}", "[", "]", ",", " ", "é",
    "\\u0065", "\\u005c", "u0073", "\ud835", "\udcc8", "\u200b",
)  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
anything = st.recursive(
    pieces | st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(pieces | st.integers() | st.binary(max_size=4), inner, max_size=4)
        | st.lists(inner, max_size=2).map(tuple)
        | st.lists(inner, max_size=3).map(lambda items: json.dumps(items, default=repr, skipkeys=True))
        | inner.map(lambda item: repr(item).encode("utf-8", "replace"))
    ),
    max_leaves=10,
)


@given(anything, st.sampled_from(WordList))
def test_whatever_it_is_given_it_answers_and_the_quick_look_overlooks_nothing(
    document: Any, vocabulary: WordList
) -> None:
    found = find_marker(document, vocabulary)
    assert found == _Scan(vocabulary).run(document)
    assert found is None or found.path.isascii()
