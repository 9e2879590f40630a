"""One call of a tool: judged, run at most once, reported, answered."""

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.methods import is_input_required
from msgspec import Struct
from pydantic import ValidationError

from beliefd import tracing
from beliefd.kernel.errors import BeliefdError
from beliefd.mcp.answers import (
    Result,
    head_of,
    not_run,
    outcome_of,
    refused,
    size_of,
    tool_waits,
    uncertain,
)
from beliefd.mcp.conversation import Conversation
from beliefd.mcp.judging import OPEN, Judgement, Proposed, Waiting
from beliefd.mcp.process import TOO_LARGE
from beliefd.mcp.reports import Unrecorded
from beliefd.mcp.routes import Route
from beliefd.mcp.upstream import Gone, words

log = logging.getLogger("beliefd.mcp")
JOIN_KEYS: Final = ("beliefd/joinKey", "claudecode/toolUseId", "callId")
"""Where clients say which call of their model this is; hooks know it by the same key."""
KEY_LENGTH: Final = 200
WAIT_SECONDS: Final = 30
DECIDE_SECONDS: Final = 30
NOT_KNOWN: Final = frozenset(
    {types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED, types.INTERNAL_ERROR, TOO_LARGE}
)
"""Errors after which nobody can say whether the tool has run. All others are the tool's own answer."""


class Caller(Struct, frozen=True):
    """Who makes a call, under which id, and how it hears how far the call is, if it wants to."""

    request_id: types.RequestId | None
    meta: Mapping[str, Any] | None
    session: ServerSession
    progress: ProgressFnT | None


async def call_tool(talk: Conversation, caller: Caller, name: str, arguments: dict[str, Any]) -> Result:
    """INVARIANT: whatever fails before the verdict ends in a refusal, and nothing is sent upstream."""
    if talk.busy >= talk.config.limits.concurrent_calls:
        return refused(
            "beliefd: too many calls at once; try again when others have ended", decision="refused"
        )
    talk.busy += 1
    try:
        with tracing.carrying(caller.meta), _asked_for():
            return await _judged(talk, caller, name, arguments)
    finally:
        talk.busy -= 1
        talk.used_at = time.monotonic()


def _asked_for() -> AbstractContextManager[tracing.Span]:
    """The span of a call, where its client says that it belongs; what it leads to is inside."""
    return tracing.span(
        "tools/call", {"mcp.method.name": "tools/call"}, parent=tracing.carried(), kind="server"
    )


def _upstream_span(proposed: Proposed, judgement: Judgement) -> AbstractContextManager[tracing.Span]:
    said: dict[str, str | int | bool] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": proposed.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": judgement.call_id or "",
        "beliefd.session.id": proposed.session_id,
        "beliefd.upstream": proposed.upstream,
    }
    return tracing.span(f"execute_tool {proposed.tool}", said, kind="client")


async def _judged(talk: Conversation, caller: Caller, name: str, arguments: dict[str, Any]) -> Result:
    try:
        route = await talk.route(name)
        if route is None:
            return refused(
                f"beliefd: there is no tool `{name}` here", decision="refused", code="UNKNOWN_TOOL"
            )
        if isinstance(route, Waiting):
            return tool_waits(route)
        proposed = await _proposed(talk, caller, route, arguments)
        await talk.reports.settled(proposed.session_id)
        judgement = await _decided(talk, caller, proposed)
    except BeliefdError as error:
        return refused(
            f"beliefd refused this call: {error.message}", decision="refused", code=error.code.value
        )
    except (Gone, Unrecorded, TimeoutError, OSError, MCPError) as error:
        return refused(f"beliefd refused this call: {words(error)}", decision="refused")
    if judgement.seconds is None:
        return not_run(judgement, proposed.unannounced)
    return await _run(talk, caller, route, proposed, judgement)


async def _proposed(talk: Conversation, caller: Caller, route: Route, arguments: dict[str, Any]) -> Proposed:
    key = announced_key(caller.meta)
    session_id = None if key is None else await talk.judge.session_of(key)
    unannounced = key is not None and session_id is None
    if key is None:
        number = caller.request_id if talk.numbered else None
        key = f"{talk.key}:{uuid.uuid4().hex if number is None else f'{type(number).__name__}:{number}'}"
    if session_id is None:
        session_id = await talk.session_id()
    return Proposed(session_id, route.upstream, route.tool.name, arguments, key[:KEY_LENGTH], unannounced)


def announced_key(meta: Mapping[str, Any] | None) -> str | None:
    """The key that the client gave this call, if it is one: it says which call this is, not who makes it."""
    for name in JOIN_KEYS:
        value = (meta or {}).get(name)
        if (
            isinstance(value, str)
            and 0 < len(value) <= KEY_LENGTH
            and value.isprintable()
            and value.isascii()
        ):
            return value
    return None


