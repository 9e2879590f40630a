"""Bodies that no honest program sends: each is a 4xx that says what and where, and the ledger stays."""

import json

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.experiments.params import PARAMS
from beliefd.protocol.operations import BY_NAME
from beliefd.testing.world import ONTOLOGY_JSON
from tests.http.calls import ELIMINATE, JSON, declare, error_of, head, url

GOOD = json.dumps(ELIMINATE)[1:-1]
MEGABYTE = "x" * 1_000_000


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def justified(text: str) -> bytes:
    """An elimination with `text` as the value of `justification.x`."""
    rest = {name: value for name, value in ELIMINATE.items() if name != "justification"}
    return (json.dumps(rest)[:-1] + ', "justification": {"x": ' + text + "}}").encode()


def named(name: str) -> bytes:
    """An elimination of one hypothesis, whose name is JSON text."""
    rest = {key: value for key, value in ELIMINATE.items() if key != "eliminated"}
    return (json.dumps(rest)[:-1] + ', "eliminated": ["a", ' + name + "]}").encode()


# name of the defect: (body, path that the error points at)
BODIES: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"source_id=s", "$"),
    "cut off": (b'{"source_id": "s', "$"),
    "two documents": (b"{}{}", "$"),
    "trailing comma": (b"{" + GOOD.encode() + b",}", "$"),
    "single quotes": (b"{'source_id': 's'}", "$"),
    "an array": (b"[]", "$"),
    "a string": (b'"eliminate"', "$"),
    "null": (b"null", "$"),
    "white space only": (b" \n ", "$"),
    "a byte order mark": (b"\xef\xbb\xbf{" + GOOD.encode() + b"}", "$"),
    "UTF-16": (("{" + GOOD + "}").encode("utf-16"), "$"),
    "invalid UTF-8": (justified('"') + b"\xff", "$"),
    "raw surrogate bytes": (b'{"source_id": "\xed\xa0\x80"}', "$"),
    "control character in a string": (b'{"source_id": "a\x01"}', "$"),
    "missing field": (b'{"source_id": "s", "eliminated": [], "justification": {}}', "$.observation_id"),
    "no fields": (b"{}", "$.source_id"),
    "unknown field": (("{" + GOOD + ', "weight": 1}').encode(), "$.weight"),
    "unknown field of a megabyte": (("{" + GOOD + f', "{MEGABYTE}": 1}}').encode(), f"$.{'x' * 64}..."),
    "a role of one's own": (("{" + GOOD + ', "role": "admin"}').encode(), "$.role"),
    "an actor of one's own": (("{" + GOOD + ', "actor": {"id": "human://boss"}}').encode(), "$.actor"),
    "wrong type": (json.dumps({**ELIMINATE, "source_id": 7}).encode(), "$.source_id"),
    "null instead of text": (json.dumps({**ELIMINATE, "source_id": None}).encode(), "$.source_id"),
    "text instead of a list": (json.dumps({**ELIMINATE, "eliminated": "a"}).encode(), "$.eliminated"),
    "a list in a list": (json.dumps({**ELIMINATE, "eliminated": [["a"]]}).encode(), "$.eliminated[0]"),
    "a list instead of an object": (
        json.dumps({**ELIMINATE, "justification": []}).encode(),
        "$.justification",
    ),
    "key twice": (("{" + GOOD + ', "source_id": "t"}').encode(), "$.source_id"),
    "key twice, spelled differently": (("{" + GOOD + ', "source\\u005fid": "t"}').encode(), "$.source_id"),
    "key twice, far inside": (justified('[{"k": 1, "k": 1}]'), "$.justification.x[0].k"),
    "NaN": (justified("NaN"), "$.justification.x"),
    "Infinity": (justified("Infinity"), "$.justification.x"),
    "minus Infinity": (justified("[1, -Infinity]"), "$.justification.x[1]"),
    "1e400": (justified("1e400"), "$.justification.x"),
    "1e20": (justified("1e20"), "$.justification.x"),
    "an integer past 2^53": (justified("9007199254740993"), "$.justification.x"),
    "5,000 digits": (justified("9" * 5_000), "$.justification.x"),
    "leading zero": (justified("01"), "$"),
    "lone surrogate": (justified('"\\ud800"'), "$.justification.x"),
    "lone low surrogate": (justified('"a\\uDC00b"'), "$.justification.x"),
    "lone surrogate in a key": (justified('{"\\ud800": 1}'), "$.justification.x"),
    "lone surrogate in an id": (named('"\\ud800"'), "$.eliminated[1]"),
    "70 deep": (justified(nested(70)), "$.justification.x" + "[0]" * 63),
    "10,000 deep": (justified(nested(10_000)), "$"),
    "10,000 objects deep": (justified('{"a":' * 10_000 + "1" + "}" * 10_000), "$"),
    "an empty id": (named('""'), "$.eliminated[1]"),
    "an id with a newline": (named('"a\\nb"'), "$.eliminated[1]"),
    "an id that ends in a newline": (named('"a\\n"'), "$.eliminated[1]"),
    "an id with NUL": (named('"a\\u0000"'), "$.eliminated[1]"),
    "an id with an escape sequence": (named('"\\u001b[31ma"'), "$.eliminated[1]"),
    "an id with a C1 code": (named('"a\\u0085"'), "$.eliminated[1]"),
    "an id with a line separator": (named('"a\\u2028b"'), "$.eliminated[1]"),
    "an id of a megabyte": (named(f'"{MEGABYTE}"'), "$.eliminated[1]"),
    "an id of 513 characters": (named(f'"{"x" * 513}"'), "$.eliminated[1]"),
    "another verb": (("{" + GOOD + ', "verb": "REQUEST_TERMINATION"}').encode(), "$.verb"),
    "a verb that is no text": (("{" + GOOD + ', "verb": 1}').encode(), "$.verb"),
    "another session": (("{" + GOOD + ', "session_id": "other"}').encode(), "$.session_id"),
    "a session that is no text": (("{" + GOOD + ', "session_id": ["x"]}').encode(), "$.session_id"),
}


