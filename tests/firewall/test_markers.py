"""Speculation is found in every disguise, at its path; what only talks about it passes."""

import json
from collections import UserDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from beliefd.kernel.scan import markers
from beliefd.kernel.scan.markers import MAX_DEPTH, find_marker
from beliefd.kernel.scan.spelling import MAX_ENCODINGS, normal
from beliefd.kernel.scan.words import NAMES, STEMS, Meaning, WordList
from beliefd.kernel.speculation.hints import ExperimentHints

MARK = {"epistemic_status": "speculative"}
TEXT = json.dumps(MARK)


class Status(Enum):
    GUESS = "speculative"


class Tagged(msgspec.Struct, tag_field="lane", tag="speculative"):
    x: int = 1


class Renamed(msgspec.Struct, rename={"harmless": "epistemic_status"}):
    harmless: str = "speculative"


class Hidden(msgspec.Struct, rename={"epistemic_status": "e"}):
    epistemic_status: str = "speculative"


def path_of(document: object, vocabulary: WordList = WordList.EVIDENCE) -> str | None:
    found = find_marker(document, vocabulary)
    return None if found is None else found.path


DISGUISES: dict[str, tuple[Any, str]] = {
    "as it is": (MARK, "$.epistemic_status"),
    "nested": ({"a": [0, 1, 2, {"b": MARK}]}, "$.a[3].b.epistemic_status"),
    "upper case": ({"EPISTEMIC_STATUS": "SPECULATIVE"}, "$.EPISTEMIC_STATUS"),
    "mixed case": ({"a": {"Epistemic_Status": "Speculative"}}, "$.a.Epistemic_Status"),
    "kebab": ({"epistemic-status": "speculative"}, "$.epistemic-status"),
    "camel": ({"epistemicStatus": "speculative"}, "$.epistemicStatus"),
    "pascal": ({"EpistemicStatus": "speculative"}, "$.EpistemicStatus"),
    "spaces": ({"epistemic status": " speculative "}, '$["epistemic status"]'),
    "dots": ({"epistemic.status": "speculative"}, '$["epistemic.status"]'),
    "path as key": ({"claim.epistemic_status": "speculative"}, '$["claim.epistemic_status"]'),
    "full-width key": (
        {"ｅｐｉｓｔｅｍｉｃ-status": "speculative"},
        '$["\\uff45\\uff50\\uff49\\uff53\\uff54\\uff45\\uff4d\\uff49\\uff43-status"]',
    ),
    "full-width value": ({"epistemic_status": "ｓｐｅｃｕｌａｔｉｖｅ"}, "$.epistemic_status"),
    "mathematical letters": ({"epistemic_status": "𝓼𝓹𝓮𝓬𝓾𝓵𝓪𝓽𝓲𝓿𝓮"}, "$.epistemic_status"),
    "zero-width key": (
        {"epi\u200bstemic\u2060_status": "speculative"},
        '$["epi\\u200bstemic\\u2060_status"]',
    ),
    "zero-width value": ({"epistemic_status": "spec\u200bul\u00adative\ufeff"}, "$.epistemic_status"),
    "direction marks": ({"epistemic_status": "\u202especulative\u202c"}, "$.epistemic_status"),
    "accents": ({"épistemic_status": "spéculativé"}, '$["\\u00e9pistemic_status"]'),
    "Cyrillic letters": ({"epistemic_status": "ѕресulаtіvе"}, "$.epistemic_status"),
    "list": ([[MARK]], "$[0][0].epistemic_status"),
    "tuple": ({"a": (1, (MARK,))}, "$.a[1][0].epistemic_status"),
    "deque": (deque([1, MARK]), "$[1].epistemic_status"),
    "set": ({"a": {TEXT}}, "$.a[*]{}.epistemic_status"),
    "frozen set of pairs": (frozenset({("epistemic_status", "speculative")}), "$[*][1]"),
    "other mappings": (UserDict({"a": MappingProxyType(MARK)}), "$.a.epistemic_status"),
    "bytes": ({"a": TEXT.encode()}, "$.a{}.epistemic_status"),
    "bytearray": ({"a": bytearray(TEXT.encode())}, "$.a{}.epistemic_status"),
    "memoryview": ({"a": memoryview(TEXT.encode())}, "$.a{}.epistemic_status"),
    "UTF-16": ({"a": TEXT.encode("utf-16")}, "$.a{}.epistemic_status"),
    "UTF-32 without a mark": ({"a": TEXT.encode("utf-32-be")}, "$.a{}.epistemic_status"),
    "UTF-8 with a mark": ({"a": TEXT.encode("utf-8-sig")}, "$.a{}.epistemic_status"),
    "invalid bytes around": ({"a": b"\xff\xfa" + TEXT.encode() + b"\xff"}, "$.a{}.epistemic_status"),
    "bytes as key": ({b"epistemic_status": b"speculative"}, "$[\"b'epistemic_status'\"]"),
    "tuple as key": (
        {("epistemic_status", "speculative"): 1},
        "$[\"('epistemic_status', 'speculative')\"]~[1]",
    ),
    "enumeration": ({"epistemic_status": Status.GUESS}, "$.epistemic_status"),
    "struct": (ExperimentHints(claim_id="c"), "$.epistemic_status"),
    "struct's tag": ([Tagged()], "$[0].lane"),
    "struct's name on the wire": (Renamed(), "$.epistemic_status"),
    "struct's own name": (Hidden(), "$.epistemic_status"),
    "JSON in a string": ({"a": TEXT}, "$.a{}.epistemic_status"),
    "JSON in a list of strings": (["x", TEXT], "$[1]{}.epistemic_status"),
    "twice encoded": ({"a": json.dumps(TEXT)}, "$.a{}{}.epistemic_status"),
    "three times encoded": (json.dumps(json.dumps(TEXT)), "${}{}{}.epistemic_status"),
    "JSON in JSON": ({"a": json.dumps({"b": [TEXT]})}, "$.a{}.b[0]{}.epistemic_status"),
    "kebab in JSON": ({"a": '{"epistemic-status": "Speculative"}'}, "$.a{}.epistemic-status"),
    "escaped letters": ({"a": r'{"\u0065pistemic_status": "speculative"}'}, "$.a{}.epistemic_status"),
    "escaped surrogates": ({"a": r'{"lane": "\ud835\udcc8peculative"}'}, "$.a{}.lane"),
    "escaped line break": ({"a": r'{"epistemic\nstatus": "speculative"}'}, '$.a{}["epistemic\\nstatus"]'),
    "escaped line break in a value": ({"a": r'{"lane": "specu\nlative"}'}, "$.a{}.lane"),
    "byte order mark": ({"a": "\ufeff" + TEXT}, "$.a{}.epistemic_status"),
    "key twice": (
        {"a": '{"epistemic_status": "speculative", "epistemic_status": "proven"}'},
        "$.a{}.epistemic_status",
    ),
    "long number beside": ({"a": '{"n": ' + "9" * 5_000 + ', "lane": "speculative"}'}, "$.a{}.lane"),
    "JSON as a key": ({TEXT: 1}, '$["{\\"epistemic_status\\": \\"speculative\\"}"]~{}.epistemic_status'),
    "prose before": ({"a": f"It says: {TEXT}"}, "$.a{@9}.epistemic_status"),
    "prose around": ({"a": f"see {TEXT} there"}, "$.a{@4}.epistemic_status"),
    "prose with a stray quote": ({"a": f'5" of {TEXT}'}, "$.a{@6}.epistemic_status"),
    "second object": ({"a": f'{{"b": 1}} {TEXT}'}, "$.a{@9}.epistemic_status"),
    "JSON lines": (f'{{"b": 1}}\n{TEXT}\n', "${@9}.epistemic_status"),
    "encoded within prose": ({"a": f"he said {json.dumps(TEXT)}, and went"}, "$.a{?}.epistemic_status"),
    "cut off": ({"a": '{"epistemic_status": "speculative"'}, "$.a{?}.epistemic_status"),
    "single quotes": ({"a": str(MARK)}, "$.a{?}.epistemic_status"),
    "typographic quotes": ({"a": "{“epistemic_status”: “speculative”}"}, "$.a{?}.epistemic_status"),
    "full-width punctuation": ({"a": "｛＂epistemic_status＂：＂speculative＂｝"}, "$.a{?}.epistemic_status"),
    "trailing comma": ({"a": '{"epistemic_status": "speculative",}'}, "$.a{?}.epistemic_status"),
    "value in a list": ({"epistemic_status": ["x", "speculative"]}, "$.epistemic_status[1]"),
    "value in an object": ({"epistemic_status": {"now": "speculative"}}, "$.epistemic_status.now"),
    "value with more words": ({"epistemic_status": "speculative (so far)"}, "$.epistemic_status"),
    "value as JSON": ({"epistemic_status": '"speculative"'}, "$.epistemic_status"),
    "field as a pair": ({"a": [["epistemic_status", "speculative"]]}, "$.a[0][1]"),
    "field as name and value": ({"name": "epistemic-status", "value": "speculative"}, "$.value"),
    "lane": ({"lane": "Speculative"}, "$.lane"),
    "label": ({"a": {"label": "speculative"}}, "$.a.label"),
    "flag": ({"is_speculative": True}, "$.is_speculative"),
    "flag in words": ({"speculative": "yes"}, "$.speculative"),
    "speculation itself": ({"speculation": {"x": 1}}, "$.speculation"),
    "context": ({"speculative_context": {}}, "$.speculative_context"),
    "context that is empty": ({"a": {"speculativeContext": None}}, "$.a.speculativeContext"),
    "hints by name": ({"experiment-hints": []}, "$.experiment-hints"),
    "hints without a status": ({"a": {"candidate_mechanisms": [], "sensitivity_axes": []}}, "$.a"),
    "hints without a status, in JSON": ('{"priorSuggestions": [], "sensitivityAxes": []}', "${}"),
    "a brainstorm": ({"alternatives": [], "analogies": [], "edge_cases": []}, "$"),
    "context in broken JSON": ('{"x": 1, "speculative_context": ', "${?}.speculative_context"),
    "hints in broken JSON": ("{'candidate_mechanisms': [], 'sensitivity_axes': []}", "${?}"),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_is_seen_through_and_its_place_is_told(name: str) -> None:
    document, path = DISGUISES[name]
    found = find_marker(document)
    assert found is not None
    assert not found.unreadable
    assert found.path.isascii()
    assert found.found.isascii()
    assert found.path == path


@pytest.mark.parametrize("name", DISGUISES)
def test_beside_much_that_is_innocent_it_is_seen_as_well(name: str) -> None:
    document, _ = DISGUISES[name]
    assert find_marker({"x": ["some text", 1.5, None, {"note": "it's fine"}], "here": document}) is not None


INNOCENT: dict[str, Any] = {
    "prose with the words": "The epistemic status of this is speculative; see the speculative context.",
    "prose with quotes": 'He called it "speculative": a guess, and "epistemic_status" a fine name.',
    "prose with braces": "a set {speculative, grounded}, {\"quoted\"} braces; it's all 'epistemic status'",
    "prose with a quoted phrase": 'About the "speculative context": nobody knows.',
    "prose in JSON": '{"note": "the market is speculative, its epistemic_status unknown"}',
    "formula": r'\frac{"a"}{speculative} + \epistemic{status}',
    "program": 'if status != "speculative": raise ValueError({"a": 1})',
    "another status": {"epistemic_status": "supported"},
    "another status in JSON": '{"epistemic_status": "proven", "lane": "grounded"}',
    "another lane": {"lane": "fast", "label": "Speculative execution in processors"},
    "names of fields": ["claim_id", "epistemic_status", "lane"],
    "description of a field": {"name": "epistemic_status", "description": "speculative or better"},
    "a flag that says no": {"speculative": False, "is_speculative": "no", "speculation": None},
    "statistics": {"alternative": "two-sided", "alternatives": ["less", "greater"]},
    "one hint's name": {"sensitivity_axes": 3},
    "digest of hints": {"hints_digest": "0123456789abcdef", "experiment_hints_digest": "0123456789abcdef"},
    "hypothesis of a session": {"hypothesis": "the deploy did it", "eliminated": ["disk_full"]},
    "words as elements": ["epistemic", "speculative"],
    "a path on Windows": "C:\\new\\speculative\\notes.txt",
    "foreign letters": {"заметка": "это спекуляция", "注記": "投機的"},
    "time": {"at": datetime(2026, 1, 1, tzinfo=UTC), "took": 1.5},
    "bytes of an image": {"image": bytes(range(256))},
    "nothing": None,
}


@pytest.mark.parametrize("name", INNOCENT)
def test_what_only_talks_about_it_passes(name: str) -> None:
    assert find_marker(INNOCENT[name]) is None


def nested(levels: int, innermost: Any) -> Any:
    made = innermost
    for _ in range(levels):
        made = [made]
    return made


def test_ten_thousand_levels_are_refused_without_a_crash() -> None:
    innermosts: tuple[Any, ...] = (MARK, [], TEXT)
    for innermost in innermosts:
        found = find_marker(nested(10_000, innermost))
        assert found is not None
        assert (found.kind, found.unreadable) == ("too_deep", True)
        assert found.path == "$" + "[0]" * (MAX_DEPTH + 1)
    objects: Any = {}
    for _ in range(10_000):
        objects = {"a": objects}
    found = find_marker(objects)
    assert found is not None
    assert found.path == "$" + ".a" * (MAX_DEPTH + 1)


def test_ten_thousand_levels_of_json_in_a_text_are_refused_without_a_crash() -> None:
    found = find_marker({"a": "[" * 10_000 + TEXT + "]" * 10_000})
    assert found is not None
    assert (found.path, found.kind) == ("$.a", "too_deep")


def test_a_marker_is_found_down_to_the_last_level_that_is_read() -> None:
    assert path_of(nested(MAX_DEPTH, MARK)) == "$" + "[0]" * MAX_DEPTH + ".epistemic_status"


def test_encoding_more_often_than_anybody_reads_is_refused() -> None:
    often = "\\" + "u005c" * MAX_ENCODINGS + "u0073peculative"
    assert path_of({"epistemic_status": "x", "a": f'{{"lane": "{often}"}}'}) is not None
    found = find_marker({"a": f'{{"lane": "{often}"}}'})
    assert found is not None
    assert (found.path, found.kind) == ("$.a", "too_deep")


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    branching: list[Any] = []
    branching += [branching, branching]
    for value in (ring, branching):
        found = find_marker(value)
        assert found is not None
        assert found.unreadable


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "MAX_VALUES", 1_000)
    monkeypatch.setattr(markers, "MAX_TEXT", 1_000)
    assert find_marker({"lane": [*range(998), b""]}) is None
    found = find_marker({"lane": [*range(999), b""]})
    assert found is not None
    assert (found.path, found.kind) == ("$.lane", "too_large")
    found = find_marker({"a": b"'" * 1_001})
    assert found is not None
    assert (found.path, found.kind) == ("$.a", "too_large")


