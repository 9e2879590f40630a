"""The gateway as an MCP server: which conversation a request belongs to, and who answers it."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError

from beliefd import __version__
from beliefd.mcp import passing
from beliefd.mcp.calls import Caller, call_tool
from beliefd.mcp.config import GatewayConfig
from beliefd.mcp.conversation import Conversation, Shared
from beliefd.mcp.judging import Judge

Context = ServerRequestContext[Any, Any]
SESSION_HEADER: Final = "mcp-session-id"
SHARED: Final = "shared"
CALLER: Final = "beliefd.caller"
"""In the scope of a request over HTTP: which of the tokens it has shown."""
IDLE_SECONDS: Final = 30 * 60
"""A client session over HTTP that has been silent for so long is over, and its upstreams end with it."""
INSTRUCTIONS: Final = (
    "Every call of a tool here is judged by beliefd before it runs. A refused call has not run: its answer "
    "says why. A call that waits names an approval: tell the user, and make the same call again once it is "
    "approved."
)


class Gateway:
    """All client sessions of one gateway."""

    def __init__(self, config: GatewayConfig, judge: Judge) -> None:
        self.config = config
        self._shared = Shared(config, judge)
        self._run = uuid.uuid4().hex
        self._talks: dict[str, Conversation] = {}
        self._spare: Conversation | None = None
        self.end_session: Callable[[str], Awaitable[None]] | None = None
        """How the SDK is told that a client session over HTTP is over."""
        self.server = _server(self)

    async def begin(self) -> None:
        """Start the upstreams for the client that will come, and refuse a table with two ways to read it."""
        self._spare = Conversation(self._run, self._shared)
        try:
            await self._spare.begin()
            self.server.tells_of_resources = self._spare.tells_of_resources
        except BaseException:
            await self._spare.close()
            raise

    def talk(self, ctx: Context) -> Conversation:
        """The client session of a request.

        Over standard streams there is one. Over HTTP the older revisions name theirs; the newest has none, so
        that all its requests with one token share one: with their ids alone, they could not be told apart.

        INVARIANT: what one user's client was told counts for no other's: each token has its own.
        """
        session = None if ctx.request is None else ctx.request.headers.get(SESSION_HEADER)
        numbered = ctx.request is None or session is not None
        key = session or ("" if ctx.request is None else f"{SHARED}-{ctx.request.scope[CALLER]}")
        talk = self._talks.get(key)
        if talk is None:
            talk = self._talks[key] = self._new(key, numbered)
        if not talk.begun:
            talk.front = ctx.session
        talk.used_at = time.monotonic()
        return talk

    def known(self, key: str = "") -> Conversation | None:
        """The client session that a session of this name is, if it has asked for anything; over standard
        streams, the only one."""
        return self._talks.get(key)

    def schema_of(self, tool: str) -> dict[str, Any] | None:
        """What the SDK compares headers of the newest revision with; else it lists all tools per call."""
        shared = (talk.schema_of(tool) for talk in self._talks.values() if not talk.numbered)
        return next((schema for schema in shared if schema is not None), None)

    def _new(self, key: str, numbered: bool) -> Conversation:
        """INVARIANT: a key has the run of the gateway in it: ids of an earlier run mean other requests."""
        if self._spare is not None:
            talk, self._spare = self._spare, None
            talk.numbered = numbered
        else:
            talk = Conversation(f"{self._run}-{key}" if key else uuid.uuid4().hex, self._shared, numbered)
        talk.session_name = key if numbered else ""
        return talk

    async def forget(self, key: str) -> None:
        """A client has ended its session."""
        talk = self._talks.pop(key, None)
        if talk is not None:
            await talk.close()

    async def forget_idle(self) -> None:
        """For as long as the gateway is up: end what nobody uses any more."""
        while True:
            await asyncio.sleep(IDLE_SECONDS / 10)
            now = time.monotonic()
            for key, talk in list(self._talks.items()):
                if not talk.busy and now - talk.used_at > IDLE_SECONDS:
                    if self.end_session is not None and talk.session_name:
                        await self.end_session(talk.session_name)
                    await self.forget(key)

    async def close(self) -> None:
        spare = [] if self._spare is None else [self._spare]
        await asyncio.gather(*(talk.close() for talk in (*self._talks.values(), *spare)))


class _Server(Server[Any]):
    """Says of itself that its lists can change; and resources, where an upstream tells of that."""

    tells_of_resources = False

    def get_capabilities(self, *_: Any, **named: Any) -> types.ServerCapabilities:
        named.setdefault("protocol_version", None)
        changes = NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
        told = super().get_capabilities(changes, protocol_version=named["protocol_version"])
        if told.resources is not None and not self.tells_of_resources:
            told.resources = told.resources.model_copy(update={"subscribe": False})
        return told


def _server(gateway: Gateway) -> _Server:
    """INVARIANT: what is closed has no handler, so that a client is told that there is no such thing."""
    config = gateway.config

    async def list_tools(ctx: Context, _: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await passing.guarded(gateway.talk(ctx).tools()))

    async def call(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = Caller(ctx.request_id, ctx.meta, ctx.session, ctx.session.report_progress)
        result = await call_tool(gateway.talk(ctx), caller, params.name, params.arguments or {})
        return types.CallToolResult.model_validate(result, by_name=False)

    async def begun(ctx: Context, _: types.NotificationParams) -> None:
        gateway.talk(ctx).begun = True

    async def listening(ctx: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        for uri in params.notifications.resource_subscriptions or ():
            with suppress(MCPError):  # what nobody tells of is not told of
                await passing.guarded(passing.watch_resource(gateway.talk(ctx), str(uri), True))
        return await gateway.talk(ctx).listeners(ctx, params)

    server = _Server(
        f"beliefd gateway {config.name}",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        get_tool_input_schema=gateway.schema_of,
        on_subscriptions_listen=listening,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, begun)
    if config.resources:
        _open_resources(server, gateway)
    if config.prompts:
        _open_prompts(server, gateway)
    if config.resources or config.prompts:

        async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
            return await passing.guarded(passing.complete(gateway.talk(ctx), params))

        server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)
    if config.logging:

        async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
            await passing.guarded(passing.set_level(gateway.talk(ctx), params.level))
            return types.EmptyResult()

        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    return server


def _open_resources(server: Server[Any], gateway: Gateway) -> None:
    async def listed(ctx: Context, _: Any) -> types.ListResourcesResult:
        return await passing.guarded(passing.resources(gateway.talk(ctx)))

    async def templates(ctx: Context, _: Any) -> types.ListResourceTemplatesResult:
        return await passing.guarded(passing.resource_templates(gateway.talk(ctx)))

    async def read(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await passing.guarded(passing.read_resource(gateway.talk(ctx), str(params.uri)))

    async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await passing.guarded(passing.watch_resource(gateway.talk(ctx), str(params.uri), True))
        return types.EmptyResult()

    async def unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        await passing.guarded(passing.watch_resource(gateway.talk(ctx), str(params.uri), False))
        return types.EmptyResult()

    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, listed)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read)


def _open_prompts(server: Server[Any], gateway: Gateway) -> None:
    async def listed(ctx: Context, _: Any) -> types.ListPromptsResult:
        return await passing.guarded(passing.prompts(gateway.talk(ctx)))

    async def get(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await passing.guarded(passing.get_prompt(gateway.talk(ctx), params))

    server.add_request_handler("prompts/list", types.PaginatedRequestParams, listed)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get)
