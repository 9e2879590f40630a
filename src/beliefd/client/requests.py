"""One function an operation: arguments in, a request value out. Sync, async and embedded calls share them."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import Object, OntologyBundle
from beliefd.protocol.operations import BY_NAME, Operation

Ontology = OntologyBundle | dict[str, str]


class Request(Struct, frozen=True):
    """An operation with its arguments, before any transport."""

    operation: Operation
    path: dict[str, str] = {}
    query: dict[str, str] = {}
    body: Any = None
    if_match: str | None = None
    key: str | None = None

    @property
    def url(self) -> str:
        return self.operation.path.format(**{name: _segment(value) for name, value in self.path.items()})

    @property
    def headers(self) -> dict[str, str]:
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = self.operation.body_media
        if self.if_match is not None:
            headers["If-Match"] = f'"{self.if_match}"'
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        return headers

    @property
    def content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return msgspec.json.encode(self.body)


def _segment(value: str) -> str:
    # A path of `..` would be taken for a step upwards on its way; encoded dots are just an id.
    return quote(value, safe="").replace(".", "%2E")


def request(name: str, session_id: str | None = None, **rest: Any) -> Request:
    path = {} if session_id is None else {"session_id": session_id}
    return Request(BY_NAME[name], {**path, **rest.pop("path", {})}, **rest)


def query(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


def declare_session(
    hypotheses: Iterable[str],
    ontology: Ontology,
    options: Object | None,
    metadata: Object | None,
    key: str | None,
) -> Request:
    body = {
        "hypotheses": list(hypotheses),
        "ontology": msgspec.to_builtins(ontology),
        "options": options or {},
        "metadata": metadata or {},
    }
    return request("declare_session", body=body, key=key)


def list_sessions(cursor: str | None, limit: int | None) -> Request:
    return request("list_sessions", query=query(cursor=cursor, limit=limit))


def query_belief(
    session_id: str, at: int | None, survivors_limit: int | None, survivors_after: str | None
) -> Request:
    asked = query(at=at, survivors_limit=survivors_limit, survivors_after=survivors_after)
    return request("query_belief", session_id, query=asked)


def eliminate(
    session_id: str,
    source_id: str,
    observation_id: str,
    eliminated: Iterable[str],
    justification: Object | None,
    if_match: str | None,
    key: str | None,
) -> Request:
    body = {
        "source_id": source_id,
        "observation_id": observation_id,
        "eliminated": list(eliminated),
        "justification": justification or {},
    }
    return request("eliminate", session_id, body=body, if_match=if_match, key=key)


def enter_obligation(
    session_id: str, obligation_id: str, minimum: int, if_match: str | None, key: str | None
) -> Request:
    body = {"obligation_id": obligation_id, "min_total_eliminations": minimum}
    return request("enter_obligation", session_id, body=body, if_match=if_match, key=key)


def request_exit(
    session_id: str, obligation_id: str, context: Object | None, if_match: str | None, key: str | None
) -> Request:
    return request(
        "request_exit",
        session_id,
        path={"obligation_id": obligation_id},
        body={"context": context or {}},
        if_match=if_match,
        key=key,
    )


def declare_conclusion(
    session_id: str, conclusion_id: str, context: Object | None, if_match: str | None, key: str | None
) -> Request:
    body = {"conclusion_id": conclusion_id, "context": context or {}}
    return request("declare_conclusion", session_id, body=body, if_match=if_match, key=key)


def request_termination(
    session_id: str, context: Object | None, if_match: str | None, key: str | None
) -> Request:
    return request(
        "request_termination", session_id, body={"context": context or {}}, if_match=if_match, key=key
    )


def batch(session_id: str, commands: Sequence[Object]) -> Request:
    return request("batch", session_id, body=b"".join(msgspec.json.encode(item) + b"\n" for item in commands))


def audit_trace(session_id: str, since_event_id: str | None, limit: int | None) -> Request:
    return request("audit_trace", session_id, query=query(since_event_id=since_event_id, limit=limit))


def verify(session_id: str) -> Request:
    return request("verify", session_id)


def export(session_id: str) -> Request:
    return request("export", session_id)


def why(session_id: str, hypothesis: str) -> Request:
    return request("why", session_id, path={"hypothesis": hypothesis})


def counterfactual(session_id: str, source_ids: Iterable[str]) -> Request:
    return request("counterfactual", session_id, body={"without": {"source_ids": list(source_ids)}})


def merge(session_id: str, ledger: bytes) -> Request:
    return request("merge", session_id, body=ledger)


def import_ledger(ledger: bytes) -> Request:
    return request("import_ledger", body=ledger)


def decoded(request: Request, status: int, data: bytes) -> Any:
    """The typed answer, or the error that the server sent."""
    if status >= 400:
        raise error_from(status, data)
    kind = request.operation.answer
    return data if kind is None else msgspec.json.decode(data, type=kind)


def batch_answers(data: bytes) -> list[Object]:
    return [msgspec.json.decode(line) for line in data.splitlines()]


def error_from(status: int, data: bytes) -> BeliefdError:
    """Read an error answer; whatever is not one of ours becomes INTERNAL with the status."""
    try:
        body = msgspec.json.decode(data)["error"]
        return BeliefdError(Code(body["code"]), body["message"], body.get("details"))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return BeliefdError(Code.INTERNAL, f"unexpected answer with status {status}")


def no_address(url: str, error: Exception) -> BeliefdError:
    return invalid(f"`{url}` is no address of a server: {error}", "url")


def unreachable(url: str, error: Exception) -> BeliefdError:
    return BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot reach `{url}`: {error or type(error).__name__}")