async def _decided(talk: Conversation, caller: Caller, proposed: Proposed) -> Judgement:
    """The verdict. A client that leaves while it is made leaves no permit behind that nobody has used."""
    judgement = await _asked(talk, proposed)
    if judgement.seconds is None and judgement.approval_id and talk.config.hold_seconds:
        judgement = await _held(talk, caller, proposed, judgement)
    try:
        await anyio.lowlevel.checkpoint_if_cancelled()
    except asyncio.CancelledError:
        if judgement.seconds is not None:
            await talk.reports.note(judgement, "error", "cancelled before it was sent")
        raise
    return judgement


async def _held(talk: Conversation, caller: Caller, proposed: Proposed, judgement: Judgement) -> Judgement:
    """Wait for a person for as long as is configured; what is approved is judged again, and may begin.

    INVARIANT: only the inbox's own word counts, whatever the client says.
    """
    hold, approval = talk.config.hold_seconds, judgement.approval_id or ""
    until = time.monotonic() + hold
    pointing = asyncio.create_task(_point_at_inbox(talk, caller, judgement))
    try:
        while (left := until - time.monotonic()) > 0:
            if caller.progress is not None:
                await caller.progress(hold - left, hold, "waits for a person")
            status, approval = await talk.judge.wait(approval, min(left, WAIT_SECONDS))
            if status == "approved":
                return await _asked(talk, proposed)
            if status not in OPEN:
                told = (f"a person was asked: {status}",)
                return Judgement(session_id=judgement.session_id, code=status.upper(), reasons=told)
    finally:
        pointing.cancel()
    return judgement


async def _asked(talk: Conversation, proposed: Proposed) -> Judgement:
    with anyio.fail_after(DECIDE_SECONDS, shield=True):
        return await talk.judge.propose(proposed)


async def _point_at_inbox(talk: Conversation, caller: Caller, judgement: Judgement) -> None:
    """Show people where to decide, where the client can. What they answer here decides nothing."""
    asks = caller.session.client_capabilities and caller.session.client_capabilities.elicitation
    url = judgement.inbox_url or ""
    if not (talk.config.point_at_inbox and asks and asks.url and caller.session.can_send_request):
        return
    if url.startswith(("http://", "https://")):
        message = f"A call waits for a person (approval {judgement.approval_id}). Decide in the inbox."
        try:
            await caller.session.elicit_url(message, url, str(judgement.approval_id), caller.request_id)
        except Exception as error:
            log.info("the client was not shown the inbox: %s", words(error))


async def _run(
    talk: Conversation, caller: Caller, route: Route, proposed: Proposed, judgement: Judgement
) -> Result:
    """INVARIANT: one permit, one message upstream, one report; what is not known is reported as unknown."""
    seconds = min(judgement.seconds or 0, talk.config.limits.call_seconds)
    try:
        session = talk.upstream(proposed.upstream)
        with _upstream_span(proposed, judgement) as span:
            try:
                result = await session.call(
                    proposed.tool,
                    proposed.arguments,
                    seconds,
                    caller.progress,
                    caller.session.protocol_version,
                )
            except BaseException as error:
                span.fail(type(error).__name__)
                raise
    except asyncio.CancelledError:
        await talk.reports.note(judgement, "unknown", "cancelled by the client while it ran")
        raise
    except Gone as error:
        await talk.reports.note(judgement, "error", f"it was not sent: {words(error)}")
        return refused(f"beliefd: the call was not sent: {words(error)}", call_id=judgement.call_id)
    except MCPError as error:
        return await _failed(talk, judgement, error)
    except Exception as error:  # whatever it is, the message may have arrived
        why = "its answer is no result" if isinstance(error, ValidationError) else words(error)
        await talk.reports.note(judgement, "unknown", why)
        return uncertain(judgement, why)
    if is_input_required(result):
        await talk.reports.note(judgement, "error", "the tool asks for input; it gets none")
        return refused("beliefd: the tool asks for input, which is not passed on", call_id=judgement.call_id)
    return await _answered(talk, route, judgement, result)


async def _failed(talk: Conversation, judgement: Judgement, error: MCPError) -> Result:
    if error.code in NOT_KNOWN:
        await talk.reports.note(judgement, "unknown", words(error))
        return uncertain(judgement, words(error))
    await talk.reports.note(judgement, "error", words(error))
    return refused(f"the tool failed: {words(error)}", call_id=judgement.call_id)


async def _answered(talk: Conversation, route: Route, judgement: Judgement, result: Result) -> Result:
    """The result as it came, while it is reported; of a large one a head, once the whole is kept."""
    outcome, most = outcome_of(result), talk.config.limits.result_bytes
    size = size_of(result)
    if size <= most:
        talk.reports.begin(judgement, outcome)
        return result
    try:
        kept = await talk.reports.make(judgement, outcome)
    except Unrecorded as error:
        return uncertain(judgement, f"it ran, but its result could not be recorded: {error}")
    return head_of(result, size, most, kept, route.tool.output_schema is not None)