@pytest.fixture(scope="module")
def victim(http: httpx.Client) -> str:
    return declare(http)


@pytest.mark.parametrize("defect", BODIES)
def test_a_hostile_body_is_refused_with_its_place_and_the_ledger_stays(
    defect: str, http: httpx.Client, victim: str
) -> None:
    body, path = BODIES[defect]
    before = head(http, victim)
    answer = http.post(f"/v1/sessions/{victim}/eliminate", content=body, headers=JSON)
    error = error_of(answer, 400, Code.INVALID_REQUEST)
    assert error["details"]["path"] == path
    assert head(http, victim) == before


DECLARATIONS: dict[str, tuple[dict[str, object], str]] = {
    "no hypotheses": ({"hypotheses": []}, "$.hypotheses"),
    "a hypothesis with a newline": ({"hypotheses": ["a", "b\n"]}, "$.hypotheses[1]"),
    "a hypothesis that is a number": ({"hypotheses": [1]}, "$.hypotheses[0]"),
    "a closed option": ({"options": {"unknown_hypotheses": "explode"}}, "$.options.unknown_hypotheses"),
    "an unknown option": ({"options": {"force": True}}, "$.options.force"),
    "an ontology that is text": ({"ontology": "v1"}, "$.ontology"),
    "an ontology with a gap": (
        {"ontology": {**ONTOLOGY_JSON, "causal_graph_ref": ""}},
        "$.ontology.causal_graph_ref",
    ),
    "metadata that is a list": ({"metadata": []}, "$.metadata"),
    "an id of one's own": ({"session_id": "mine"}, "$.session_id"),
}


@pytest.mark.parametrize("defect", DECLARATIONS)
def test_a_hostile_declaration_makes_no_session(defect: str, http: httpx.Client) -> None:
    changed, path = DECLARATIONS[defect]
    newest = declare(http)
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": ["a"], **changed}
    error = error_of(http.post("/v1/sessions", json=body), 400, Code.INVALID_REQUEST)
    assert error["details"]["path"] == path
    assert http.get("/v1/sessions", params={"cursor": newest}).json()["sessions"] == []


def cites(*named: dict[str, str]) -> dict[str, object]:
    """An elimination that rests on this."""
    said = {"source_id": "s", "observation_id": "o", "eliminated": ["a"], "justification": {}}
    return {**said, "cites": list(named)}


OTHERS: dict[str, tuple[str, dict[str, object], str]] = {
    "a negative obligation": (
        "enter_obligation",
        {"obligation_id": "o", "min_total_eliminations": -1},
        "$.min_total_eliminations",
    ),
    "half an obligation": (
        "enter_obligation",
        {"obligation_id": "o", "min_total_eliminations": 1.5},
        "$.min_total_eliminations",
    ),
    "an obligation of text": (
        "enter_obligation",
        {"obligation_id": "o", "min_total_eliminations": "1"},
        "$.min_total_eliminations",
    ),
    "a true obligation": (
        "enter_obligation",
        {"obligation_id": "o", "min_total_eliminations": True},
        "$.min_total_eliminations",
    ),
    "an exit from elsewhere": ("request_exit", {"obligation_id": "p"}, "$.obligation_id"),
    "a context of text": ("request_exit", {"context": "now"}, "$.context"),
    "force at the top": ("request_termination", {"force": True}, "$.force"),
    "a context of null": ("request_termination", {"context": None}, "$.context"),
    "no conclusion": ("declare_conclusion", {}, "$.conclusion_id"),
    "nothing to imagine away": ("counterfactual", {}, "$.without"),
    "a source that never spoke": (
        "counterfactual",
        {"without": {"source_ids": ["nobody"]}},
        "$.without.source_ids[0]",
    ),
    "a principal who never spoke": (
        "counterfactual",
        {"without": {"principals": ["agent://nobody"]}},
        "$.without.principals[0]",
    ),
    "a citation of two things": ("eliminate", cites({"call": "c", "run": "r"}), "$.cites[0]"),
    "a citation of nothing": ("eliminate", cites({"call": "c"}, {}), "$.cites[1]"),
    "no citation": ("eliminate", cites(), "$.cites"),
    "too many citations": ("eliminate", cites(*[{"call": "c"}] * 17), "$.cites"),
    "one source instead of a list": (
        "counterfactual",
        {"without": {"source_ids": "s"}},
        "$.without.source_ids",
    ),
}