def test_false_beginnings_without_end_are_refused_instead_of_tried_one_by_one() -> None:
    found = find_marker("speculative " + '{"a": [' * 200 + "1," * 50_000)
    assert found is not None
    assert found.kind == "too_deep"


@pytest.mark.parametrize(
    "value", [object(), iter([MARK]), lambda: MARK], ids=["object", "iterator", "function"]
)
def test_what_cannot_be_looked_into_does_not_pass(value: object) -> None:
    found = find_marker({"a": value})
    assert found is not None
    assert (found.path, found.kind) == ("$.a", "opaque")


HOSTILE = {
    "backslashes": "\\" * 400_000 + r"\u00zz",
    "backslashes before a letter": "\\" * 400_000 + r"n \n",
    "escaped backslashes": r"\u005c" * 60_000,
    "beginnings of objects": '{"' * 200_000,
    "beginnings of lists": '["a",' * 80_000,
    "fields without end": '{"a": "b", ' * 40_000,
    "quotes": '"' * 400_000,
    "white space": "{" + " " * 400_000,
    "marks": "'" + "\u0301" * 200_000,
    "halves of pairs": "\ud835" * 100_000,
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_time_in_proportion_to_its_length(name: str) -> None:
    """Where something takes quadratic time, each of these that provokes it takes minutes."""
    text = f"speculative {HOSTILE[name]}"
    assert find_marker([text, {"lane": "speculative"}]) is not None
    assert find_marker([b"", text.encode("utf-8", "surrogatepass"), {"lane": "speculative"}]) is not None
    find_marker(text)


def test_quotes_before_and_after_do_not_put_the_reader_out_of_step() -> None:
    for noise in ('"', "'", '\\"', '"""', "{", "}", "[", '{"', '":', "\\", '{"a": "', "{'"):
        assert path_of(f"{noise} {TEXT} {noise}") is not None, noise


RESIDUE = (
    "alternatives",
    "analogies",
    "edge_cases",
    "experiment_hints",
    "epistemic_status",
    "speculative_context",
)
SPELLINGS: dict[str, Callable[[str], str]] = {
    "snake": str,
    "kebab": lambda name: name.replace("_", "-"),
    "camel": lambda name: name[0] + name.title().replace("_", "")[1:],
    "spaces": lambda name: name.replace("_", " "),
    "upper": str.upper,
    "full-width": lambda name: "".join(chr(ord(char) + 0xFEE0) for char in name),
    "zero-width": "\u200b".join,
}


@pytest.mark.parametrize("name", RESIDUE)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_plan_may_not_have_these_keys_at_any_depth_in_any_spelling(name: str, spelling: str) -> None:
    key = SPELLINGS[spelling](name)
    for document, path in (
        ({key: None}, "$"),
        ({"params": {"a": [{key: 1}]}}, "$.params.a[0]"),
        ({"params": {"a": json.dumps({"b": {key: []}})}}, "$.params.a{}.b"),
        ({"params": {"a": f"text {json.dumps({key: {}})} text"}}, "$.params.a{@5}"),
    ):
        found = find_marker(document, WordList.RESIDUE)
        assert found is not None
        assert found.path.startswith(path)
        assert found.path != path


def test_a_plan_may_not_have_a_single_field_of_hints() -> None:
    for name in ("candidate_mechanisms", "sensitivityAxes", "prior-suggestions", "falsification_criteria"):
        assert path_of({"params": {name: 1}}, WordList.RESIDUE) is not None
        # A backslash that looks like the escape of the letter after it.
        assert path_of({"params": json.dumps({f"\\{name}": 1})}, WordList.RESIDUE) is not None


def test_a_plan_may_say_which_alternative_is_tested() -> None:
    assert (
        path_of({"params": {"alternative": "two-sided", "note": "no alternatives"}}, WordList.RESIDUE) is None
    )


def test_every_word_of_the_vocabulary_has_a_stem_that_the_quick_look_finds() -> None:
    told = {Meaning.NAME, Meaning.VALUE, Meaning.LABEL}  # markers only together with a value that has a stem
    for word, meaning in NAMES.items():
        assert normal(word) == word
        if meaning not in told:
            assert any(stem in word for stem in STEMS[WordList.RESIDUE]), word
        if meaning in (Meaning.FLAG, Meaning.CONTEXT):
            assert any(stem in word for stem in STEMS[WordList.EVIDENCE]), word
    hints = [word for word, meaning in NAMES.items() if meaning is Meaning.HINT]
    ideas = [word for word, meaning in NAMES.items() if meaning is Meaning.IDEA]
    for words, may_lack in ((hints, 1), (ideas, 2)):
        lacking = [word for word in words if not any(stem in word for stem in STEMS[WordList.EVIDENCE])]
        assert len(lacking) <= may_lack
