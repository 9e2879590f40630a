"""One error shape, whatever operation and whatever goes wrong."""

import httpx
import pytest

from beliefd.http.errors import error_reply
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Role
from beliefd.protocol.operations import OPERATIONS, Operation
from tests.http.calls import error_of, url
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

NOWHERE = "01990b6e-0000-7000-8000-000000000000"
SESSIONS = [operation for operation in OPERATIONS if "{session_id}" in operation.path]
WITH_BODY = [operation for operation in OPERATIONS if operation.takes_body]
WITH_JSON = [operation for operation in WITH_BODY if operation.body is not None]

every = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)


@every
def test_without_a_token_nobody_is_let_in(
    operation: Operation, guarded: tuple[ServerProcess, Tokens]
) -> None:
    server, _ = guarded
    answer = httpx.request(operation.method, server.url + url(operation, NOWHERE), verify=False)
    error_of(answer, 401, Code.UNAUTHORIZED)
    assert answer.headers["www-authenticate"] == "Bearer"


@every
def test_pages_of_other_sites_are_turned_away(operation: Operation, http: httpx.Client) -> None:
    foreign = {"Origin": "https://evil.example"}
    answer = http.request(operation.method, url(operation, NOWHERE), headers=foreign)
    assert error_of(answer, 403, Code.FORBIDDEN)["details"] == {"path": "Origin"}


@every
def test_a_method_that_is_not_offered_is_named_as_such(operation: Operation, http: httpx.Client) -> None:
    error_of(http.request("PATCH", url(operation, NOWHERE)), 405, Code.METHOD_NOT_ALLOWED)


@every
def test_a_query_that_is_not_known_is_named_as_such(
    operation: Operation, guarded: tuple[ServerProcess, Tokens]
) -> None:
    server, tokens = guarded
    answer = httpx.request(
        operation.method,
        server.url + url(operation, NOWHERE),
        params={"nonsense": "1"},
        json=operation.example if operation in WITH_JSON else None,
        headers={"Authorization": f"Bearer {tokens[Role.ADMIN]}"},
        verify=False,
    )
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"] == {"path": "nonsense"}


@pytest.mark.parametrize("operation", SESSIONS, ids=lambda row: row.name)
def test_a_session_that_is_not_there_is_named_as_such(
    operation: Operation, guarded: tuple[ServerProcess, Tokens]
) -> None:
    server, tokens = guarded
    admin = httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {tokens[Role.ADMIN]}"}, verify=False
    )
    with admin:
        body = operation.example if operation in WITH_JSON else None
        answer = admin.request(operation.method, url(operation, NOWHERE), json=body)
        if operation.name == "merge":  # what is to be merged is read before the session is looked for
            assert error_of(answer, 400, Code.INVALID_REQUEST)["details"]["path"] == "line 1"
            return
        assert error_of(answer, 404, Code.SESSION_NOT_FOUND)["details"] == {"path": "session_id"}


@pytest.mark.parametrize("operation", WITH_JSON, ids=lambda row: row.name)
def test_a_body_that_is_no_object_is_named_as_such(operation: Operation, http: httpx.Client) -> None:
    if Role.AGENT not in operation.roles:
        return  # turned away before its body matters
    answer = http.request(operation.method, url(operation, NOWHERE), json=["no", "object"])
    assert error_of(answer, 400, Code.INVALID_REQUEST)["details"] == {"path": "$"}


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda row: row.name)
def test_a_body_of_another_kind_is_named_as_such(
    operation: Operation, guarded: tuple[ServerProcess, Tokens]
) -> None:
    server, tokens = guarded
    headers = {"Authorization": f"Bearer {tokens[Role.ADMIN]}", "Content-Type": "text/html"}
    answer = httpx.request(
        operation.method,
        server.url + url(operation, NOWHERE),
        content="<p>hello</p>",
        headers=headers,
        verify=False,
    )
    error_of(answer, 415, Code.UNSUPPORTED_MEDIA_TYPE)


@pytest.mark.parametrize("code", Code)
def test_whatever_passes_says_when_to_try_again(code: Code) -> None:
    reply = error_reply(BeliefdError(code, "it is so"))
    assert (b"retry-after" in dict(reply.headers)) == (reply.status_code in (429, 503))
