"""beliefd itself as an MCP server: the agent's verbs as tools, and what it may read as resources."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from beliefd import __version__, tracing
from beliefd.client.asynchronous import AsyncCalls
from beliefd.kernel.errors import BeliefdError
from beliefd.mcp.answers import refused
from beliefd.mcp.verbs import is_usual, verbs
from beliefd.protocol.operation import Operation

Context = ServerRequestContext[Any, Any]
JSON: Final = "application/json"
INBOX: Final = "beliefd://inbox"
SNAPSHOT: Final = "beliefd://sessions/{session_id}/snapshot"
AUDIT: Final = "beliefd://sessions/{session_id}/audit"
TEMPLATES: Final = {
    SNAPSHOT: ("snapshot", "What a session believes now"),
    AUDIT: ("audit", "What happened in a session, newest entries last"),
}
INSTRUCTIONS: Final = (
    "beliefd decides what may become belief, and records why. Propose; what it refuses names its reason. "
    "What waits for a person is in the inbox, and only people decide there."
)


def own_server(
    calls: AsyncCalls, only: frozenset[str] = frozenset(), *, every: bool = False, schemas: bool = False
) -> Server[Any]:
    """`only` names the vocabularies whose verbs are offered, `every` offers all; without both, the usual
    ones. With `schemas`, tools say what their answers are made of: several times as long."""
    offered = {name: verb for name, verb in verbs().items() if every or _is_offered(verb.operation, only)}
    left_out = {} if schemas else {"output_schema": None}
    listed = [verb.tool.model_copy(update=left_out) for verb in offered.values()]

    async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        with tracing.carrying(ctx.meta):
            return await called(params)

    async def called(params: types.CallToolRequestParams) -> types.CallToolResult:
        verb = offered.get(params.name)
        if verb is None:
            return _refused(f"there is no tool `{params.name}` here", code="NOT_FOUND")
        try:
            answer = await calls._send(verb.request(params.arguments or {}))
        except BeliefdError as error:
            return _refused(f"{error.code}: {error.message}", code=error.code.value, details=error.details)
        return _result(answer, verb.tool.output_schema is not None)

    async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
        inbox = types.Resource(uri=INBOX, name="inbox", description="What waits for a person", mime_type=JSON)
        return types.ListResourcesResult(resources=[inbox])

    async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
        listed = [
            types.ResourceTemplate(uri_template=uri, name=name, description=told, mime_type=JSON)
            for uri, (name, told) in TEMPLATES.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            answer = await _asked(calls, uri)
        except BeliefdError as error:
            raise MCPError(types.INVALID_PARAMS, f"{error.code}: {error.message}") from None
        text = msgspec.json.encode(answer).decode()
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)]
        )

    return Server(
        "beliefd",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )


def _is_offered(operation: Operation, only: frozenset[str]) -> bool:
    return operation.tag in only if only else is_usual(operation)


def _result(answer: Any, has_schema: bool) -> types.CallToolResult:
    """The answer as it came, as text and in a structure."""
    written = msgspec.json.encode(answer)
    content: list[types.ContentBlock] = [types.TextContent(text=written.decode())]
    structured = msgspec.json.decode(written) if has_schema else None
    return types.CallToolResult(content=content, structured_content=structured)


def _refused(words: str, **told: Any) -> types.CallToolResult:
    return types.CallToolResult.model_validate(refused(words, **told), by_name=False)


def _asked(calls: AsyncCalls, uri: str) -> Awaitable[Any]:
    if uri == INBOX:
        return calls.list_approvals()
    questions: dict[str, Callable[[str], Awaitable[Any]]] = {
        SNAPSHOT: calls.query_belief,
        AUDIT: calls.audit_trace,
    }
    for template, ask in questions.items():
        found = re.fullmatch(template.replace("{session_id}", "([^/]+)"), uri)
        if found:
            return ask(found[1])
    raise MCPError(types.INVALID_PARAMS, f"there is no resource `{uri}` here")
