"""Resources and prompts of the upstreams: closed unless configured; what is read is told to beliefd."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError

from beliefd.kernel.context.policy import READ_BY
from beliefd.kernel.errors import BeliefdError
from beliefd.mcp.config import opens
from beliefd.mcp.conversation import Conversation
from beliefd.mcp.upstream import PAGES, Gone, words

log = logging.getLogger("beliefd.mcp")
T = TypeVar("T")
RESOURCES, PROMPTS = READ_BY
NO_CONTEXT = "context"
"""What policy lacks, in the refusal of a server that keeps none."""


def closed(kind: str, name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"beliefd: the {kind} `{name}` is not opened by this gateway")


async def _each(
    talk: Conversation, ask: Callable[[ClientSession, Any], Awaitable[tuple[list[T], str | None]]]
) -> list[tuple[str, T]]:
    """What the upstreams list, all pages, with their names; one that lists nothing is left out."""
    found: list[tuple[str, T]] = []
    for name in talk.config.upstreams:
        params: types.PaginatedRequestParams | None = None
        for _ in range(PAGES):
            client = await talk.upstream(name).client()
            try:
                items, cursor = await ask(client.session, params)
            except MCPError as error:
                if error.code == types.METHOD_NOT_FOUND:
                    break
                raise
            found += [(name, item) for item in items]
            if not cursor or len(found) > talk.config.limits.tools:
                break
            params = types.PaginatedRequestParams(cursor=cursor)
    return found


async def resources(talk: Conversation) -> types.ListResourcesResult:
    async def ask(session: ClientSession, params: Any) -> tuple[list[types.Resource], str | None]:
        page = await session.list_resources(params=params)
        return page.resources, page.next_cursor

    listed = [one for _, one in await _each(talk, ask) if opens(talk.config.resources, str(one.uri))]
    return types.ListResourcesResult(resources=listed)


async def resource_templates(talk: Conversation) -> types.ListResourceTemplatesResult:
    async def ask(session: ClientSession, params: Any) -> tuple[list[types.ResourceTemplate], str | None]:
        page = await session.list_resource_templates(params=params)
        return page.resource_templates, page.next_cursor

    listed = [one for _, one in await _each(talk, ask) if opens(talk.config.resources, one.uri_template)]
    return types.ListResourceTemplatesResult(resource_templates=listed)


async def prompts(talk: Conversation) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[one for _, one in await _prompts(talk)])


async def _prompts(talk: Conversation) -> list[tuple[str, types.Prompt]]:
    async def ask(session: ClientSession, params: Any) -> tuple[list[types.Prompt], str | None]:
        page = await session.list_prompts(params=params)
        return page.prompts, page.next_cursor

    return [(name, one) for name, one in await _each(talk, ask) if opens(talk.config.prompts, one.name)]


async def read_resource(talk: Conversation, uri: str) -> types.ReadResourceResult:
    """INVARIANT: what a client reads is context of its session before the client has it."""
    if not opens(talk.config.resources, uri):
        raise closed("resource", uri)
    problem: MCPError | None = None
    for name in talk.config.upstreams:
        client = await talk.upstream(name).client()
        try:
            result = await client.session.read_resource(uri)
        except MCPError as error:
            problem = error
            continue
        texts = [one.text for one in result.contents if isinstance(one, types.TextResourceContents)]
        await _tell(talk, RESOURCES, "\n".join(texts))
        return result
    raise problem or closed("resource", uri)


async def watch_resource(talk: Conversation, uri: str, wanted: bool) -> None:
    """Subscribe, or no more: at the first upstream that tells of changes and knows this resource."""
    if not opens(talk.config.resources, uri):
        raise closed("resource", uri)
    problem: MCPError | None = None
    for name in talk.config.upstreams:
        try:
            if await talk.upstream(name).watch(uri, wanted):
                return
        except MCPError as error:
            problem = error
    raise problem or MCPError(types.METHOD_NOT_FOUND, "beliefd: no upstream tells when a resource changes")


async def get_prompt(talk: Conversation, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    if not opens(talk.config.prompts, params.name):
        raise closed("prompt", params.name)
    owners = [name for name, prompt in await _prompts(talk) if prompt.name == params.name]
    if len(owners) != 1:
        raise MCPError(
            types.INVALID_PARAMS, f"beliefd: {len(owners)} upstreams have the prompt `{params.name}`"
        )
    client = await talk.upstream(owners[0]).client()
    result = await client.session.get_prompt(params.name, params.arguments)
    texts = [one.content.text for one in result.messages if isinstance(one.content, types.TextContent)]
    await _tell(talk, PROMPTS, "\n".join(texts))
    return result


async def complete(talk: Conversation, params: types.CompleteRequestParams) -> types.CompleteResult:
    ref = params.ref
    is_prompt = isinstance(ref, types.PromptReference)
    opened = talk.config.prompts if is_prompt else talk.config.resources
    named = ref.name if isinstance(ref, types.PromptReference) else ref.uri
    if not opens(opened, named):
        raise closed("prompt" if is_prompt else "resource", named)
    problem: MCPError | None = None
    for name in talk.config.upstreams:
        client = await talk.upstream(name).client()
        try:
            return await client.session.complete(ref, params.argument.model_dump())
        except MCPError as error:
            problem = error
    raise problem or closed("reference", named)


async def set_level(talk: Conversation, level: types.LoggingLevel) -> None:
    """Upstreams that log are told how much; those that do not, and newer ones, are left alone."""
    request = types.SetLevelRequest(params=types.SetLevelRequestParams(level=level))
    for name in talk.config.upstreams:
        client = await talk.upstream(name).client()
        if client.server_capabilities.logging is not None:
            with suppress(MCPError, KeyError):
                await client.session.send_request(request, types.EmptyResult)


async def _tell(talk: Conversation, tool: str, text: str) -> None:
    """Where policy has no `context`, nothing that is told counts for any rule, so nothing is lost."""
    try:
        await talk.judge.tell(await talk.session_id(), tool, text)
    except BeliefdError as error:
        if (error.details or {}).get("missing") == NO_CONTEXT:
            return
        raise MCPError(types.INTERNAL_ERROR, f"beliefd: it cannot be recorded: {error.message}") from None


async def guarded(work: Awaitable[T]) -> T:
    """What went wrong with an upstream, as an error that the client is told."""
    try:
        return await work
    except (Gone, TimeoutError, OSError) as error:
        raise MCPError(types.INTERNAL_ERROR, f"beliefd: {words(error)}") from None
    except BeliefdError as error:
        raise MCPError(types.INTERNAL_ERROR, f"beliefd: {error.message}") from None
