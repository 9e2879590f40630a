"""Calls of tools that are answered beside the SDK, whose server takes several tasks and validations for each.

INVARIANT: only what is a well made call of a client session that has begun is answered here, and what ends
such a call. All else goes to the SDK, which knows how it is refused.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types import PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from beliefd.mcp.answers import Result
from beliefd.mcp.calls import Caller, call_tool
from beliefd.mcp.conversation import Conversation
from beliefd.mcp.frames import (
    CALL,
    Called,
    Frame,
    called_in,
    key_of,
    progress_written,
    written,
)

log = logging.getLogger("beliefd.mcp")


def call_of(talk: Conversation | None, frame: Frame) -> Called | None:
    """The call that a message is, if it is one that can be answered here."""
    if talk is None or talk.front is None or (called := called_in(frame)) is None:
        return None
    if talk.front.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return called if talk.begun and PROTOCOL_VERSION_META_KEY not in called.meta else None
    route = classify_inbound_request({"method": CALL, "params": {"name": called.name, "_meta": called.meta}})
    return called if isinstance(route, InboundModernRoute) else None


async def answered(
    talk: Conversation,
    server: Server[Any],
    frame: Frame,
    called: Called,
    tell: Callable[[bytes], Awaitable[None]],
) -> bytes | None:
    """The answer as it is sent; None if the client has ended the call. It is told how far the call is."""
    assert frame.id is not None  # noqa: S101 - it is a request
    assert talk.front is not None  # noqa: S101 - its session has begun
    caller = Caller(frame.id, called.meta, talk.front, _teller(called.token, tell))
    with talk.running(key_of(frame.id)):
        try:
            result = await call_tool(talk, caller, called.name, called.arguments or {})
            return written(id=frame.id, result=shaped(server, talk.front.protocol_version, result))
        except MCPError as error:
            return failed(frame.id, error.error)
        except Exception:  # a defect must not leave the client waiting for ever
            log.exception("a call was not answered")
            return failed(frame.id, types.ErrorData(code=types.INTERNAL_ERROR, message="internal error"))
    return None


def _teller(token: types.RequestId | None, tell: Callable[[bytes], Awaitable[None]]) -> ProgressFnT | None:
    """How the client hears of progress, if it has said under which name."""
    if token is None:
        return None

    async def told(progress: float, total: float | None, message: str | None) -> None:
        await tell(progress_written(token, progress, total, message))

    return told


def failed(request_id: types.RequestId, error: types.ErrorData) -> bytes:
    return written(id=request_id, error=error.model_dump(exclude_none=True))


def shaped(server: Server[Any], version: str, result: Result) -> Result:
    """A result with what the newer revisions want said in each."""
    if version not in MODERN_PROTOCOL_VERSIONS:
        return result
    meta = {SERVER_INFO_META_KEY: server.server_info_stamp, **(result.get("_meta") or {})}
    return {"resultType": "complete", **result, "_meta": meta}
