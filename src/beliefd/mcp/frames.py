"""Messages of the protocol as far as we read them ourselves: calls of tools, their answers, their end."""

import asyncio
from typing import Any, Final

import msgspec
from mcp.shared.dispatcher import coerce_request_id
from mcp_types import RequestId
from msgspec import Raw, Struct, field

CALL: Final = "tools/call"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
ABSENT: Final = Raw(b"")
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Frame(Struct, frozen=True, gc=False):
    """A message whose parts are not read yet."""

    jsonrpc: str
    method: str = ""
    id: RequestId | None = None
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class Called(Struct, frozen=True):
    """What a call of a tool asks for."""

    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] = field(name="_meta", default_factory=dict)

    @property
    def token(self) -> RequestId | None:
        """Under which the client wants to hear how far it is."""
        given = self.meta.get("progressToken")
        return given if isinstance(given, str | int) and not isinstance(given, bool) else None


class Told(Struct, frozen=True, rename="camel"):
    """How far a request is."""

    progress: float
    progress_token: RequestId
    total: float | None = None
    message: str | None = None


class _Cancelled(Struct, frozen=True, rename="camel"):
    request_id: RequestId


_frame = msgspec.json.Decoder(Frame)
_called = msgspec.json.Decoder(Called)
_cancelled = msgspec.json.Decoder(_Cancelled)


def frame_in(line: bytes) -> Frame | None:
    """None for what is no single message, or none that is well made."""
    try:
        found = _frame.decode(line)
    except UNREADABLE:
        return None
    return found if found.jsonrpc == "2.0" else None


def called_in(frame: Frame) -> Called | None:
    """The call that a message is; None if it is none, or none that is well made."""
    if frame.method != CALL or frame.id is None:
        return None
    try:
        return _called.decode(frame.params)
    except UNREADABLE:
        return None


def cancelled_in(frame: Frame) -> RequestId | None:
    """The request that a message ends, as `key_of` writes it."""
    if frame.method != CANCELLED or frame.id is not None:
        return None
    try:
        return key_of(_cancelled.decode(frame.params).request_id)
    except UNREADABLE:
        return None


def key_of(request_id: RequestId) -> RequestId:
    """Clients that write a number as a text when they end a request mean the same one."""
    return coerce_request_id(request_id)


def written(**message: Any) -> bytes:
    """A message as it is sent. None as a total or a text of progress is left out."""
    return msgspec.json.encode({"jsonrpc": "2.0", **message})


def progress_written(
    token: RequestId, progress: float, total: float | None = None, message: str | None = None
) -> bytes:
    told = {"progressToken": token, "progress": progress, "total": total, "message": message}
    return written(method=PROGRESS, params={name: one for name, one in told.items() if one is not None})


def write_line(pipe: asyncio.StreamWriter, message: bytes) -> None:
    """INVARIANT: a message goes out as a whole: others write to the same pipe."""
    if not pipe.is_closing():
        pipe.write(message + b"\n")
