"""Results that are passed on as they came are those that the SDK's tables leave as they are."""

import itertools
from typing import Any

import pytest
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from beliefd.mcp.answers import as_plain
from beliefd.mcp.frames import CALL
from beliefd.mcp.upstream import _form_of

REVISIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
TEXT = {"type": "text", "text": "x"}
FIELDS: dict[str, list[Any]] = {
    "content": [[TEXT], [], [TEXT, TEXT], [{**TEXT, "annotations": {}}], [{"type": "text"}], "x", None],
    "isError": [True, False, None, "no"],
    "structuredContent": [{"a": [1, None, 1e300]}, {}, [1], None],
    "_meta": [{"any": {"thing": 1}}, {}, [], None],
    "resultType": ["complete", "input_required", 1],
    "unknown": [1],
}
BARE: dict[str, Any] = {"content": [TEXT]}


def results(spoken: str) -> list[dict[str, Any]]:
    """With each field in each form, and each two of them together."""
    bare = {**BARE, **({"resultType": "complete"} if spoken in MODERN_PROTOCOL_VERSIONS else {})}
    one = [{name: value} for name, values in FIELDS.items() for value in values]
    pairs = [{**left, **right} for left, right in itertools.combinations(one, 2)]
    return [BARE, {}, *({**bare, **more} for more in [*one, *pairs])]


def by_the_tables(result: dict[str, Any], spoken: str, revision: str) -> Any:
    told = methods.serialize_server_result(CALL, spoken, result)
    if methods.is_input_required(told) or _form_of(spoken) is _form_of(revision):
        return told
    return methods.serialize_server_result(CALL, revision, {"resultType": "complete", **told})


@pytest.mark.parametrize("spoken", REVISIONS)
@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_passed_on_as_it_came_is_what_the_tables_make_of_it(spoken: str, revision: str) -> None:
    passed = 0
    for result in results(spoken):
        plain = as_plain(result, spoken, revision)
        if plain is None:
            continue
        passed += 1
        try:
            assert plain == by_the_tables(result, spoken, revision), result
        except ValidationError as error:
            raise AssertionError(f"it is no result: {result}") from error
    assert passed > 10


def test_what_is_no_result_of_texts_is_left_to_the_tables() -> None:
    image = {"content": [{"type": "image", "data": "", "mimeType": "x"}]}
    others: tuple[Any, ...] = ([], "x", None, image)
    for result in others:
        assert as_plain(result, "2025-11-25", "2025-11-25") is None