@pytest.mark.parametrize("defect", OTHERS)
def test_other_verbs_refuse_what_they_cannot_read(defect: str, http: httpx.Client, victim: str) -> None:
    name, body, path = OTHERS[defect]
    before = head(http, victim)
    answer = http.post(url(BY_NAME[name], victim), json=body)
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == path
    assert head(http, victim) == before


def test_what_is_merely_unusual_is_accepted_and_comes_back_unchanged(http: httpx.Client) -> None:
    odd = {
        "deep": json.loads(nested(60)),
        "text": "\u202e<script>\u0000\U0001f600 e\u0301",
        "numbers": [0, -0.5, 9007199254740991, 6.02e23, 5e-324, 1.5e300],
        "": {"": ""},
    }
    ids = ["adapter://x/y?z=%2F#f", "é\U0001f600", " ", "'; DROP TABLE sessions; --", "x" * 512]
    session_id = declare(http, ids)
    body = {**ELIMINATE, "eliminated": ids[:2], "justification": odd}
    answer = http.post(f"/v1/sessions/{session_id}/eliminate", json=body)
    assert answer.json()["applied_eliminated"] == sorted(ids[:2])
    entry = http.get(f"/v1/sessions/{session_id}/audit").json()["events"][1]
    assert entry["payload"]["justification"] == odd
    assert http.get(f"/v1/sessions/{session_id}/audit/verify").json()["ok"] is True


def test_a_body_may_repeat_what_the_path_says(http: httpx.Client) -> None:
    session_id = declare(http)
    root = f"/v1/sessions/{session_id}"
    repeated = {**ELIMINATE, "session_id": session_id, "verb": "ELIMINATE"}
    assert http.post(f"{root}/eliminate", json=repeated).status_code == 200
    http.post(f"{root}/obligations", json={"obligation_id": "o", "min_total_eliminations": 0})
    leave = {"session_id": session_id, "obligation_id": "o", "verb": "REQUEST_EXIT"}
    assert http.post(f"{root}/obligations/o/exit", json=leave).json()["approved"] is True


def test_an_empty_body_is_an_object_without_fields(http: httpx.Client) -> None:
    session_id = declare(http)
    answer = http.post(f"/v1/sessions/{session_id}/terminate")
    assert answer.json()["approved"] is False
    chunked = http.post(f"/v1/sessions/{session_id}/terminate", content=iter([b"", b""]))
    assert chunked.json()["approved"] is False


# case: (where it is posted, body, message, path)
CLOSED_SETS: dict[str, tuple[str, object, str, str]] = {
    "an unknown tag": (
        "proposals",
        {"source": "s", "candidates": [{"kind": "call"}]},
        "`call` is not one of delta, tool_call",
        "$.candidates[0].kind",
    ),
    "no tag": (
        "proposals",
        {"source": "s", "candidates": [{"tool": "t"}]},
        "object missing required field `kind`; it must be one of delta, tool_call",
        "$.candidates[0].kind",
    ),
    "an unknown template": (
        "experiments",
        {"spec": {"claim_id": "c", "template": "bootstrap"}},
        f"`bootstrap` is not one of {', '.join(sorted(PARAMS))}",
        "$.spec.template",
    ),
    "a field that is nearly right": (
        "eliminate",
        {**ELIMINATE, "eliminate": []},
        "unknown field `eliminate`; known: `eliminated`, `verb`, `source_id`, `observation_id`, ",
        "$.eliminate",
    ),
    "another verb": (
        "eliminate",
        {**ELIMINATE, "verb": "REMOVE"},
        "`REMOVE` is not `ELIMINATE`",
        "$.verb",
    ),
}


@pytest.mark.parametrize("case", CLOSED_SETS)
def test_what_is_in_no_closed_set_is_told_what_is(case: str, http: httpx.Client, victim: str) -> None:
    place, body, message, path = CLOSED_SETS[case]
    answer = http.post(f"/v1/sessions/{victim}/{place}", json=body)
    error = error_of(answer, 400, Code.INVALID_REQUEST)
    assert error["details"] == {"path": path}
    assert error["message"].startswith(message), error["message"]
