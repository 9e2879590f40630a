"""What the tests of the surface say over and over."""

from typing import Any

import httpx

from beliefd.kernel.errors import Code
from beliefd.protocol.operations import Operation
from beliefd.testing.world import ONTOLOGY_JSON

HYPOTHESES = ["a", "b", "c", "d", "e", "f"]
ELIMINATE = {"source_id": "s", "observation_id": "o", "eliminated": ["a"], "justification": {}}
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


def declare(http: httpx.Client, hypotheses: list[str] | None = None, **rest: Any) -> str:
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": hypotheses or HYPOTHESES, **rest}
    answer = http.post("/v1/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["session_id"])


def head(http: httpx.Client, session_id: str) -> str:
    """The ETag of a session: the id of its last event."""
    return http.get(f"/v1/sessions/{session_id}?survivors_limit=0").headers["etag"]


def eliminate(http: httpx.Client, session_id: str, *names: str, **headers: str) -> httpx.Response:
    body = {**ELIMINATE, "eliminated": list(names)}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(f"/v1/sessions/{session_id}/eliminate", json=body, headers=given)


def url(operation: Operation, session_id: str, **rest: str) -> str:
    """The operation's path; what is not given is something that does not exist."""
    values = {"session_id": session_id, "hypothesis": "a", "client": "claude-code", **rest}
    names = [part.strip("{}") for part in operation.path.split("/") if part.startswith("{")]
    return operation.path.format(**{name: values.get(name, "o") for name in names})


def error_of(answer: httpx.Response, status: int, code: Code) -> dict[str, Any]:
    """The error of an answer, after a look at everything that all errors have in common."""
    assert answer.status_code == status, (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return check_error(answer.json(), code)


def check_error(body: Any, code: Code) -> dict[str, Any]:
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) <= {"code", "message", "details"}
    assert error["code"] == code, error
    message = error["message"]
    assert isinstance(message, str)
    assert 0 < len(message) < 2000
    assert not message.endswith("."), message
    assert "Traceback" not in message
    assert 'File "' not in message
    assert isinstance(error.get("details", {}), dict)
    return error
