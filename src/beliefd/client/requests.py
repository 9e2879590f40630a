"""A request before any transport, and what comes back of it, read."""

from typing import Any, Final, Generic, TypedDict, cast
from urllib.parse import quote

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.operation import A, Operation

DECODER: Final = msgspec.json.Decoder()
_PLAIN: Final = "".join(chr(code) for code in range(33, 127) if chr(code) != "%")


class Request(Struct, Generic[A], frozen=True):
    """An operation with its arguments."""

    operation: Operation[A]
    path: dict[str, str] = {}
    query: dict[str, str] = {}
    body: Any = None
    if_match: str | None = None
    key: str | None = None
    notes: str | None = None

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
        if self.notes is not None:
            headers["Audit-Notes"] = _written(self.notes)
        return headers

    @property
    def content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return msgspec.json.encode(self.body)


class Conditions(TypedDict, total=False):
    """Arguments that every command takes: the head it expects, a key under which it happens once, and notes
    that stand in its record."""

    if_match: str | None
    idempotency_key: str | None
    notes: str | None


class PageOfClaim(TypedDict, total=False):
    """Arguments of all that lists something of one session, perhaps of one claim only."""

    claim_id: str | None
    cursor: str | None
    limit: int | None


def command(
    operation: Operation[A],
    path: dict[str, str],
    body: Any,
    *,
    if_match: str | None = None,
    idempotency_key: str | None = None,
    notes: str | None = None,
) -> Request[A]:
    return Request(operation, path, {}, body, if_match, idempotency_key, notes)


def _written(notes: str) -> str:
    """Notes as a header holds them: what is not printable ASCII is percent-encoded, and `%` itself."""
    try:
        return quote(notes, safe=_PLAIN)
    except UnicodeEncodeError:
        raise invalid("lone surrogates are not text", "Audit-Notes") from None


def _segment(value: str) -> str:
    # A path of `..` would be taken for a step upwards on its way; encoded dots are just an id.
    return quote(value, safe="").replace(".", "%2E")


def given(**values: Any) -> dict[str, Any]:
    """The arguments that were given: None stands for what the server fills in by itself."""
    return {name: value for name, value in values.items() if value is not None}


def query(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in given(**values).items()}


def decoded(operation: Operation[A], data: bytes) -> A:
    """The typed answer; of a stream, its bytes or all its lines."""
    answer: Any = data
    if operation.answer is not bytes:
        lines = bool(operation.stream)
        answer = DECODER.decode_lines(data) if lines else msgspec.json.decode(data, type=operation.answer)
    return cast(A, answer)


def read_answer(operation: Operation[A], url: str, status: int, data: bytes) -> A:
    """The typed answer of whatever listens at `url`, which may be no server of ours at all."""
    if not is_answer(status):
        raise error_from(status, data)
    try:
        return decoded(operation, data)
    except msgspec.MsgspecError as error:
        raise no_server(url, f"it answers `{operation.name}` with something else ({error})") from None


def is_answer(status: int) -> bool:
    """Our servers send nobody elsewhere: a redirection is no answer."""
    return 200 <= status < 300


def no_server(url: str, reason: str) -> BeliefdError:
    return BeliefdError(
        Code.INTERNAL, f"this is not a beliefd server, or one of another version: `{url}`: {reason}"
    )


def error_from(status: int, data: bytes) -> BeliefdError:
    """Read an error answer; whatever is not one of ours becomes INTERNAL with the status."""
    unexpected = (
        f"this is not a beliefd server, or something stands before it: unexpected answer with status {status}"
    )
    try:
        body = msgspec.json.decode(data)["error"]
        return BeliefdError(Code(body["code"]), body["message"], body.get("details"))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return BeliefdError(Code.INTERNAL, unexpected)


def page_of(
    operation: Operation[A],
    session_id: str,
    *,
    claim_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Request[A]:
    """One page of what a session holds about a claim, or about all."""
    asked = query(claim_id=claim_id, cursor=cursor, limit=limit)
    return Request(operation, {"session_id": session_id}, asked)
