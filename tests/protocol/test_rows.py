"""Every row says all that is made from it, and every way to call it is there."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from beliefd.client import AsyncCalls, Calls
from beliefd.http.openapi import openapi_document
from beliefd.protocol.operation import Operation
from beliefd.protocol.operations import BY_NAME, OPERATIONS, VOCABULARIES
from beliefd.protocol.wire import convert

CLI = Path(__file__).parents[2] / "src" / "beliefd" / "cli"
WITHOUT_COMMAND = {
    "batch": "a shell that has many verbs to say runs many commands",
    "give_grant": "consent in advance is given by the program that would otherwise ask",
    "list_grants": "see `give_grant`",
    "revoke_grant": "see `give_grant`",
    "search_audit": "`audit who` reads whole ledgers, of stores and of exported files alike",
    "hook_event": "`beliefd hook CLIENT` says it, and imports nothing of the command line",
    "show_join": "a gateway asks for it, by a key that a hook has told it",
    "prove_policy": "`beliefd policy prove` works on files, without a server",
    "list_tokens": "`beliefd token` opens the store: the first token is made before anybody may ask",
    "create_token": "see `list_tokens`",
    "revoke_token": "see `list_tokens`",
}
every = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)


def test_no_two_rows_share_a_name_or_a_route() -> None:
    assert len(BY_NAME) == len(OPERATIONS)
    assert len({(row.method, row.path) for row in OPERATIONS}) == len(OPERATIONS)


@every
def test_a_row_has_a_tag_that_is_described_in_the_document(operation: Operation) -> None:
    described = {tag["name"]: tag["description"] for tag in openapi_document()["tags"]}
    assert described[operation.tag]
    assert described.keys() == {row.tag for row in OPERATIONS} | {"server"}


def test_a_tag_is_the_module_that_the_rows_are_in() -> None:
    for vocabulary in VOCABULARIES:
        for row in vocabulary.rows():
            assert getattr(vocabulary, row.name) is row
            assert f"beliefd.protocol.{row.tag}" == vocabulary.__module__


@every
def test_a_row_has_a_summary_in_the_style_of_a_title(operation: Operation) -> None:
    assert operation.summary[:1].isupper()
    assert not operation.summary.endswith(".")


@every
def test_a_row_says_what_crosses_the_wire(operation: Operation) -> None:
    assert operation.takes_body == (operation.body is not None or bool(operation.content))
    is_file = operation.answer is bytes
    assert (bool(operation.stream) or is_file) == (operation.media != "application/json")
    assert operation.answer is not None
    assert operation.writes or not (operation.if_match or operation.idempotency_key)


@every
def test_a_body_has_an_example_that_can_be_read(operation: Operation) -> None:
    assert (operation.example is not None) == operation.takes_body
    if operation.body is not None:
        in_path = {name: "x" for name in operation.path_names if name in operation.body.__struct_fields__}
        convert({**in_path, **operation.example}, operation.body)


@every
def test_an_operation_is_a_method_of_all_clients(operation: Operation) -> None:
    for kind in (Calls, AsyncCalls):
        assert getattr(kind, operation.name).__doc__, operation.name


@every
def test_an_operation_has_a_command_or_a_reason_for_none(operation: Operation) -> None:
    assert (operation.name in said_on_the_command_line()) != (operation.name in WITHOUT_COMMAND)


@cache
def said_on_the_command_line() -> set[str]:
    """Methods that commands call, and operations that they name."""
    said: set[Any] = set()
    for path in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                said.add(node.attr)
            elif isinstance(node, ast.Constant):
                said.add(node.value)
    return said
