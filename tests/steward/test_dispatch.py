"""The table of handlers is the table of operations, and no transport knows an operation by its name."""

import ast
import inspect
from pathlib import Path

import pytest

import beliefd
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.call import Call
from beliefd.steward.dispatch import joined
from beliefd.steward.failures import STORE_FAILURES, translated, translating
from beliefd.steward.handlers.batch import LINE_VERBS
from beliefd.steward.handlers.beliefs import VERBS
from beliefd.stores.base import HeadMoved, StorageUnavailable
from beliefd.stores.memory import MemoryStore

SOURCES = Path(beliefd.__file__).parent
TRANSPORTS = (
    "embedded.py",
    *(f"http/{name}.py" for name in ("surface", "direct", "app", "bodies", "replies")),
)


def test_every_operation_has_a_handler_and_every_handler_is_an_operation() -> None:
    assert sorted(bootstrap(MemoryStore()).handlers) == sorted(BY_NAME)
    assert len(BY_NAME) == len(OPERATIONS)


def test_a_second_handler_for_an_operation_is_refused() -> None:
    async def handler(_: Call) -> None: ...

    assert joined([{"a": handler}, {"b": handler}]) == {"a": handler, "b": handler}
    with pytest.raises(TypeError, match="more than one handler for a, b"):
        joined([{"a": handler, "b": handler}, {"c": handler}, {"b": handler, "a": handler}])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_handler_streams_if_its_operation_says_so(operation: Operation) -> None:
    handler = bootstrap(MemoryStore()).handlers[operation.name]
    assert inspect.isasyncgenfunction(handler) == bool(operation.stream)
    assert inspect.iscoroutinefunction(handler) != bool(operation.stream)


@pytest.mark.parametrize("path", TRANSPORTS)
def test_no_transport_names_an_operation(path: str) -> None:
    tree = ast.parse((SOURCES / path).read_text())
    named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & set(BY_NAME)
    assert not named


def test_verbs_are_the_operations_that_are_one_command_and_answer_with_the_state_after_it() -> None:
    assert list(VERBS) == [
        "eliminate",
        "enter_obligation",
        "request_exit",
        "declare_conclusion",
        "request_termination",
        "seal_session",
        "unseal_session",
    ]
    assert LINE_VERBS == (
        "ELIMINATE",
        "ENTER_OBLIGATION",
        "REQUEST_EXIT",
        "DECLARE_CONCLUSION",
        "REQUEST_TERMINATION",
        "SEAL_SESSION",
        "UNSEAL_SESSION",
        "SUBMIT_CLAIMS",
        "PROPOSE",
    )


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (StorageUnavailable("away"), Code.STORAGE_UNAVAILABLE),
        (LedgerBroken(3, "e3", "its hash does not match"), Code.LEDGER_BROKEN),
        (HeadMoved("s"), Code.CONFLICT),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_failure_of_the_store_has_one_code_wherever_it_is_told(failure: Exception, code: Code) -> None:
    assert isinstance(failure, STORE_FAILURES)
    told = translated(failure)
    assert isinstance(told, BeliefdError)
    assert told.code is code
    with pytest.raises(BeliefdError) as raised, translating():
        raise failure
    assert raised.value.body == told.body


def test_other_errors_are_told_as_they_are() -> None:
    error = ValueError("ours")
    assert translated(error) is error
